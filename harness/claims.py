"""The statements of a paper that a machine can test, tested on the cells."""

from typing import Any

import pandas as pd

from harness.artefacts import Artefact
from harness.cells import Filled
from harness.expect import Verdict, judge_relation, judge_trend, worst
from harness.layout import scale_rank
from harness.stats import exact


def judge_claims(
    artefact: Artefact, filled: list[Filled], scale: str
) -> list[tuple[dict[str, Any], Verdict]]:
    """Each claim of the artefact's YAML with its verdict."""
    cells = {(f.row, f.column): f for f in filled}
    return [(claim, _test(claim, cells, scale)) for claim in artefact.data.get("claims", [])]


def _test(claim: dict[str, Any], cells: dict[tuple[str, str], Filled], scale: str) -> Verdict:
    if scale_rank(scale) < scale_rank(claim.get("from", "smoke")):
        return Verdict("not comparable", f"tested from scale {claim['from']} on")
    verdicts = []
    for test in claim["tests"]:
        points = [
            p for p in (test.get("left"), test.get("right"), *test.get("over", [])) if isinstance(p, list)
        ]
        found = {_key(p): cells[_key(p)] for p in points if _key(p) in cells}
        numbered = [p for p in points if _key(p) in found and found[_key(p)].estimate]
        missing = [" / ".join(map(str, p)) for p in points if p not in numbered]
        if missing:
            verdicts.append(Verdict("not run", f"{missing[0]} has no number at this scale"))
        elif "trend" in test:
            verdicts.append(judge_trend([found[_key(p)].estimate for p in test["over"]], test["trend"]))
        else:
            left, right = found[_key(test["left"])], test["right"]
            other = found[_key(right)] if isinstance(right, list) else None
            same = other is not None and _same_runs(left, other)
            against = other.estimate if other else exact(right)
            margin = test.get("margin", 0.0)
            verdicts.append(judge_relation(left.estimate, test["relation"], against, margin, same))
    return worst(verdicts)


def _same_runs(a: Filled, b: Filled) -> bool:
    """Two numbers of the very same runs (a pruned and a full network) are compared run by run."""
    runs = len(a.runs) > 1 and a.runs == b.runs
    return runs and all(len(f.estimate.per_run) == len(f.runs) and not f.estimate.se_units for f in (a, b))


def _key(point: list[Any]) -> tuple[str, str]:
    return str(point[0]), str(point[1])


def to_frame(tested: list[tuple[dict[str, Any], Verdict]]) -> pd.DataFrame:
    columns = ["id", "text", "where", "verdict", "reason"]
    lines = [[c["id"], c["text"], c["where"], v.word, v.reason] for c, v in tested]
    return pd.DataFrame(lines, columns=columns)
