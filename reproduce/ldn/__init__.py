"""Variational Depth Search in ResNets (Antorán, Allingham; 1st Workshop on NAS at ICLR 2020)."""
