"""Estimates with intervals, and the differences between them. One policy for every number of the project.

Two sources of noise are kept apart. *Runs* (seeds, repeats): Student's t on their spread. *Units* (the
architectures that happened to be sampled): bootstrap, the same resample for every run. A difference is
judged by Welch's t on both sides' standard errors, at 95 %, two-sided. Numbers of the same runs are
differenced run by run, and numbers of the same architectures resample by resample. Of several differences
looked at together each has a wider interval, so that all of them hold at 95 % (Bonferroni).
"""

import math
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
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
    per_draw: tuple[float, ...] = ()  # the value on each resample of the architectures
    runs: tuple[str, ...] = ()  # of which runs `per_run` is, and
    architectures: str = ""  # of which architectures `per_draw`; equal in what is compared as pairs
    borrowed: bool = False  # its se_runs is made of the other side's spread, for want of its own

    @property
    def se(self) -> float:
        return math.hypot(self.se_runs, self.se_units)

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval."""
        return _half_width([(self.se_runs, self.df), (self.se_units, math.inf)])

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
        resampled = np.mean([many(drawn(units, draws, seed), *arrays) for arrays in runs], axis=0)
    else:
        rng = np.random.default_rng(seed)
        resampled = [_mean(statistic, runs, rng.integers(units, size=units)) for _ in range(draws)]
    se_units = scatter(resampled)
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
        over_runs.per_run,
        tuple(map(float, resampled)),
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


def quantile(df: float, together: int = 1) -> float:
    """The two-sided 95 % quantile of Student's t; `together`: of so many intervals at once."""
    below = 1 - (1 - LEVEL) / 2 / together
    return float(special.stdtrit(df, below) if math.isfinite(df) else special.ndtri(below))


def _welch_df(parts: Sequence[tuple[float, float]]) -> float:
    """Welch–Satterthwaite degrees of freedom of a sum of independent standard errors."""
    total = sum(se**2 for se, _ in parts)
    if any(math.isinf(se) for se, _ in parts):
        return 1.0
    rest = sum(se**4 / df for se, df in parts if se > 0 and math.isfinite(df))
    return total**2 / rest if rest > 0 else math.inf


def difference(a: Estimate, b: Estimate) -> tuple[float, float]:
    """a − b and the half-width of its 95 % interval."""
    if b.borrowed:  # one spread used twice has the degrees of freedom of one
        runs = (math.hypot(a.se_runs, b.se_runs), a.df)
        return a.value - b.value, _half_width([runs, (a.se_units, math.inf), (b.se_units, math.inf)])
    return combined([1, -1], [a, b])


def combined(
    weights: Sequence[float], estimates: Sequence[Estimate], together: int = 1
) -> tuple[float, float]:
    """Σ weight · estimate and its 95 % half-width: paired where runs or architectures are the same ones."""
    light, heavy = [], []  # the middle of an odd number of points says nothing of their slope
    for weight, estimate in zip(weights, estimates, strict=True):
        (heavy if weight else light).append((weight, estimate))
    shared = on_shared_runs([e for _, e in heavy])
    terms = [(w, e) for (w, _), e in zip(heavy, shared, strict=True)]
    value = sum(w * e.value for w, e in [*light, *terms])
    parts = [_error_of_runs(group) for group in _together(terms, lambda e: e.runs)]
    parts += [(_error_of_units(group), math.inf) for group in _together(terms, lambda e: e.architectures)]
    return value, _half_width(parts, together)


def shared_runs(estimates: Sequence[Estimate]) -> set[str]:
    """The runs that all of them have, where some have others too and these are enough for an interval."""
    named = [set(e.runs) for e in estimates if e.runs]
    shared = set.intersection(*named) if named else set()
    return shared if len(shared) >= MIN_RUNS and any(runs != shared for runs in named) else set()


def on_shared_runs(estimates: Sequence[Estimate]) -> list[Estimate]:
    """The same numbers of the runs that all have; resamples, which tell of the sample, stay those of all."""
    shared = shared_runs(estimates)
    return [_of_these(e, shared) for e in estimates] if shared else list(estimates)


def _of_these(estimate: Estimate, runs: set[str]) -> Estimate:
    if set(estimate.runs) <= runs:
        return estimate
    kept = [(run, value) for run, value in zip(estimate.runs, estimate.per_run, strict=True) if run in runs]
    fewer = of_runs([value for _, value in kept])
    return replace(
        estimate,
        value=fewer.value,
        n=fewer.n,
        spread=fewer.spread,
        se_runs=fewer.se_runs,
        df=fewer.df,
        per_run=fewer.per_run,
        runs=tuple(run for run, _ in kept),
    )


Term = tuple[float, Estimate]


def _together(terms: Sequence[Term], what: Callable[[Estimate], Hashable]) -> Collection[list[Term]]:
    """The terms that share it; those that do not name it share nothing."""
    groups: dict[Hashable, list[Term]] = {}
    for i, (w, e) in enumerate(terms):
        groups.setdefault(what(e) or i, []).append((w, e))
    return groups.values()


def _error_of_runs(group: Sequence[Term]) -> tuple[float, float]:
    if len(group) == 1:
        ((w, e),) = group
        return abs(w) * e.se_runs, e.df
    over_runs = of_runs(sum(w * np.array(e.per_run) for w, e in group))
    return over_runs.se_runs, over_runs.df


def _error_of_units(group: Sequence[Term]) -> float:
    if len(group) == 1:
        ((w, e),) = group
        return abs(w) * e.se_units
    return scatter(sum(w * np.array(e.per_draw) for w, e in group))


def _half_width(parts: Sequence[tuple[float, float]], together: int = 1) -> float:
    """Of the 95 % interval of a sum of independent errors: standard error and degrees of freedom of each."""
    se = math.sqrt(sum(se**2 for se, _ in parts))
    return 0.0 if se == 0 else quantile(_welch_df(parts), together) * se


def share_of_spread(
    pairs: Sequence[tuple[Estimate, Estimate]], together: int = 1
) -> tuple[float, float, float]:
    """The firsts' share in the squared deviations of runs, on average over pairs; the 95 % range of equals.

    Where two normal samples scatter alike that share has a Beta distribution: an F test for one pair, and for
    several the evidence of all. Pairs must be of different runs; within one, shared runs make it cautious.
    """
    squares = [tuple((e.n - 1) * e.spread**2 for e in pair) for pair in pairs]
    share = np.mean([a / (a + b) if a + b > 0 else 0.5 for a, b in squares])
    return float(share), *_shares_of_equals(tuple((a.n, b.n) for a, b in pairs), together)


@cache
def _shares_of_equals(
    sizes: tuple[tuple[int, int], ...], together: int, draws: int = 20_000
) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    shares = np.mean([rng.beta((a - 1) / 2, (b - 1) / 2, draws) for a, b in sizes], axis=0)
    outside = (1 - LEVEL) / 2 / together
    low, high = np.quantile(shares, [outside, 1 - outside])
    return float(low), float(high)


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
    sampled = replace(ours, se_units=se_units, units=units, runs=(), architectures="")
    return replace(sampled, value=value, n=n, spread=spread, se_runs=se_runs, df=df, borrowed=borrowed)
