"""Building blocks for reproducing weight-sharing NAS papers; knows no paper."""
