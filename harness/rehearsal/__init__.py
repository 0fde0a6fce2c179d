"""Runs of scale paper built and stepped without being done whole; what they will take on a GPU."""
