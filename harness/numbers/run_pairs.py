"""The estimate of a statistic between pairs of runs: both its sources of noise."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from harness.metrics.consistency import Statistic, between_pairs, pseudo_values
from harness.numbers.stats import Estimate, of_runs, of_units


def of_pairs(statistic: Statistic, many: Callable[..., np.ndarray], runs: Sequence[np.ndarray]) -> Estimate:
    """Averaged over all pairs; runs by jackknife (from three on), architectures by bootstrap, `many` at once.

    The printed spread is the sample standard deviation over pairs.
    """

    def mean_over_pairs(*columns: np.ndarray) -> float:
        return float(np.mean(between_pairs(statistic, columns)))

    def all_at_once(counts: np.ndarray, *columns: np.ndarray) -> np.ndarray:
        return np.mean(between_pairs(partial(many, counts), columns), axis=0)

    units = replace(of_units(mean_over_pairs, [tuple(runs)], many=all_at_once), n=len(runs))
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
        # All runs move alike: what is theirs of the noise of pairs is not known, and counted twice.
        draws=np.array(over_runs.per_run)[:, None] + units.draws - units.value,
    )
