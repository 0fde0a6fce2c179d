"""Estimates with intervals, and the differences between them. One policy for every number of the project.

Two sources of noise are kept apart. *Runs* (seeds, repeats): Student's t on their spread. *Units* (the
architectures that happened to be sampled): bootstrap, the same resample for every run, less what a single
run's noise on single architectures adds to it, for that is in the spread of runs already. docs/verdicts.md
tells the rules and what they were found to do; contrast.py compares.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from scipy import special

from harness.metrics.resampled import drawn, scatter

LEVEL = 0.95
MIN_RUNS = 3  # fewer seeds give no interval worth the name
DRAWS = 500
MANY = 5_000_000  # resamples are held in memory up to this many numbers


@dataclass(frozen=True)
class Estimate:
    """A number, what it was averaged over, and how uncertain it is."""

    value: float
    n: int  # runs or repeats behind it
    spread: float | None = None
    spread_kind: str = "exact"
    se_runs: float = 0.0
    df: float = math.inf
    se_units: float = 0.0  # standard error that comes from the sample of architectures
    units: int = 0  # how many architectures; 0 where none were sampled
    se_per_unit: float = 0.0  # standard error · √units: what a sample of another size would have
    per_run: tuple[float, ...] = ()  # the values that were averaged, in the order of the runs
    runs: tuple[str, ...] = ()  # of which runs `per_run` is, and
    architectures: str = ""  # of which architectures `draws`; equal in what is compared as pairs
    # Its value by run on each resample of them.
    draws: np.ndarray = field(default_factory=lambda: np.empty((0, 0)), compare=False, repr=False)
    bounded: bool = False  # a correlation
    borrowed: bool = False  # its se_runs is made of the other side's spread, for want of its own

    @property
    def se(self) -> float:
        return math.hypot(self.se_runs, self.se_units)

    @property
    def df_units(self) -> float:
        return max(self.units - 1, 1) if self.units else math.inf

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval, but of a correlation, whose interval has two sides."""
        variances = [(self.se_runs**2, self.df), (self.se_units**2, self.df_units)]
        return 0.0 if self.se == 0 else quantile(welch_df(variances)) * self.se

    @property
    def lo(self) -> float:
        return self._end(-1)

    @property
    def hi(self) -> float:
        return self._end(1)

    def _end(self, sign: int) -> float:
        """A correlation's interval is that of its Fisher z: it stays inside ±1."""
        if not self.bounded or not -1 < self.value < 1:
            return self.value + sign * self.half_width
        return math.tanh(math.atanh(self.value) + sign * self.half_width / (1 - self.value**2))

    @property
    def exact(self) -> bool:
        """Counted or looked up: there is nothing that another run could change."""
        return self.spread_kind == "exact"


def exact(value: float) -> Estimate:
    return Estimate(float(value), 1)


def of_runs(values: Sequence[float]) -> Estimate:
    """The mean over seeds or repeats with its sample standard deviation."""
    array = np.asarray(values, float)
    if len(array) == 1:
        return Estimate(float(array[0]), 1, None, "none", math.inf, 0)
    with np.errstate(invalid="ignore"):  # of runs that ended in infinity; their mean tells it
        sd = float(array.std(ddof=1))
    se = sd / math.sqrt(len(array))
    values = tuple(array.tolist())
    return Estimate(float(array.mean()), len(array), sd, "sample_sd", se, len(array) - 1, per_run=values)


def of_units(
    statistic: Callable[..., float],
    runs: Sequence[tuple[np.ndarray, ...]],
    seed: int = 0,
    draws: int = DRAWS,
    many: Callable[..., np.ndarray] | None = None,
) -> Estimate:
    """A statistic over architectures, averaged over runs that scored the same architectures.

    Each run gives arrays of equal length (scores, truth, …), aligned by architecture. `many` is the same
    statistic on all resamples at once; what is not a number it would not tell.
    """
    units = _size(runs)
    values = [statistic(*arrays) for arrays in runs]
    if many and units * draws <= MANY and not any(np.isnan(a).any() for arrays in runs for a in arrays):
        resampled = np.array([many(drawn(units, draws, seed), *arrays) for arrays in runs])
    else:
        rng = np.random.default_rng(seed)
        picks = [rng.integers(units, size=units) for _ in range(draws)]
        resampled = np.array([[statistic(*(a[p] for a in arrays)) for p in picks] for arrays in runs])
    return of_draws(values, resampled, units)


