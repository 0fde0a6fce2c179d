"""A claim judged by accepted cells alone, where its test changed and the runs are elsewhere."""

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

from harness import claims
from harness.expect import Verdict
from harness.stats import Estimate, exact, of_runs


def by_cells(
    claim: dict[str, Any], accepted: Iterable[dict[str, Any]], scale: str, by_seed: bool
) -> Verdict | None:
    """Its verdict, the same as from the runs; None where that takes more than the cells hold.

    That is where numbers are compared run by run, or several stand on sampled architectures.
    """
    known = {(cell["row"], cell["column"]): cell for cell in accepted if cell["n"]}
    estimates = {}
    for keys in claims.compared(claim):
        asked = [known[key] for key in keys if key in known]
        for cell in asked:
            if (estimate := _estimate(cell)) is None:
                return None
            estimates[cell["row"], cell["column"]] = estimate
        if _are_paired([cell for cell in asked if cell["spread_kind"] != "exact"], by_seed):
            return None
    return claims.judge_one(claim, estimates, scale)


def _estimate(cell: dict[str, Any]) -> Estimate | None:
    if cell["spread_kind"] == "exact":
        return exact(cell["value"])
    value, n, spread, units = (cell[key] for key in ("value", "n", "spread", "architectures"))
    if cell["spread_kind"] == "bootstrap" and n == 1:
        return Estimate(value, n, spread, "bootstrap", se_units=spread, units=units)
    if units:
        return None
    if cell["spread_kind"] == "none":
        return of_runs([value])
    return Estimate(value, n, spread, cell["spread_kind"], spread / math.sqrt(n), n - 1)


def _are_paired(cells: Sequence[dict[str, Any]], by_seed: bool) -> bool:
    if len([cell for cell in cells if cell["architectures"]]) > 1:
        return True
    runs = [set(cell["runs"].split()) for cell in cells if cell["n"] > 1]
    if by_seed:
        runs = [{run.rsplit("/", 1)[1] for run in each} for each in runs]
    return any(one & other for one, other in combinations(runs, 2))
