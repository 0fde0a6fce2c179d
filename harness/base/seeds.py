"""Random streams: one per purpose, so that a new draw in one never shifts another."""

import hashlib

import numpy as np


def stream(seed: int, name: str) -> np.random.Generator:
    """The stream of this name in a run with this seed."""
    key = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return np.random.default_rng(np.frombuffer(key, dtype=np.uint32))
