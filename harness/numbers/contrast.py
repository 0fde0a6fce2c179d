"""A weighted sum of numbers, and how uncertain it is: what shares runs, seeds or architectures is known to.

Runs are compared within the seeds that they share and all of them count: least squares with a seed's share
in the noise, and a variance that is robust against that share being another one (clustered by seed, unbiased
for few: CR2 of Bell and McCaffrey, 2002). Where all have the same seeds it is the paired t test, where they
have none in common Welch's. The noise of a single run on a single architecture is in the scatter of runs and
in that of resamples: it is counted once.
"""

import math
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from harness.metrics.resampled import scatter
from harness.numbers.stats import LEVEL, Estimate, quantile, welch_df

POWER = 0.8
SHARED = 0.5  # of the noise is taken for the seed's where sets of seeds differ: 0.3 to 0.8 of icw's is

Term = tuple[float, Estimate]


@dataclass(frozen=True)
class Contrast:
    """Its value with the variances that it is made of, each with its degrees of freedom."""

    value: float
    of_runs: tuple[tuple[float, float], ...] = ()
    of_units: float = 0.0
    df_units: float = math.inf
    per_run: float = math.nan  # variance of one run's contribution, to compare with that of other settings
    names: frozenset[str] = frozenset()  # of the runs or seeds that it shares with others
    runs: int = 0  # of each number at least, of those that scatter
    architectures: int = 0  # that others might stand for

    @property
    def se_runs(self) -> float:
        return math.sqrt(sum(v for v, _ in self.of_runs))

    @property
    def se(self) -> float:
        return math.sqrt(self.se_runs**2 + self.of_units)

    @property
    def df_runs(self) -> float:
        return welch_df(self.of_runs)

    @property
    def df(self) -> float:
        return welch_df([*self.of_runs, (self.of_units, self.df_units)])

    def half(self, level: float = LEVEL) -> float:
        """Half of its interval."""
        return 0.0 if self.se == 0 else quantile(self.df, level) * self.se

    def found(self, level: float = LEVEL) -> float:
        """The smallest difference from what is asked that would be found four times in five."""
        return (
            0.0 if self.se == 0 else (quantile(self.df, level) + quantile(self.df, 2 * POWER - 1)) * self.se
        )

    def above(self, asked: float) -> float:
        """The one-sided p value against its being no more than that."""
        if not (math.isfinite(self.value) and math.isfinite(self.se)):
            return 1.0
        if self.se == 0:
            return float(self.value <= asked)
        t = (self.value - asked) / self.se
        return float(special.stdtr(self.df, -t) if math.isfinite(self.df) else special.ndtr(-t))

    def below(self, asked: float) -> float:
        """The same against its being no less."""
        return replace(self, value=-self.value).above(-asked)

    def moved(self, by: float) -> "Contrast":
        """By so many standard errors of its runs."""
        return replace(self, value=self.value + by * self.se_runs)

    def larger(self, runs: float, units: float) -> "Contrast":
        """What so many times as many runs and architectures would give if they were like these."""
        if runs == units == 1:
            return self
        of_runs = tuple((v / runs, (df + 1) * runs - 1) for v, df in self.of_runs)
        return replace(self, of_runs=of_runs, of_units=self.of_units / units, df_units=self.df_units * units)


def contrast(weights: Sequence[float], estimates: Sequence[Estimate], resolution: float = 0.0) -> Contrast:
    """Σ weight · estimate. Runs that are equal in whole multiples of `resolution` scatter by half of it.

    So three against three equal ones leave open what four against four decide, as a permutation test has it.
    """
    terms = list(zip(weights, estimates, strict=True))
    heavy = [
        (w, e) for w, e in terms if w
    ]  # the middle of an odd number of points says nothing of their slope
    value, variances, inside, shares = (
        sum(w * e.value for w, e in terms if not w or len(e.per_run) < 2),
        [],
        0.0,
        {},
    )
    for i, (w, e) in enumerate(heavy):
        if len(e.per_run) < 2:
            variances.append(((w * e.se_runs) ** 2, e.df))
            shares[i] = np.array([w])
    for group in _together(heavy):
        part = _of_runs([heavy[i] for i in group], resolution)
        value += part.value
        variances.append((part.variance, part.df))
        inside += part.inside
        shares |= dict(zip(group, part.shares, strict=True))
    units = [_of_units([heavy[i] for i in group], [shares[i] for i in group]) for group in _by_units(heavy)]
    net = float(np.maximum(0.0, sum(v for v, _ in units) - inside)) if units else 0.0
    runs = tuple((v, df) for v, df in variances if v)
    one_run = sum(w**2 / len(e.per_run) for w, e in heavy if len(e.per_run) > 1)
    per_run = sum(v for v, _ in runs) / one_run if one_run else math.nan
    df_units = min((df for v, df in units if v), default=math.inf)
    noisy = [e for _, e in heavy if not e.exact]
    return Contrast(
        float(value),
        runs,
        net,
        df_units,
        per_run,
        frozenset(name for _, e in heavy for name in e.runs),
        min((e.n for e in noisy), default=0),
        max((e.units for e in noisy if e.se_units), default=0),
    )


