"""Which code a number comes from: its identity, and which older code counts as it."""
