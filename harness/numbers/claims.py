"""The sentences of a paper that a machine can test, tested on the cells (docs/verdicts.md)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from harness.numbers import claim_needs, looks
from harness.numbers.cells import Filled
from harness.numbers.claim_record import COLUMNS, Claim, Part, reason_of
from harness.numbers.claim_sides import Estimates, key_of, named, side_of, size_of, value_of
from harness.numbers.claim_test import Ask, Order, Spread, Test, fisher
from harness.numbers.claim_test import P as PValues
from harness.numbers.quantifiers import DEFAULT, in_at_least
from harness.numbers.stats import Estimate
from harness.spec import experiments
from harness.spec.artefacts import Artefact
from harness.spec.expand import each, lines_of, points, sides_of
from harness.spec.fingerprint import claims_at, waits

FALLING = ("<", "falling", "spread <")


@dataclass(frozen=True)
class Tested:
    """One test of a claim with its numbers, or the name of one that is lacking."""

    name: str
    names: tuple[str, ...]  # of its settings
    quantifier: str
    ask: Ask
    ours: bool  # whether what is asked is a margin of ours
    test: Test | None = None
    missing: str = ""
    quarters: tuple[Order, ...] = ()  # the test with half and with twice of its quarter
    quarter: tuple[float, ...] = ()  # of the effect of each setting; what is asked of all is their mean
    on_z: bool = False  # correlations against a constant, on Fisher's scale

    def p(self) -> PValues:
        return self.test.p(self.quantifier, self.ask) if self.test else (1.0, 1.0)

    def with_margin(self, factor: float) -> "Tested":
        """As if our margin were half or twice as wide."""
        if self.quarters:
            return replace(self, test=self.quarters[factor > 1])
        return replace(self, ask=replace(self.ask, asked=self.ask.asked * factor)) if self.ours else self


def judge_claims(artefact: Artefact, filled: list[Filled], scale: str) -> list[Claim]:
    """Each claim of the artefact's YAML with its verdict."""
    cells, had = estimates_of(artefact, filled, scale)
    return [judge_one(claim, cells, scale, had) for claim in claims_at(artefact, scale)]


def estimates_of(
    artefact: Artefact, filled: list[Filled], scale: str
) -> tuple[Estimates, dict[tuple[str, str], float]]:
    """The numbers with what they share, and which share of their runs each had at the first look."""
    by_seed = artefact.data.get("paired_by_seed", False)
    there = [f for f in filled if f.estimate]
    cells = {(f.row, f.column): _of_its_runs(f, by_seed) for f in there}
    added = experiments.added(artefact.paper, scale, artefact.path.parents[2])  # to decide what was open
    more = {(f.row, f.column): sum(run in added for run in f.runs) for f in there}
    return cells, {(f.row, f.column): 1 - more[f.row, f.column] / max(len(f.runs), 1) for f in there}


def _of_its_runs(cell: Filled, by_seed: bool = False) -> Estimate:
    """Two numbers of the very same runs (a pruned and a full network) are compared run by run.

    Where runs of one seed share their streams, methods are compared seed by seed within a setting.
    """
    runs = tuple(sorted(cell.runs)) if 1 < len(cell.runs) == len(cell.estimate.per_run) else ()
    if by_seed:
        runs = tuple("/".join(run.split("/")[-2:]) for run in runs)
    return replace(cell.estimate, runs=runs)


def judge_one(
    claim: dict[str, Any], cells: Estimates, scale: str, had: dict[tuple[str, str], float] | None = None
) -> Claim:
    told = {"id": claim["id"], "text": claim["text"], "where": claim["where"]}
    if later := waits(claim, scale):
        return Claim(**told, verdict="not comparable", reason=later)
    tests = tests_of(claim, cells, had or {})
    word, of_tests = word_of(tests), [_parts(test, len(tests) == 1) for test in tests]
    alone = [part.word for parts in of_tests for part in parts[1:] or parts]
    made = Claim(
        **told,
        verdict=word,
        reason="",
        parts=tuple(part.rounded() for parts in of_tests for part in parts),
        quantifier=tests[0].quantifier if len(tests) == 1 else "in all",
        settings=len(alone),
        hold=alone.count("agrees"),
        fail=alone.count("contradicts"),
        sensitive=_sensitive(tests, word),
    )
    if word == "unclear":
        made = replace(
            made, **claim_needs.of(made.tests, lambda runs, units: word_of(larger(tests, runs, units)))
        )
    return replace(made, reason=reason_of(made))


