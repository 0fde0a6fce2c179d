"""How often each rule of docs/verdicts.md is wrong, and what it finds, at this project's designs.

    python benchmarks/verdicts.py [repeats]     the table of docs/verdicts.md; about three minutes

A false alarm is a word (`agrees` or `contradicts`) where nothing is there; 5 % may be. Numbers of runs,
settings and architectures are those of the papers' experiments at scale cpu. What methods of one seed share
of their noise, 0.3 to 0.8, and how differently settings scatter (its logarithm by 0.4) were taken from
icw's kept records.
"""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from harness.metrics import resampled
from harness.metrics.ranking import spearman
from harness.numbers import looks
from harness.numbers.claim_test import Ask, Named, Order, Spread
from harness.numbers.contrast import contrast
from harness.numbers.stats import Estimate, of_runs, of_units

SIDE = looks.FIRST
Rng = np.random.Generator
Draw = Callable[[Rng, float], list[list[Named]]]  # the settings of a claim, with this effect in each


def numbers(values: np.ndarray, names: list[str] | None = None) -> Estimate:
    return replace(of_runs(values), runs=tuple(names or ()))


def seeds(n: int) -> list[str]:
    return [f"s{i}" for i in range(n)]


def two_methods(ours: int, theirs: int, shared: float, ratio: float = 1.0) -> Draw:
    """One difference between two methods whose runs share seeds, `shared` of their noise being the seed's."""

    def draw(rng: Rng, effect: float) -> list[list[Named]]:
        common = rng.normal(size=max(ours, theirs)) * math.sqrt(shared)
        a, b = (common[:n] + rng.normal(size=n) * math.sqrt(1 - shared) for n in (ours, theirs))
        left, right = numbers(effect + a, seeds(ours)), numbers(ratio * b, seeds(theirs))
        return [[(("a", ""), 1, left), (("b", ""), -1, right)]]

    return draw


def with_one_baseline(
    methods: list[int], baseline: int, shared: float, which: tuple[float, ...] = ()
) -> Draw:
    """Figure 4's: some methods against one baseline, by seed; `which`: that much of the effect in each."""

    def draw(rng: Rng, effect: float) -> list[list[Named]]:
        common = rng.normal(size=max(*methods, baseline)) * math.sqrt(shared)
        own = [common[:n] + rng.normal(size=n) * math.sqrt(1 - shared) for n in (baseline, *methods)]
        base = (("baseline", ""), -1, numbers(own[0], seeds(baseline)))
        shares = which or (1.0,) * len(methods)
        return [
            [((str(i), ""), 1, numbers(effect * shares[i] + values, seeds(len(values)))), base]
            for i, values in enumerate(own[1:])
        ]

    return draw


def apart(settings: int, n: int, differ: float, shared: float = 0.0, which: tuple[float, ...] = ()) -> Draw:
    """Table 4.2's: a difference within runs, in settings of other runs that scatter `differ`ently."""

    def draw(rng: Rng, effect: float) -> list[list[Named]]:
        common, found = rng.normal() * math.sqrt(shared), []
        for i in range(settings):
            noise = rng.normal(size=n) * math.exp(rng.normal(0, differ))
            values = effect * (which[i] if which else 1.0) + noise + common
            found.append([((str(i), ""), 1.0, numbers(values))])
        return found

    return draw


def correlations(runs: int, sample: int, own: float) -> Draw:
    """Two estimators, the same super-networks and architectures; `own` noise of a run on an architecture."""

    def draw(rng: Rng, effect: float) -> list[list[Named]]:
        truth, of_architecture = rng.normal(size=sample), 0.7 * rng.normal(size=(2, sample))
        scores = [
            [
                (1 + effect * k) * truth + of_architecture[k] + own * rng.normal(size=sample)
                for _ in range(runs)
            ]
            for k in (1, 0)
        ]
        cells = []
        for k, several in enumerate(scores):
            made = of_units(
                spearman, [(score, truth) for score in several], draws=200, many=resampled.spearman
            )
            named = replace(
                made, runs=tuple(seeds(runs)) if runs > 1 else (), architectures="same", bounded=True
            )
            cells.append(((str(k), ""), (1, -1)[k], named))
        return [cells]

    return draw


