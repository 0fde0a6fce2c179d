"""How uncertain an ensemble is, and how well that, or any score, tells two kinds of samples apart."""

import numpy as np


def entropy(probability: np.ndarray) -> np.ndarray:
    """In nats, along the last axis; 0·log 0 is 0."""
    p = np.asarray(probability, float)
    return -(p * np.log(np.where(p > 0, p, 1.0))).sum(-1)


def mutual_information(probability: np.ndarray) -> np.ndarray:
    """Of prediction and member: H(mean p) − mean H(p), from [members, samples, classes]; at least 0."""
    p = np.asarray(probability, float)
    return np.maximum(entropy(p.mean(0)) - entropy(p).mean(0), 0.0)


def auroc(negative: np.ndarray, positive: np.ndarray) -> float:
    """How often a positive sample has the larger score of two, a tie counting half; nan without either."""
    negative, positive = np.asarray(negative, float), np.asarray(positive, float)
    n, m = len(negative), len(positive)
    both = np.concatenate([negative, positive])
    if not n or not m or np.isnan(both).any():
        return float("nan")
    _, group, counts = np.unique(both, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[group]
    return float((ranks[n:].sum() - m * (m + 1) / 2) / (n * m))