def tests_of(claim: dict[str, Any], cells: Estimates, had: dict[tuple[str, str], float]) -> list[Tested]:
    side = looks.side(round(min([had.get(key, 1.0) for key in cells_of(claim)], default=1.0), 2))
    return [_tested(claim, test, cells, side) for test in claim["tests"]]


def cells_of(claim: dict[str, Any]) -> set[tuple[str, str]]:
    """All that it compares."""
    return {key_of(p) for test in claim["tests"] for side in sides_of(test) for p in points(side)}


def word_of(tests: Iterable[Tested]) -> str:
    """A claim holds if all its tests do; it fails if one does, by more than one of so many may by chance."""
    tests = list(tests)
    lacking = any(test.missing for test in tests)
    holds, fails = in_at_least(len(tests), [test.p() for test in tests])
    word = tests[0].ask.word((1.0 if lacking else holds, fails))
    return "not run" if lacking and word != "contradicts" else word


def larger(tests: Iterable[Tested], runs: float, units: float) -> list[Tested]:
    """With so many times the runs and architectures, which would be a second look."""
    side = looks.side(round(1 / (runs * units), 2)) if runs * units > 1 else None
    asks = [replace(t.ask, runs=runs, units=units, side=side or t.ask.side) for t in tests]
    return [replace(test, ask=ask) for test, ask in zip(tests, asks, strict=True)]


def _sensitive(tests: list[Tested], word: str) -> str:
    """Which other words it would be with margins of ours halved or doubled."""
    told = []
    for factor, how in ((0.5, "halved"), (2.0, "doubled")):
        other = word_of(test.with_margin(factor) for test in tests)
        told += [f"{other} with our margin {how}"] if other != word else []
    return ", ".join(told)


def _tested(claim: dict[str, Any], test: dict[str, Any], cells: Estimates, side: float) -> Tested:
    words = test.get("each", {})
    several = each(test)
    relation = f"spread {test['relation']}" if "of" in test else test.get("trend") or test["relation"]
    quantifier = claim.get("quantifier", "in all" if relation == "=" else DEFAULT)
    margin = test.get("margin", 0.0)
    sides = _named_sides(test, words)
    lines = lines_of(test)
    apart = [*words.values()] if len(lines) in (0, len(several)) else [*words.values()][:-1]
    names = tuple(", ".join(map(str, combination)) for combination in product(*apart)) if words else ()
    made = Tested(sides, names, quantifier, Ask(relation, margin, side=side), bool(margin))
    missing = [
        " / ".join(map(str, point))
        for side in sides_of(test)
        for point in points(side)
        if key_of(point) not in cells
    ]
    if missing:
        return replace(made, missing=missing[0])
    if "of" in test:
        pairs = tuple((cells[key_of(one["left"])], cells[key_of(one["right"])]) for one in several)
        return replace(made, test=Spread(pairs, test["relation"] == "<"))
    sign = -1 if relation in FALLING else 1
    constant = test.get("right")
    correlations = [_alone(one.get("left"), cells) for one in several]
    plain = relation in ("<", ">") and not margin and "quarter_of" not in test
    if plain and _inside(constant) and all(correlations):
        pairs = zip(several, correlations, strict=True)
        alone = [[(key_of(one["left"]), 1.0, fisher(e))] for one, e in pairs]
        ask = replace(made.ask, asked=sign * math.atanh(constant))
        return replace(made, test=Order.of(alone, sign), ask=ask, on_z=True)
    settings = [named(one, cells) for one in [test | {"over": line} for line in lines] or several]
    if "quarter_of" not in test:
        return replace(made, test=Order.of(settings, sign))
    effects, both = [size_of(side_of(one["quarter_of"], cells)) for one in several], relation == "="
    half, quarter, twice = (Order.within(settings, sign, effects, s, both) for s in (0.125, 0.25, 0.5))
    reach = tuple(abs(value_of(effect)) / (4 if both else -4) for effect in effects)
    asked = replace(made.ask, asked=sum(reach) / len(reach))
    return replace(made, test=quarter, ask=asked, quarters=(half, twice), quarter=reach)


