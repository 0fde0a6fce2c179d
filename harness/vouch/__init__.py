"""Whether two commits leave the same records: what changed between them, tried on both sides."""
