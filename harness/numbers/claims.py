"""The statements of a paper that a machine can test, tested on the cells."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from harness.numbers.cells import Filled
from harness.numbers.claim_record import COLUMNS, Claim, Part, decided
from harness.numbers.stats import Estimate, combined, exact, share_of_spread, shared_runs
from harness.spec.artefacts import Artefact
from harness.spec.expand import each, over, points
from harness.spec.fingerprint import waits

Estimates = dict[tuple[str, str], Estimate]


def judge_claims(artefact: Artefact, filled: list[Filled], scale: str) -> list[Claim]:
    """Each claim of the artefact's YAML with its verdict."""
    by_seed = artefact.data.get("paired_by_seed", False)
    cells = {(f.row, f.column): _of_its_runs(f, by_seed) for f in filled if f.estimate}
    return [judge_one(claim, cells, scale) for claim in artefact.data.get("claims", [])]


def _of_its_runs(cell: Filled, by_seed: bool = False) -> Estimate:
    """Two numbers of the very same runs (a pruned and a full network) are compared run by run.

    Where runs of one seed share their streams, two methods are compared seed by seed.
    """
    runs = tuple(sorted(cell.runs)) if 1 < len(cell.runs) == len(cell.estimate.per_run) else ()
    if by_seed:
        runs = tuple(run.rsplit("/", 1)[1] for run in runs)
    return replace(cell.estimate, runs=runs)


def judge_one(claim: dict[str, Any], cells: Estimates, scale: str) -> Claim:
    if later := waits(claim, scale):
        return Claim(claim["id"], claim["text"], claim["where"], "not comparable", later)
    alone = len(claim["tests"]) == 1
    parts = [part for test in claim["tests"] for part in _parts(test, alone)]
    return decided(claim, [_judge(name, group, cells, len(parts)) for name, group in parts])


def _parts(test: dict[str, Any], alone: bool) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """What is judged on its own: a combination of `each`; of a spread or a trend all combinations are one."""
    several = each(test)
    together = "of" in test or "trend" in test
    yield from zip(_names(test, alone), [several] if together else [[one] for one in several], strict=True)


def _names(test: dict[str, Any], alone: bool) -> list[str]:
    """What parts are called: by a combination's words, whom it is against, or what it measures."""
    if "each" not in test or "trend" in test:
        left = points(test.get("left"))
        return [", ".join(map(str, left[0])) if len(left) == 1 and not alone else ""]
    if "of" in test:
        return [f"against {', '.join(str(word) for word in test['right'] if '{' not in str(word))}"]
    return [", ".join(map(str, words)) for words in product(*test["each"].values())]


def _asked(several: list[dict[str, Any]]) -> list[list[Any]]:
    sides = [side for one in several for side in (one.get("left"), one.get("right"))]
    return [point for side in [*sides, *over(several)] for point in points(side)]


def _judge(name: str, several: list[dict[str, Any]], cells: Estimates, parts: int) -> Part:
    test = several[0]
    missing = [" / ".join(map(str, point)) for point in _asked(several) if _key(point) not in cells]
    if missing:
        return Part(missing[0], verdict="not run", parts=parts)
    if "of" in test:
        pairs = [(cells[_key(one["left"])], cells[_key(one["right"])]) for one in several]
        return of_spread(name, pairs, test["relation"], parts)
    if "trend" in test:
        line = [_side(side, cells) for side in over(several)]
        weights = slope_weights(len(line))
        terms = [(w * own, e) for w, side in zip(weights, line, strict=True) for own, e in side]
        return of_difference(name, terms, test["trend"], parts)
    terms = [*_side(test["left"], cells), *((-w, e) for w, e in _side(test["right"], cells))]
    return of_difference(name, terms, test["relation"], parts, test.get("margin", 0.0))


def of_difference(
    name: str, terms: list[tuple[float, Estimate]], relation: str, parts: int = 1, asked: float = 0.0
) -> Part:
    """A claim of order, by a difference, or of trend, by a slope: the sum of these weighted numbers."""
    sign = -1 if relation in ("<", "falling") else 1
    weights, estimates = zip(*terms, strict=True)
    value, half = combined(weights, estimates)
    heavy = [e for w, e in terms if w]
    noisy = [e for e in heavy if not e.exact]
    seeds, runs = len(shared_runs(heavy)), min((e.n for e in noisy), default=0)
    sample = max((e.units for e in noisy if e.se_units), default=0)
    part = Part(name, relation, sign * value, half, asked, seeds, runs, sample, parts=parts)
    return part.judged(combined(weights, estimates, parts)[1])


def of_spread(name: str, pairs: list[tuple[Estimate, Estimate]], relation: str, parts: int = 1) -> Part:
    """A claim that runs scatter less (or more) in the first of each pair than in the second."""
    every = [estimate for pair in pairs for estimate in pair]
    part = Part(name, f"spread {relation}", runs=min(e.n for e in every), parts=parts)
    if any(e.spread_kind != "sample_sd" for e in every):
        return replace(part, value=0.5, half=math.inf, asked=0.5).judged(math.inf)
    if not all(math.isfinite(e.value) for e in every):
        return part.judged(math.inf)
    share, low, high = share_of_spread(pairs)
    asked, wide = (low + high) / 2, share_of_spread(pairs, parts)
    part = replace(part, value=share, half=(high - low) / 2, asked=asked)
    return part.judged(wide[2] - asked if relation == "<" else asked - wide[1])


def slope_weights(n: int) -> list[float]:
    """What n ordered numbers are weighted with to give the slope of their line."""
    weights = np.arange(n) - (n - 1) / 2
    return (weights / (weights @ weights)).tolist()


def _side(side: Any, cells: Estimates) -> list[tuple[float, Estimate]]:
    """The cells of a side with their weights: a gap is its first less its second, a mean that of all."""
    there = points(side)
    if not there:
        return [(1, exact(side))]
    mean = isinstance(side, dict) and "mean" in side
    weights = [1 / len(there)] * len(there) if mean else [1, -1][: len(there)]
    return [(weight, cells[_key(point)]) for weight, point in zip(weights, there, strict=True)]


def _key(point: list[Any]) -> tuple[str, str]:
    return str(point[0]), str(point[1])


def to_frame(tested: list[Claim]) -> pd.DataFrame:
    return pd.DataFrame([claim.line() for claim in tested], columns=list(COLUMNS))