def whole_numbers(n: int) -> Draw:
    """Depths: whole numbers of layers that hardly scatter; by chance all runs have the same."""

    def draw(rng: Rng, effect: float) -> list[list[Named]]:
        a, b = rng.integers(0, 2, size=(2, n)).astype(float)
        return [[(("a", ""), 1, numbers(17 + effect + a)), (("b", ""), -1, numbers(17 + b))]]

    return draw


def rate(
    draw: Draw, quantifier: str, effect: float, repeats: int, ask: Ask | None = None, side: int = 0
) -> float:
    """Of claims, how many get a word: side 1 holds, -1 fails, 0 either."""
    rng, hits = np.random.default_rng(1), 0
    for _ in range(repeats):
        holds, fails = Order.of(draw(rng, effect), 1).p(quantifier, ask or Ask(">"))
        hits += {1: holds, -1: fails, 0: min(holds, fails)}[side] <= SIDE
    return hits / repeats


def spreads(pairs: int, n: int, ratio: float, repeats: int) -> float:
    rng, hits = np.random.default_rng(1), 0
    for _ in range(repeats):
        values = rng.normal(size=(pairs, 2, n)) * [[1], [ratio]]
        hits += (
            min(Spread(tuple(tuple(map(of_runs, pair)) for pair in values), True).p("", Ask("spread <")))
            <= SIDE
        )
    return hits / repeats


def coverage(runs: int, sample: int, own: float, repeats: int) -> float:
    """How often the interval of a correlation of several runs holds that of all architectures and runs."""
    draw = correlations(runs, sample, own)
    big = np.random.default_rng(2)
    truth = big.normal(size=100_000)
    known = spearman(truth + big.normal(size=100_000) * math.hypot(0.7, own), truth)
    rng, hits = np.random.default_rng(1), 0
    for _ in range(repeats):
        ((cell, _),) = draw(rng, 0.0)
        hits += not cell[2].lo <= known <= cell[2].hi
    return hits / repeats


def two_looks(first: int, more: int, effect: float, repeats: int) -> float:
    """What is open after a first look gets more runs, as by `python -m harness decide`, and a second look."""
    rng, hits = np.random.default_rng(1), 0
    for _ in range(repeats):
        values = rng.normal(effect, 1, first + more)
        for n, side in ((first, looks.FIRST), (first + more, looks.side(first / (first + more)))):
            found = contrast([1], [of_runs(values[:n])])
            if min(found.above(0), found.below(0)) <= side:
                hits += 1
                break
    return hits / repeats


# What else might have been done, for comparison.
def crossed_bootstrap(settings: int, n: int, repeats: int) -> float:
    """Runs drawn again within settings, percentile interval."""
    rng, hits = np.random.default_rng(1), 0
    for _ in range(repeats):
        values = rng.normal(size=(settings, n))
        again = np.take_along_axis(values[None], rng.integers(n, size=(400, settings, n)), axis=2).mean(
            axis=(1, 2)
        )
        low, high = np.quantile(again, [SIDE, 1 - SIDE])
        hits += not low <= 0 <= high
    return hits / repeats


def share_of_signs(settings: int, n: int, shared: float, repeats: int) -> float:
    """`Usually` by a sign test over settings, as if what they share did not count."""
    from scipy.stats import binom

    rng, hits = np.random.default_rng(1), 0
    for _ in range(repeats):
        common = rng.normal() * math.sqrt(shared)
        above = int((rng.normal(size=(settings, n)).mean(axis=1) + common > 0).sum())
        hits += min(binom.sf(above - 1, settings, 0.5), binom.cdf(above, settings, 0.5)) <= SIDE
    return hits / repeats


