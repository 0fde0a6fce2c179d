"""Pure functions on arrays: rank correlation, top-k, improvement."""
