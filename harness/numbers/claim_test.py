"""One test of a claim, on the numbers that it compares: how sure it is that it holds, and that it fails."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.numbers import quantifiers
from harness.numbers.contrast import Contrast, Term, contrast
from harness.numbers.looks import FIRST
from harness.numbers.quantifiers import LEAST, P
from harness.numbers.stats import Estimate, shares_of_equals

NEITHER = (1.0, 1.0)
NOTHING = 1e-12  # what differences of equal numbers come to
FAILS = (1.0, 0.0)  # what is no number is not what a claim says
Named = tuple[tuple[str, str], float, Estimate]  # a cell, its weight and its number


@dataclass(frozen=True)
class Ask:
    """What is asked of a value that is signed so that the claim wants it large."""

    relation: str  # >, <, =, rising, falling, spread < or spread >
    asked: float = 0.0  # the least; of `=` the most
    runs: float = 1.0  # so many times the runs and
    units: float = 1.0  # architectures that there were, if all else stayed
    side: float = FIRST  # the largest p value that is significant

    @property
    def level(self) -> float:
        """Of the interval that decides."""
        return 1 - 2 * self.side

    def word(self, p: P) -> str:
        holds, fails = p
        return "agrees" if holds <= self.side else "contradicts" if fails <= self.side else "unclear"

    def of(self, c: Contrast) -> P:
        c = c.larger(self.runs, self.units)
        if not math.isfinite(c.value):
            return FAILS
        if not c.se:
            above = self.asked - abs(c.value) if self.relation == "=" else c.value - self.asked
            above = 0.0 if abs(above) < NOTHING else above
            if c.runs and not above and self.relation != "=":
                return NEITHER
            holds = above > 0 or (above == 0 and self.relation == "=")
            least = permutations(c.runs * self.runs)
            return (least, 1.0) if holds else (1.0, least)
        if self.relation != "=":
            return c.above(self.asked), c.below(self.asked)
        inside = max(c.above(-self.asked), c.below(self.asked))
        return inside, min(c.above(self.asked), c.below(-self.asked))


def permutations(runs: float) -> float:
    """How likely so many runs on each side, equal on theirs, fall apart by chance; 0 of what is counted."""
    return 1 / math.comb(2 * round(runs), round(runs)) if runs else 0.0


@dataclass(frozen=True)
class Order:
    """A difference or a slope in each setting, or how far it is inside a margin that is itself measured."""

    settings: tuple[Contrast, ...]
    average: Contrast
    inside: tuple["Order", ...] = ()  # what must be above 0 instead: one margin, or both of an equality

    @staticmethod
    def of(settings: Sequence[Sequence[Named]], sign: float) -> "Order":
        """A number that stands in several settings, as a baseline does, is one number in their average."""
        every = [n for setting in settings for n in setting]
        there = [value for _, _, e in every for value in e.per_run]
        step = resolution(there)
        alone = [_summed(setting, sign, step) for setting in settings]
        scattering = quantifiers.pooled(alone)
        return Order(tuple(scattering), _summed(every, sign / len(settings), step))

    @staticmethod
    def within(
        settings: Sequence[Sequence[Named]],
        sign: int,
        effects: Sequence[Sequence[Named]],
        share: float,
        both: bool,
    ) -> "Order":
        """The same up to this share of an effect in each setting: on one side, or on both."""
        reach = [[(name, share * weight, e) for name, weight, e in effect] for effect in effects]
        found = []
        for turned in (sign, -sign)[: 1 + both]:
            several = [
                [*((name, turned * w, e) for name, w, e in setting), *more]
                for setting, more in zip(settings, reach, strict=True)
            ]
            found.append(Order.of(several, 1))
        return replace(Order.of(settings, sign), inside=tuple(found))

    def p(self, quantifier: str, ask: Ask) -> P:
        each = self.each(ask)
        if len(each) > 1 and quantifier in LEAST:
            return quantifiers.in_at_least(LEAST[quantifier](len(each)), each)
        return self._of(ask, [order.average for order in self.inside] or [self.average])

    def each(self, ask: Ask) -> list[P]:
        """Of every setting alone."""
        if not self.inside:
            return [ask.of(c) for c in self.settings]
        return [
            self._of(ask, list(ends)) for ends in zip(*(order.settings for order in self.inside), strict=True)
        ]

    def _of(self, ask: Ask, ends: Sequence[Contrast]) -> P:
        if not self.inside:
            return ask.of(ends[0])
        asks = replace(ask, relation=">", asked=0.0)
        holds, fails = zip(*(asks.of(end) for end in ends), strict=True)
        return max(holds), min(fails)

    def moved(self, rng: np.random.Generator, runs: float) -> "Order":
        """As so many times the runs might show it, if the truth lies about where these runs see it."""
        by = rng.normal(size=len(self.settings)) * math.sqrt(1 - 1 / runs)
        settings = tuple(c.moved(z) for c, z in zip(self.settings, by, strict=True))
        average = self.average.moved(float(by.sum()) / math.sqrt(len(by)))
        inside = tuple(
            Order(
                tuple(c.moved(sign * z) for c, z in zip(order.settings, by, strict=True)),
                order.average.moved(sign * float(by.sum()) / math.sqrt(len(by))),
            )
            for order, sign in zip(self.inside, (1, -1), strict=False)
        )
        return Order(settings, average, inside)


@dataclass(frozen=True)
class Spread:
    """How far runs scatter in the first of each pair, against the second, all pairs together."""

    pairs: tuple[tuple[Estimate, Estimate], ...]
    less: bool

    def share(self) -> float:
        """The firsts' in the squared deviations, on average."""
        squares = [[(e.n - 1) * e.spread**2 for e in pair] for pair in self.pairs]
        return float(np.mean([a / (a + b) if a + b > 0 else 0.5 for a, b in squares]))

    def equals(self, runs: float = 1.0) -> np.ndarray:
        """What that share comes to where both scatter alike."""
        return shares_of_equals(tuple(tuple(max(2, round(e.n * runs)) for e in pair) for pair in self.pairs))

    @property
    def known(self) -> bool:
        return all(e.spread_kind == "sample_sd" for pair in self.pairs for e in pair)

    def p(self, quantifier: str, ask: Ask) -> P:
        if not self.known:
            return NEITHER
        if not all(math.isfinite(e.value) and math.isfinite(e.spread) for pair in self.pairs for e in pair):
            return FAILS
        equals = self.equals(ask.runs)
        low, high = float((equals <= self.share()).mean()), float((equals >= self.share()).mean())
        return (low, high) if self.less else (high, low)

    def moved(self, rng: np.random.Generator, runs: float) -> "Spread":
        """What more runs will show of a scatter is not foretold."""
        return self


