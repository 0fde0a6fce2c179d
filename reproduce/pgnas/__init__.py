"""Posterior-Guided Neural Architecture Search (Zhou, Sun, Luo et al., AAAI 2020)."""
