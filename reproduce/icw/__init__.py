"""Inter-choice dependent super-network weights (Laube and Zell, 2021)."""
