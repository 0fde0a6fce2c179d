"""The papers: each its own methods and experiments; none imports another."""
