"""Estimates with intervals, and the differences between them. One policy for every number of the project.

Two sources of noise are kept apart. *Runs* (seeds, repeats): Student's t on their spread. *Units* (the
architectures that happened to be sampled): bootstrap, the same resample for every run. A difference is
judged by Welch's t on both sides' standard errors, at 95 %, two-sided.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

LEVEL = 0.95
DRAWS = 500
SPREADS = ("sample_sd", "population_sd", "sem", "t95", "unknown", "bootstrap", "exact", "none")


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
    borrowed: bool = False  # its se_runs is made of the other side's spread, for want of its own

    @property
    def se(self) -> float:
        return math.hypot(self.se_runs, self.se_units)

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval."""
        if self.se == 0:
            return 0.0
        return quantile(_welch_df([(self.se_runs, self.df), (self.se_units, math.inf)])) * self.se

    @property
    def lo(self) -> float:
        return self.value - self.half_width

    @property
    def hi(self) -> float:
        return self.value + self.half_width

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


def paired(a: Estimate, b: Estimate) -> tuple[float, float]:
    """a − b and its 95 % half-width where both are numbers of the same runs, differenced run by run."""
    over_runs = of_runs([x - y for x, y in zip(a.per_run, b.per_run, strict=True)])
    return over_runs.value, over_runs.half_width


def of_units(
    statistic: Callable[..., float], runs: Sequence[tuple[np.ndarray, ...]], seed: int = 0, draws: int = DRAWS
) -> Estimate:
    """A statistic over architectures, averaged over runs that scored the same architectures.

    Each run gives arrays of equal length (scores, truth, …), aligned by architecture.
    """
    units = _size(runs)
    values = [statistic(*arrays) for arrays in runs]
    rng = np.random.default_rng(seed)
    resampled = []
    for _ in range(draws):
        resampled.append(_mean(statistic, runs, rng.integers(units, size=units)))
    se_units = float(np.nanstd(resampled, ddof=1))
    over_runs = of_runs(values)
    several = len(values) > 1
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
    rng = np.random.default_rng(seed)
    scattered = [
        _mean(statistic, runs, rng.choice(size, size=min(sample, size), replace=False)) for _ in range(draws)
    ]
    scatter = float(np.nanstd(scattered, ddof=1)) * math.sqrt(min(sample, size))
    values = [statistic(*arrays) for arrays in runs]
    over_runs = of_runs(values) if len(values) > 1 else exact(values[0])
    return replace(over_runs, units=size, se_per_unit=scatter)


def _size(runs: Sequence[tuple[np.ndarray, ...]]) -> int:
    sizes = {len(column) for arrays in runs for column in arrays}
    if len(sizes) != 1:
        raise ValueError(f"runs score different numbers of architectures: {sorted(sizes)}")
    return sizes.pop()


def _mean(statistic: Callable[..., float], runs: Sequence[tuple[np.ndarray, ...]], pick: np.ndarray) -> float:
    """The statistic of a part of the architectures, averaged over runs."""
    return float(np.mean([statistic(*(a[pick] for a in arrays)) for arrays in runs]))


def quantile(df: float) -> float:
    """The two-sided 95 % quantile of Student's t."""
    return (
        float(stats.t.ppf(0.5 + LEVEL / 2, df))
        if math.isfinite(df)
        else float(stats.norm.ppf(0.5 + LEVEL / 2))
    )


def _welch_df(parts: Sequence[tuple[float, float]]) -> float:
    """Welch–Satterthwaite degrees of freedom of a sum of independent standard errors."""
    total = sum(se**2 for se, _ in parts)
    if any(math.isinf(se) for se, _ in parts):
        return 1.0
    rest = sum(se**4 / df for se, df in parts if se > 0 and math.isfinite(df))
    return total**2 / rest if rest > 0 else math.inf


def difference(a: Estimate, b: Estimate) -> tuple[float, float]:
    """a − b and the half-width of its 95 % interval, the two being independent."""
    runs = [(a.se_runs, a.df), (b.se_runs, b.df)]
    if b.borrowed:  # one spread used twice has the degrees of freedom of one
        runs = [(math.hypot(a.se_runs, b.se_runs), a.df)]
    parts = [*runs, (a.se_units, math.inf), (b.se_units, math.inf)]
    se = math.sqrt(sum(s**2 for s, _ in parts))
    return a.value - b.value, (0.0 if se == 0 else quantile(_welch_df(parts)) * se)


def contrast(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """The linear trend over an ordered list of estimates (slope per step) and its 95 % half-width."""
    weights = np.arange(len(estimates)) - (len(estimates) - 1) / 2
    weights = weights / (weights @ weights)
    slope = sum(w * e.value for w, e in zip(weights, estimates, strict=True))
    parts = []
    for w, e in zip(weights, estimates, strict=True):
        if w != 0:  # the middle one of an odd number says nothing of a slope
            parts += [(abs(w) * e.se_runs, e.df), (abs(w) * e.se_units, math.inf)]
    se = math.sqrt(sum(s**2 for s, _ in parts))
    return slope, (0.0 if se == 0 else quantile(_welch_df(parts)) * se)


def as_reported(
    ours: Estimate, value: float, spread: float | None, kind: str, n: int, units: int
) -> Estimate:
    """The paper's number as an estimate; where it prints no spread, ours stands in for it.

    `kind` says what its ± means. `unknown` is read as a sample standard deviation. The architectures it was
    measured on are a sample too (of size `units`), whatever its ± covers.
    """
    n = max(n, 1)
    se_runs, df, borrowed = 0.0, math.inf, False
    if spread is not None and kind in ("sample_sd", "unknown"):
        se_runs, df = spread / math.sqrt(n), max(n - 1, 1)
    elif spread is not None and kind == "population_sd":
        se_runs, df = spread / math.sqrt(max(n - 1, 1)), max(n - 1, 1)
    elif spread is not None and kind == "sem":
        se_runs, df = spread, max(n - 1, 1)
    elif spread is not None and kind == "t95":
        se_runs, df = spread / quantile(max(n - 1, 1)), max(n - 1, 1)
    elif ours.spread_kind == "sample_sd" and ours.spread is not None:
        se_runs, df, borrowed = ours.spread / math.sqrt(n), ours.df, True
    se_units = ours.se_per_unit / math.sqrt(units) if units else 0.0
    sampled = replace(ours, se_units=se_units, units=units)
    return replace(sampled, value=value, n=n, spread=spread, se_runs=se_runs, df=df, borrowed=borrowed)