def _named_sides(test: dict[str, Any], words: dict[str, list]) -> str:
    """What a test compares, for the eye: `SoTL, {algorithm} > ValAcc, {algorithm}` where it has settings."""
    left, right = points(test.get("left")), points(test.get("right"))
    if len(left) != 1 or "trend" in test:
        return ""
    first = " ".join(str(word) for word in left[0] if "{" not in str(word) or not words)
    second = (
        " ".join(str(word) for word in right[0] if "{" not in str(word) or not words)
        if len(right) == 1
        else ""
    )
    return f"{first} against {second}" if second and second != first else first


def _inside(constant: Any) -> bool:
    return isinstance(constant, int | float) and abs(constant) < 1


def _alone(side: Any, cells: Estimates) -> Estimate | None:
    """A correlation of ours that stands alone, and inside ±1."""
    if not isinstance(side, list):
        return None
    e = cells[key_of(side)]
    return e if e.bounded and abs(e.value) < 1 else None


def _parts(tested: Tested, only: bool) -> list[Part]:
    """What the test comes to, and each setting where it has several."""
    if tested.missing:
        return [Part(tested.missing, word="not run")]
    if isinstance(tested.test, Spread):
        return [replace(_of_spread(tested, tested.test), part="" if only else tested.name)]
    order, several = tested.test, len(tested.test.settings) > 1
    whole = order.average if several else order.settings[0]
    parts = [_part(tested, "" if only else tested.name, whole, tested.p())]
    if several:
        each = zip(tested.names, order.settings, order.each(tested.ask), strict=True)
        parts += [replace(_part(tested, *setting), setting=True) for setting in each]
    if several and tested.quarter:
        parts[1:] = [replace(p, asked=own) for p, own in zip(parts[1:], tested.quarter, strict=True)]
    return parts


def _part(tested: Tested, name: str, c: Any, p: PValues) -> Part:
    ask, half, found = tested.ask, c.half(tested.ask.level), c.found(tested.ask.level)
    ends, asked = [c.value, c.value - half, c.value + half], ask.asked
    if tested.on_z:
        found *= 1 - math.tanh(c.value) ** 2
        ends, asked = [math.tanh(z) - math.tanh(asked) for z in ends], 0.0
    return Part(name, ask.relation, *ends, asked, found, c.runs, c.architectures, ask.word(p))


def _of_spread(tested: Tested, test: Spread) -> Part:
    runs = min(e.n for pair in test.pairs for e in pair)
    part = Part("", tested.ask.relation, 0.5, asked=0.5, runs=runs, word=tested.ask.word(tested.p()))
    if not test.known:
        return part
    if not all(math.isfinite(e.value) for pair in test.pairs for e in pair):
        return replace(part, value=math.nan)
    lo, hi = np.quantile(test.equals(), [tested.ask.side, 1 - tested.ask.side])
    return replace(part, value=test.share(), lo=float(lo), hi=float(hi), asked=float(lo + hi) / 2)


def to_frame(tested: list[Claim]) -> pd.DataFrame:
    """claims.csv; it names scales where a claim has one of its own."""
    scales = {"scale": [claim.scale for claim in tested]} if any(claim.scale for claim in tested) else {}
    return pd.DataFrame([claim.line() for claim in tested], columns=list(COLUMNS)).assign(**scales)
