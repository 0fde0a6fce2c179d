"""Statistics of ranking.py on many resamples of the architectures at once.

A resample is how often it drew each architecture: `counts` has a line per architecture and a column per
resample. The results are those of the plain functions on the drawn architectures, but for the last digits.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from harness.metrics import ranking

PAIRS = 1000  # of more architectures sorting is quicker than all pairs: benchmarks/bench_cells.py


@lru_cache(maxsize=4)
def drawn(units: int, draws: int, seed: int) -> np.ndarray:
    """`draws` resamples with replacement of `units` architectures, the same for every cell."""
    picks = np.random.default_rng(seed).integers(units, size=(draws, units))
    counts = np.zeros((units, draws))
    np.add.at(counts, (picks, np.arange(draws)[:, None]), 1)
    counts.flags.writeable = False
    return counts


def scatter(values: Sequence[float]) -> float:
    """Sample standard deviation over resamples, but for those whose statistic is not a number."""
    return float(np.nanstd(values, ddof=1)) if (~np.isnan(values)).sum() > 1 else np.nan


def spearman(counts: np.ndarray, prediction: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return _of_ranks(counts, _ranks(counts, prediction), _ranks(counts, truth))


def pearson(counts: np.ndarray, prediction: np.ndarray, truth: np.ndarray) -> np.ndarray:
    # A score of minus infinity spoils the resamples that drew it, and through a sum it would spoil all.
    if not (np.isfinite(prediction).all() and np.isfinite(truth).all()):
        return _one_by_one(ranking.pearson, counts, prediction, truth)
    a, b = (np.asarray(values, float) - np.mean(values) for values in (prediction, truth))
    n, sa, sb = counts.sum(axis=0), a @ counts, b @ counts
    ab, aa, bb = (a * b) @ counts - sa * sb / n, (a * a) @ counts - sa**2 / n, (b * b) @ counts - sb**2 / n
    with np.errstate(invalid="ignore", divide="ignore"):
        return ab / np.sqrt(aa * bb)


def kendall(counts: np.ndarray, prediction: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Each pair of architectures as often as the resample drew both; equal ones are tied."""
    if len(truth) > PAIRS:
        return _one_by_one(ranking.kendall, counts, prediction, truth)
    a, b = (np.greater.outer(v, v) * 1.0 - np.less.outer(v, v) for v in (prediction, truth))
    ab, aa, bb = (np.einsum("ij,ij->j", counts, signs @ counts) for signs in (a * b, a * a, b * b))
    with np.errstate(invalid="ignore", divide="ignore"):
        return ab / np.sqrt(aa * bb)


def partial_spearman(
    counts: np.ndarray, prediction: np.ndarray, truth: np.ndarray, given: np.ndarray
) -> np.ndarray:
    x, y, z = (_ranks(counts, values) for values in (prediction, truth, given))
    xy, xz, yz = _of_ranks(counts, x, y), _of_ranks(counts, x, z), _of_ranks(counts, y, z)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2))


def top_k(counts: np.ndarray, prediction: np.ndarray, truth: np.ndarray, k: int) -> np.ndarray:
    """Of a group of equal predictions as much as still has room, at the group's mean truth."""
    order, starts, _ = _groups(-np.asarray(prediction, float))
    sizes = _sums(counts[order], starts)
    sums = _sums((counts * np.asarray(truth, float)[:, None])[order], starts)
    room = np.clip(k - (np.cumsum(sizes, axis=0) - sizes), 0, sizes)
    return np.einsum("ij,ij->j", room, sums / np.maximum(sizes, 1)) / k


def improvement(
    counts: np.ndarray, prediction: np.ndarray, truth: np.ndarray, k: int, normalised: bool = True
) -> np.ndarray:
    """Best and mean are those of what each resample drew."""
    mean = top_k(counts, prediction, truth, k)
    if not normalised:
        return mean
    truth = np.asarray(truth, float)[:, None]
    every = (counts * truth).sum(axis=0) / counts.sum(axis=0)
    span = np.where(counts > 0, truth, -np.inf).max(axis=0) - every
    if k == len(truth):
        return np.zeros(counts.shape[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(span > 0, (mean - every) / span, np.nan)


def _one_by_one(statistic: Callable[..., float], counts: np.ndarray, *columns: np.ndarray) -> np.ndarray:
    every = np.arange(len(counts))
    picks = (np.repeat(every, times) for times in counts.T.astype(int))
    return np.array([statistic(*(np.asarray(column)[pick] for column in columns)) for pick in picks])


def _groups(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ascending order, where in it each group of equal values starts, and each value's group."""
    order = np.argsort(values, kind="stable")
    new = np.append(True, values[order][1:] != values[order][:-1])
    group = np.empty(len(values), int)
    group[order] = np.cumsum(new) - 1
    return order, np.flatnonzero(new), group


def _sums(ordered: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Over each group of equal values; most often each is alone."""
    return ordered if len(starts) == len(ordered) else np.add.reduceat(ordered, starts, axis=0)


def _ranks(counts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The mid-rank that each architecture has in each resample."""
    order, starts, group = _groups(np.asarray(values, float))
    sizes = _sums(counts[order], starts)
    return (np.cumsum(sizes, axis=0) - (sizes - 1) / 2)[group]


def _of_ranks(counts: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Pearson's correlation of mid-ranks, whose mean is (n + 1) / 2 whatever is tied."""
    n = counts.sum(axis=0)
    centre = n * ((n + 1) / 2) ** 2
    ab, aa, bb = (np.einsum("ij,ij,ij->j", counts, x, y) - centre for x, y in ((a, b), (a, a), (b, b)))
    with np.errstate(invalid="ignore", divide="ignore"):
        return ab / np.sqrt(aa * bb)
