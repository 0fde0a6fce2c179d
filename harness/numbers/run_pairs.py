"""The estimate of a statistic between pairs of runs: both its sources of noise."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from harness.metrics.consistency import Statistic, between_pairs, pseudo_values
from harness.metrics.resampled import drawn
from harness.numbers.stats import DRAWS, MANY, Estimate, of_draws


def of_pairs(statistic: Statistic, many: Callable[..., np.ndarray], runs: Sequence[np.ndarray]) -> Estimate:
    """Averaged over all pairs; runs by jackknife (from three on), architectures by bootstrap, `many` at once.

    The printed spread is the sample standard deviation over pairs.
    """

    def of_resamples(counts: np.ndarray) -> np.ndarray:
        return np.array(between_pairs(partial(many, counts), runs))

    units, values = len(runs[0]), between_pairs(statistic, runs)
    if units * DRAWS <= MANY and not any(np.isnan(run).any() for run in runs):
        drawn_pairs = of_resamples(drawn(units, DRAWS, 0))
    else:
        rng = np.random.default_rng(0)
        picks = [rng.integers(units, size=units) for _ in range(DRAWS)]
        drawn_pairs = np.array([between_pairs(statistic, [run[p] for run in runs]) for p in picks]).T
    if len(runs) < 3:
        return replace(of_draws([float(np.mean(values))], drawn_pairs.mean(axis=0, keepdims=True), units), n=len(runs))
    by_run = np.array([pseudo_values(pairs, len(runs)) for pairs in drawn_pairs.T]).T
    of_all = of_draws(pseudo_values(values, len(runs)), by_run, units)
    return replace(of_all, spread=float(np.std(values, ddof=1)))
