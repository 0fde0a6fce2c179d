"""How far several runs predict alike: a statistic between every two of them (icw, section 4.3)."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

Statistic = Callable[[np.ndarray, np.ndarray], float]


def between_pairs(statistic: Statistic, runs: Sequence[np.ndarray]) -> list[float]:
    """Of every two runs' predictions of the same architectures: (0, 1), (0, 2), …, (1, 2), …"""
    if len(runs) < 2:
        raise ValueError(f"{len(runs)} run is no pair")
    return [statistic(a, b) for a, b in combinations(runs, 2)]


def pseudo_values(of_pairs: Sequence[float], runs: int) -> np.ndarray:
    """The jackknife's value of each run; their mean is the mean over pairs, their scatter that of runs.

    Pairs share runs, so that their own scatter says little of how sure their mean is. From three runs on.
    """
    members = np.array(list(combinations(range(runs), 2)))
    values = np.asarray(of_pairs, float)
    if len(values) != len(members) or runs < 3:
        raise ValueError(f"{len(values)} pairs of {runs} runs")
    without = [values[(members != run).all(axis=1)].mean() for run in range(runs)]
    return runs * values.mean() - (runs - 1) * np.array(without)
