"""What drawings of figures share: colours, sizes, bands, maps."""
