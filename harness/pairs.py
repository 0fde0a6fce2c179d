"""The estimate of a statistic between pairs of runs: both its sources of noise."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from harness.metrics.consistency import Statistic, between_pairs, pseudo_values
from harness.stats import Estimate, of_runs, of_units


def of_pairs(
    statistic: Statistic, runs: Sequence[np.ndarray], many: Callable[..., np.ndarray] | None = None
) -> Estimate:
    """Averaged over all pairs; runs by jackknife (from three on), architectures by bootstrap.

    The printed spread is the sample standard deviation over pairs.
    """

    def mean_over_pairs(*columns: np.ndarray) -> float:
        return float(np.mean(between_pairs(statistic, columns)))

    def all_at_once(counts: np.ndarray, *columns: np.ndarray) -> np.ndarray:
        return np.mean([many(counts, a, b) for a, b in combinations(columns, 2)], axis=0)

    resampled = all_at_once if many else None
    units = replace(of_units(mean_over_pairs, [tuple(runs)], many=resampled), n=len(runs))
    values = between_pairs(statistic, runs)
    if len(runs) < 3:
        return units
    over_runs = of_runs(pseudo_values(values, len(runs)))
    return replace(
        units,
        spread=float(np.std(values, ddof=1)),
        spread_kind="sample_sd",
        se_runs=over_runs.se_runs,
        df=over_runs.df,
        per_run=over_runs.per_run,
    )