def of_draws(values: Sequence[float], resampled: np.ndarray, units: int) -> Estimate:
    """From the values of runs and theirs on each resample of the architectures."""
    over_runs, several = of_runs(values), len(values) > 1
    every = scatter(resampled.mean(axis=0))
    twice = 0.0
    if several:
        with np.errstate(invalid="ignore"):
            noise = (resampled - np.array(values)[:, None]).var(axis=0, ddof=1)
        defined = noise[~np.isnan(noise)]  # not: one architecture again and again
        twice = defined.mean() / len(values) if defined.size else 0.0
    se_units = float(np.sqrt(np.maximum(0, every**2 - twice)))
    return Estimate(
        over_runs.value,
        len(values),
        over_runs.spread if several else se_units,
        "sample_sd" if several else "bootstrap",
        over_runs.se_runs if several else 0.0,
        over_runs.df if several else math.inf,
        se_units,
        units,
        se_units * math.sqrt(units),
        over_runs.per_run,
        draws=resampled,
    )


def of_population(
    statistic: Callable[..., float],
    runs: Sequence[tuple[np.ndarray, ...]],
    sample: int,
    seed: int = 0,
    draws: int = DRAWS,
) -> Estimate:
    """The statistic on the whole space, exact where one run is all; `se_per_unit` is how samples scatter."""
    size = _size(runs)
    per_unit = 0.0
    if sample < size:  # else every sample is the whole
        rng = np.random.default_rng(seed)
        picks = (rng.choice(size, size=sample, replace=False) for _ in range(draws))
        per_unit = scatter([_mean(statistic, runs, pick) for pick in picks]) * math.sqrt(sample)
    values = [statistic(*arrays) for arrays in runs]
    over_runs = of_runs(values) if len(values) > 1 else exact(values[0])
    return replace(over_runs, units=size, se_per_unit=per_unit)


def _size(runs: Sequence[tuple[np.ndarray, ...]]) -> int:
    sizes = {len(column) for arrays in runs for column in arrays}
    if len(sizes) != 1:
        raise ValueError(f"runs score different numbers of architectures: {sorted(sizes)}")
    return sizes.pop()


def _mean(statistic: Callable[..., float], runs: Sequence[tuple[np.ndarray, ...]], pick: np.ndarray) -> float:
    """The statistic of a part of the architectures, averaged over runs."""
    return float(np.mean([statistic(*(a[pick] for a in arrays)) for arrays in runs]))


def quantile(df: float, level: float = LEVEL) -> float:
    """The two-sided quantile of Student's t."""
    below = (1 + level) / 2
    return float(special.stdtrit(df, below) if math.isfinite(df) else special.ndtri(below))


def welch_df(parts: Iterable[tuple[float, float]]) -> float:
    """Degrees of freedom of a sum of independent variances, each with its own.

    Half way between Welch's first formula (df for df + 1, and nothing less), which of many variances of
    two or three runs each makes far too few, and his second of 1947 (df + 2, less 2), which makes too many.
    """
    parts = [(v, df) for v, df in parts if v > 0 or math.isnan(v)]
    if any(math.isinf(v) for v, _ in parts):
        return 1.0
    rest = sum(v**2 / (df + 1) for v, df in parts if math.isfinite(df))
    return sum(v for v, _ in parts) ** 2 / rest - 1 if rest > 0 else math.inf


@cache
def shares_of_equals(sizes: tuple[tuple[int, int], ...], draws: int = 20_000) -> np.ndarray:
    """The firsts' share in the squared deviations of runs, on average over pairs, where all scatter alike.

    Of two normal samples it has a Beta distribution: an F test for one pair, and for several the evidence of
    all. Pairs must be of different runs; within one, shared runs make it cautious.
    """
    rng = np.random.default_rng(0)
    return np.mean([rng.beta((a - 1) / 2, (b - 1) / 2, draws) for a, b in sizes], axis=0)
