"""A claim judged by accepted cells alone, where its test changed and the runs are elsewhere."""

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

from harness.numbers import claims
from harness.numbers.judge import Verdict
from harness.numbers.stats import Estimate, exact, of_runs


def by_cells(
    claim: dict[str, Any], accepted: Iterable[dict[str, Any]], scale: str, by_seed: bool
) -> Verdict | None:
    """Its verdict, as its runs would give it; None where that takes more than the cells hold.

    That is where numbers that share runs, seeds or architectures are compared, or several runs stand on
    sampled architectures. What is exact is exact to the ten digits of a cell.
    """
    known = {(cell["row"], cell["column"]): cell for cell in accepted if cell["n"]}
    estimates: dict[tuple[str, str], Estimate] = {}
    for keys, of_spread in claims.compared(claim):
        asked = [known[key] for key in keys if key in known]
        if of_spread:  # judged by their spreads alone, shared or not
            estimates = {_key(cell): _scatter(cell) for cell in asked} | estimates
            continue
        found = {_key(cell): _estimate(cell) for cell in asked}
        if None in found.values() or _are_paired(asked, by_seed):
            return None
        estimates |= found
    return claims.judge_one(claim, estimates, scale)


def _key(cell: dict[str, Any]) -> tuple[str, str]:
    return cell["row"], cell["column"]


def _scatter(cell: dict[str, Any]) -> Estimate:
    return Estimate(cell["value"], cell["n"], cell["spread"], cell["spread_kind"])


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


def _are_paired(asked: Sequence[dict[str, Any]], by_seed: bool) -> bool:
    """Whether noise of one would be that of another: of a run, a seed, a sample, or of itself named twice."""
    noisy = [cell for cell in asked if cell["spread_kind"] != "exact"]
    if len(noisy) > len(set(map(_key, noisy))) or len([c for c in noisy if c["architectures"]]) > 1:
        return True
    runs = [set(cell["runs"].split()) for cell in noisy if cell["n"] > 1]
    if by_seed:
        runs = [{run.rsplit("/", 1)[1] for run in each} for each in runs]
    return any(one & other for one, other in combinations(runs, 2))