@dataclass(frozen=True)
class _Runs:
    value: float
    variance: float
    df: float
    inside: float  # of its variance what resamples of the architectures show again
    shares: list[np.ndarray]  # by term: how much each run counts


def _of_runs(terms: Sequence[Term], resolution: float) -> _Runs:
    """Of terms that share seeds."""
    sizes = [len(e.per_run) for _, e in terms]
    names = [list(e.runs) or [str(i) for i in range(n)] for (_, e), n in zip(terms, sizes, strict=True)]
    values = np.concatenate([e.per_run for _, e in terms])
    if all(each == names[0] for each in names):
        n = sizes[0]
        shares = np.concatenate([np.full(n, w / n) for w, _ in terms])
        rest = np.tile((np.eye(n) - 1 / n) * math.sqrt(n / (n - 1)), len(terms)) * shares
        df = float(n - 1)
    else:
        shares, rest, df = _with_seed_effects(terms, names, values)
    variance = float(((rest @ values) ** 2).sum())
    if variance <= (1e-12 * np.abs(values).max()) ** 2:  # equal ones: rounded, or of a few outcomes
        variance = float(shares @ shares) * (resolution / 2) ** 2
    inside = 0.0
    if all(
        e.draws.shape == (n, e.draws.shape[1]) and e.draws.size
        for (_, e), n in zip(terms, sizes, strict=True)
    ):
        of_draws = rest @ np.concatenate([e.draws for _, e in terms]) - (rest @ values)[:, None]
        with np.errstate(invalid="ignore"):
            squares = (of_draws**2).sum(axis=0)
        defined = squares[~np.isnan(squares)]
        inside = float(defined.mean()) if defined.size else 0.0
    cuts = np.cumsum(sizes)[:-1]
    return _Runs(float(shares @ values), variance, df, inside, np.split(shares, cuts))


def _with_seed_effects(
    terms: Sequence[Term], names: list[list[str]], values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """How much each run counts; what each seed leaves over of the values; their degrees of freedom."""
    cell = np.repeat(np.arange(len(terms)), [len(each) for each in names])
    seeds = {name: k for k, name in enumerate(dict.fromkeys(name for each in names for name in each))}
    seed = np.array([seeds[name] for each in names for name in each])
    same = seed[:, None] == seed
    sizes = same.sum(axis=0)
    own, common = (1 - SHARED) ** -0.5, (1 - SHARED + sizes * SHARED) ** -0.5
    white = own * np.eye(len(seed)) + same * (common - own) / sizes
    design = white @ (cell[:, None] == np.arange(len(terms)))
    solve = np.linalg.pinv(design)
    shares = np.array([w for w, _ in terms]) @ solve
    rest = np.eye(len(seed)) - design @ solve
    lines = []
    for k in seeds.values():
        mine = np.flatnonzero(seed == k)
        size, turned = np.linalg.eigh(rest[np.ix_(mine, mine)])
        scale = np.where(size > 1e-9, np.maximum(size, 1e-9) ** -0.5, 0)
        lines.append(shares[mine] @ (turned * scale) @ turned.T @ rest[mine])
    left = np.array(lines) @ white
    spread = np.concatenate([np.full(len(e.per_run), np.std(e.per_run, ddof=1)) for _, e in terms])
    noise = np.outer(spread, spread) * np.where(same, SHARED, 0) + np.diag((1 - SHARED) * spread**2)
    squares = left @ noise @ left.T
    df = np.trace(squares) ** 2 / (squares**2).sum() if squares.any() else 1.0
    return shares @ white, left, float(df)


def _together(heavy: Sequence[Term]) -> Collection[list[int]]:
    """Which terms of several runs have a seed in common, directly or through others."""
    groups: list[tuple[set[Hashable], list[int]]] = []
    for i, (_, e) in enumerate(heavy):
        if len(e.per_run) < 2:
            continue
        names: set[Hashable] = set(e.runs) or {i}
        mine = [i]
        for group in [group for group in groups if group[0] & names]:
            groups.remove(group)
            names, mine = names | group[0], group[1] + mine
        groups.append((names, mine))
    return [members for _, members in groups]


def _by_units(heavy: Sequence[Term]) -> Collection[list[int]]:
    """Which terms were measured on the same architectures; those that do not name them share nothing."""
    groups: dict[Hashable, list[int]] = {}
    for i, (_, e) in enumerate(heavy):
        if e.se_units or e.draws.size:
            groups.setdefault(e.architectures if e.draws.size and e.architectures else i, []).append(i)
    return groups.values()


def _of_units(terms: Sequence[Term], shares: Sequence[np.ndarray]) -> tuple[float, float]:
    """The variance over resamples of the architectures, as if runs were fixed, and its degrees of freedom."""
    df = min(e.df_units for _, e in terms)
    if not terms[0][1].draws.size:
        ((w, e),) = terms
        return (w * e.se_units) ** 2, df
    drawn = sum(share @ e.draws for (_, e), share in zip(terms, shares, strict=True))
    return scatter(drawn) ** 2, df
