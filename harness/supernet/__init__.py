"""Weight-sharing networks over a search space."""