def rows(repeats: int) -> Iterator[tuple[str, str, float, str]]:
    """Rule, design, false alarms, and what is found of an effect in units of the noise of one run."""

    def of(rule: str, design: str, draw: Draw, quantifier: str = "on average", effect: float = 2.0):
        found = rate(draw, quantifier, effect, repeats, side=1)
        return rule, design, rate(draw, quantifier, 0.0, repeats), f"{found:.0%} of {effect:g}"

    for ours, theirs, shared in ((3, 3, 0.5), (5, 3, 0.5), (5, 3, 0.8)):
        design = f"{ours} and {theirs} seeds, {shared:g} of the noise shared"
        yield of("two methods by seed", design, two_methods(ours, theirs, shared))
    yield of(
        "two methods, other runs",
        "3 and 3 runs, the second three times as noisy",
        lambda r, e: _unnamed(two_methods(3, 3, 0, 3)(r, e)),
    )
    for settings, n, differ in ((15, 2, 0.4), (5, 2, 0.4), (3, 3, 0.4)):
        design = f"{settings} settings, {n} runs each" + (", unequal scatter" if differ else "")
        yield of("on average", design, apart(settings, n, differ), effect=1.0)
    yield of(
        "on average",
        "6 methods of 3 or 5 seeds, one baseline of 5",
        with_one_baseline([5, 3, 3, 3, 5, 3], 5, 0.5),
        effect=1.0,
    )
    for settings, n in ((5, 2), (15, 2)):
        for quantifier, hold in (("usually", settings // 2), ("in all", settings - 1)):
            edge = apart(settings, n, 0.4, which=(9.0,) * hold + (0.0,) * (settings - hold))
            found = rate(apart(settings, n, 0.4), quantifier, 4.0, repeats, side=1)
            design = f"{settings} settings of {n} runs, {hold} of them hold"
            yield quantifier, design, rate(edge, quantifier, 1.0, repeats, side=1), f"{found:.0%} of 4"
        design = f"{settings} settings of {n} runs, none of them anything"
        alarm = rate(apart(settings, n, 0.4), "in all", 0.0, repeats, side=-1)
        one = apart(settings, n, 0.4, which=(1.0,) + (0.0,) * (settings - 1))
        found = rate(one, "in all", -4.0, repeats, side=-1)
        yield "in all, refuted by one", design, alarm, f"{found:.0%} of 4 in one"
    design, draw = "6 methods of 3 seeds, one baseline", with_one_baseline([3] * 6, 3, 0.5)
    yield "in all, refuted by one", design, rate(draw, "in all", 0.0, repeats, side=-1), ""
    for n in (3, 5):
        ask, draw = Ask("=", 2.0), two_methods(n, n, 0.5)
        found = rate(draw, "in all", 0.0, repeats, ask, side=1)
        yield (
            "equal within a margin of 2",
            f"{n} seeds, 2 apart",
            rate(draw, "in all", 2.0, repeats, ask, side=1),
            f"{found:.0%} of 0",
        )
    for pairs, n in ((1, 3), (15, 2)):
        yield (
            "spread",
            f"{pairs} pairs of {n} runs",
            spreads(pairs, n, 1, repeats),
            f"{spreads(pairs, n, 3, repeats):.0%} of threefold",
        )
    for n in (3, 4):
        draw = whole_numbers(n)
        yield (
            "whole numbers",
            f"{n} and {n} runs, 0 or 1",
            rate(draw, "on average", 0, repeats),
            f"{rate(draw, 'on average', 2, repeats, side=1):.0%} of 2",
        )
    for first, more in ((3, 3), (5, 5)):
        design, found = f"{first} runs, and {more} more if it is open", two_looks(first, more, 1.5, repeats)
        yield "two looks", design, two_looks(first, more, 0, repeats), f"{found:.0%} of 1.5"
    few = max(repeats // 5, 100)
    for runs, sample, own in ((3, 100, 1.0), (2, 100, 0.5), (3, 50, 0.5)):
        design = f"{runs} runs, {sample} architectures, noise {own:g}"
        yield "interval of a correlation", design, coverage(runs, sample, own, few), ""
        draw = correlations(runs, sample, own)
        yield (
            "two correlations",
            design,
            rate(draw, "", 0, few),
            f"{rate(draw, '', 0.6, few, side=1):.0%} of 0.6",
        )
    yield "*not used:* bootstrap of runs", "5 settings of 2 runs", crossed_bootstrap(5, 2, few), ""
    yield "*not used:* bootstrap of runs", "1 setting of 3 runs", crossed_bootstrap(1, 3, few), ""
    yield (
        "*not used:* sign test of settings",
        "15 settings of 2 runs, a fifth of the noise common",
        share_of_signs(15, 2, 0.2, repeats),
        "",
    )


def _unnamed(settings: list[list[Named]]) -> list[list[Named]]:
    return [[(name, w, replace(e, runs=())) for name, w, e in setting] for setting in settings]


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("| rule | design | false alarms | found |\n|---|---|---|---|")
    for rule, design, alarms, found in rows(repeats):
        print(f"| {rule} | {design} | {alarms:.1%} | {found} |".replace("%", " %"), flush=True)


if __name__ == "__main__":
    main()
