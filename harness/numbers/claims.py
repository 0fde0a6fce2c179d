"""The statements of a paper that a machine can test, tested on the cells."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from harness.numbers.cells import Filled
from harness.numbers.judge import Measured, Verdict, judge_gap, judge_slope, judge_spread, worst
from harness.numbers.stats import Estimate, combined, exact, shared_runs
from harness.spec.artefacts import Artefact
from harness.spec.expand import each, over, points
from harness.spec.fingerprint import waits

Estimates = dict[tuple[str, str], Estimate]


def judge_claims(
    artefact: Artefact, filled: list[Filled], scale: str
) -> list[tuple[dict[str, Any], Verdict]]:
    """Each claim of the artefact's YAML with its verdict."""
    by_seed = artefact.data.get("paired_by_seed", False)
    cells = {(f.row, f.column): _of_its_runs(f, by_seed) for f in filled if f.estimate}
    return [(claim, judge_one(claim, cells, scale)) for claim in artefact.data.get("claims", [])]


def compared(claim: dict[str, Any]) -> Iterator[tuple[list[tuple[str, str]], bool]]:
    """The cells of each part of a claim, as often as they are named; whether it asks for their spread."""
    for test in claim["tests"]:
        for _, group in _parts(test, alone=True):
            yield [_key(point) for point in _asked(group)], "of" in test


def _of_its_runs(cell: Filled, by_seed: bool = False) -> Estimate:
    """Two numbers of the very same runs (a pruned and a full network) are compared run by run.

    Where runs of one seed share their streams, two methods are compared seed by seed.
    """
    runs = tuple(sorted(cell.runs)) if 1 < len(cell.runs) == len(cell.estimate.per_run) else ()
    if by_seed:
        runs = tuple(run.rsplit("/", 1)[1] for run in runs)
    return replace(cell.estimate, runs=runs)


def judge_one(claim: dict[str, Any], cells: Estimates, scale: str) -> Verdict:
    if later := waits(claim, scale):
        return Verdict("not comparable", later)
    alone = len(claim["tests"]) == 1
    parts = [(name, group) for test in claim["tests"] for name, group in _parts(test, alone)]
    verdicts = []
    for name, group in parts:
        verdict = _judge(group, cells, len(parts))
        told = verdict.reason if verdict.word == "not run" else name + verdict.reason
        verdicts.append(replace(verdict, reason=told))
    return worst(verdicts)


def _parts(test: dict[str, Any], alone: bool) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """What is judged on its own: a combination of `each`; of a spread or a trend all combinations are one."""
    several = each(test)
    together = "of" in test or "trend" in test
    yield from zip(_names(test, alone), [several] if together else [[one] for one in several], strict=True)


def _names(test: dict[str, Any], alone: bool) -> list[str]:
    """What a part's reason begins with: a combination's words, whom it is against, or what it measures."""
    if "each" not in test or "trend" in test:
        left = points(test.get("left"))
        return [f"{', '.join(map(str, left[0]))}: " if len(left) == 1 and not alone else ""]
    if "of" in test:
        return [f"against {', '.join(str(word) for word in test['right'] if '{' not in str(word))}: "]
    return [f"{', '.join(map(str, words))}: " for words in product(*test["each"].values())]


def _asked(several: list[dict[str, Any]]) -> list[list[Any]]:
    sides = [side for one in several for side in (one.get("left"), one.get("right"))]
    return [point for side in [*sides, *over(several)] for point in points(side)]


def _judge(several: list[dict[str, Any]], cells: Estimates, parts: int) -> Verdict:
    test = several[0]
    missing = [" / ".join(map(str, point)) for point in _asked(several) if _key(point) not in cells]
    if missing:
        return Verdict("not run", f"{missing[0]} has no number at this scale")
    if "trend" in test:
        line = [_side(side, cells) for side in over(several)]
        terms = [
            (w * own, e) for w, side in zip(slope_weights(len(line)), line, strict=True) for own, e in side
        ]
        return judge_slope(_measured(terms, parts), test["trend"])
    if "of" in test:
        pairs = [(cells[_key(one["left"])], cells[_key(one["right"])]) for one in several]
        return judge_spread(pairs, test["relation"], parts)
    left, right = _side(test["left"], cells), _side(test["right"], cells)
    gap = _measured([*left, *((-weight, estimate) for weight, estimate in right)], parts)
    return judge_gap(gap, test["relation"], test.get("margin", 0.0))


def slope_weights(n: int) -> list[float]:
    """What n ordered numbers are weighted with to give the slope of their line."""
    weights = np.arange(n) - (n - 1) / 2
    return (weights / (weights @ weights)).tolist()


def _measured(terms: list[tuple[float, Estimate]], parts: int) -> Measured:
    weights, estimates = zip(*terms, strict=True)
    value, half = combined(weights, estimates)
    wide = combined(weights, estimates, parts)[1]
    return Measured(value, half, wide, parts, len(shared_runs([e for w, e in terms if w])))


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


def to_frame(tested: list[tuple[dict[str, Any], Verdict]]) -> pd.DataFrame:
    columns = ["id", "text", "where", "verdict", "reason"]
    lines = [[c["id"], c["text"], c["where"], v.word, v.reason] for c, v in tested]
    return pd.DataFrame(lines, columns=columns)
