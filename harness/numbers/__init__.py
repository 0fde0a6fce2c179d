"""From records to numbers: rows, cells, claims, estimates, verdicts."""
