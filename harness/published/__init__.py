"""The folder published/: its files change together, and their digests are kept."""
