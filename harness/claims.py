"""The statements of a paper that a machine can test, tested on the cells."""

from typing import Any

import pandas as pd

from harness.artefacts import Artefact
from harness.cells import Filled
from harness.expect import Verdict, judge_relation, judge_trend, worst
from harness.layout import scale_rank
from harness.stats import Estimate, exact


def judge_claims(
    artefact: Artefact, filled: list[Filled], scale: str
) -> list[tuple[dict[str, Any], Verdict]]:
    """Each claim of the artefact's YAML with its verdict."""
    cells = {(f.row, f.column): f.estimate for f in filled}
    return [(claim, _test(claim, cells, scale)) for claim in artefact.data.get("claims", [])]


def _test(claim: dict[str, Any], cells: dict[tuple[str, str], Estimate | None], scale: str) -> Verdict:
    if scale_rank(scale) < scale_rank(claim.get("from", "smoke")):
        return Verdict("not comparable", f"tested from scale {claim['from']} on")
    verdicts = []
    for test in claim["tests"]:
        points = [
            p for p in (test.get("left"), test.get("right"), *test.get("over", [])) if isinstance(p, list)
        ]
        missing = [" / ".join(map(str, p)) for p in points if cells.get(_key(p)) is None]
        if missing:
            verdicts.append(Verdict("not run", f"{missing[0]} has no number at this scale"))
        elif "trend" in test:
            verdicts.append(judge_trend([cells[_key(p)] for p in test["over"]], test["trend"]))
        else:
            right = test["right"]
            other = cells[_key(right)] if isinstance(right, list) else exact(right)
            verdicts.append(
                judge_relation(cells[_key(test["left"])], test["relation"], other, test.get("margin", 0.0))
            )
    return worst(verdicts)


def _key(point: list[Any]) -> tuple[str, str]:
    return str(point[0]), str(point[1])


def to_frame(tested: list[tuple[dict[str, Any], Verdict]]) -> pd.DataFrame:
    columns = ["id", "text", "where", "verdict", "reason"]
    lines = [[c["id"], c["text"], c["where"], v.word, v.reason] for c, v in tested]
    return pd.DataFrame(lines, columns=columns)
