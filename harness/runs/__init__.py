"""Runs: made, recorded, continued, kept, run again; which of them count and what the missing ones take."""