Test = Order | Spread


def _summed(named: Sequence[Named], sign: float, step: float) -> Contrast:
    weights: dict[tuple[str, str], float] = {}
    for name, weight, _ in named:
        weights[name] = weights.get(name, 0.0) + sign * weight
    numbers = {name: e for name, _, e in named}
    terms: list[Term] = [(w if abs(w) > 1e-12 else 0.0, numbers[name]) for name, w in weights.items()]
    return contrast(*zip(*terms, strict=True), resolution=step)


def resolution(values: Sequence[float]) -> float:
    """The unit in which all of these are whole; 0 where they were not rounded."""
    array = np.array([value for value in values if math.isfinite(value)])
    for digits in range(5):
        if np.abs(array * 10**digits - np.round(array * 10**digits)).max(initial=0.0) < 1e-9:
            return 10.0**-digits if len(array) else 0.0
    return 0.0


def fisher(e: Estimate) -> Estimate:
    """A correlation on the scale on which its interval has two equal halves, its noise as it is there."""
    stretch = 1 / (1 - e.value**2)
    z = math.atanh(e.value)
    return replace(
        e,
        value=z,
        se_runs=e.se_runs * stretch,
        se_units=e.se_units * stretch,
        per_run=tuple(z + (value - e.value) * stretch for value in e.per_run),
        draws=z + (e.draws - e.value) * stretch,
    )
