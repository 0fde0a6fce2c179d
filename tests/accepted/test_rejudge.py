"""A claim judged by accepted cells: as its runs would judge it, or not at all."""

import math
from typing import Any

import pytest

from harness.accepted import rejudge
from harness.numbers import claims
from harness.numbers.stats import Estimate, exact, of_runs


def cell(row: str, estimate: Estimate, runs: str = "", architectures: int = 0) -> dict[str, Any]:
    """As cells.csv holds it."""
    e, spread = estimate, math.nan if estimate.spread is None else estimate.spread
    numbers = {"value": e.value, "n": e.n, "spread": spread, "spread_kind": e.spread_kind}
    return {"row": row, "column": "c", "runs": runs, "architectures": architectures, **numbers}


def claim(test: dict[str, Any]) -> dict[str, Any]:
    return {"id": "x", "text": "x", "where": "x", "tests": [test]}


def order(left: Any, right: Any) -> dict[str, Any]:
    return claim({"left": left, "relation": ">", "right": right})


X = of_runs([4.0, 5.0, 6.0, 5.5, 4.5])


@pytest.mark.parametrize("value", [0.0, 1.9, 3.0, 4.9])
def test_of_different_runs_it_is_what_the_runs_say(value):
    y, asked = of_runs([value, value + 1, value + 2]), order(["x", "c"], ["y", "c"])
    known = claims.judge_one(asked, {("x", "c"): X, ("y", "c"): y}, "smoke")
    cells = [cell("x", X, "p/s0 p/s1 p/s2 p/s3 p/s4"), cell("y", y, "q/s0 q/s1 q/s2")]
    assert rejudge.by_cells(asked, cells, "smoke", by_seed=False) == known
    assert rejudge.by_cells(asked, cells, "smoke", by_seed=True) is None


def test_one_run_among_others_is_no_pair_and_two_are():
    one, two, y = of_runs([5.0]), of_runs([5.0, 6.0]), of_runs([0.0, 1.0, 2.0])
    sampled = Estimate(5.0, 1, 0.2, "bootstrap", se_units=0.2, units=100)
    asked, runs = order(["x", "c"], ["y", "c"]), "p/s0 p/s1 p/s2"
    for x, units in ((one, 0), (sampled, 100)):  # a single run is never compared run by run
        known = claims.judge_one(asked, {("x", "c"): x, ("y", "c"): y}, "smoke")
        cells = [cell("x", x, "p/s0", units), cell("y", y, runs)]
        assert rejudge.by_cells(asked, cells, "smoke", by_seed=False) == known
    cells = [cell("x", two, "p/s0 p/s1"), cell("y", of_runs([0.0, 1.0]), "p/s0 p/s1")]
    assert rejudge.by_cells(asked, cells, "smoke", by_seed=False) is None
    pair = cell("x", Estimate(5.0, 2, 0.2, "bootstrap"), "p/s0 p/s1", 100)
    assert rejudge.by_cells(order(["x", "c"], 0), [pair], "smoke", by_seed=False) is None


def test_a_cell_named_twice_is_not_two_independent_ones():
    """x - a against b - x was once judged as if the two x were of other runs, and then agreed."""
    cells = [cell("x", X, "p/s0 p/s1 p/s2 p/s3 p/s4"), cell("a", exact(4)), cell("b", exact(4.5))]
    twice = order({"gap": [["x", "c"], ["a", "c"]]}, {"gap": [["b", "c"], ["x", "c"]]})
    assert rejudge.by_cells(twice, cells, "smoke", by_seed=False) is None
    once = order({"gap": [["x", "c"], ["a", "c"]]}, {"gap": [["b", "c"], ["a", "c"]]})
    assert rejudge.by_cells(once, cells, "smoke", by_seed=False).word == "unclear"


def test_of_sampled_architectures_one_run_against_a_number_is_all_that_cells_tell():
    sampled = Estimate(0.7, 1, 0.02, "bootstrap", se_units=0.02, units=100)
    cells = [cell(row, sampled, f"p/{row}/s0", 100) for row in ("x", "y")]
    assert rejudge.by_cells(order(["x", "c"], 0.65), cells, "smoke", by_seed=False).word == "agrees"
    assert rejudge.by_cells(order(["x", "c"], ["y", "c"]), cells, "smoke", by_seed=False) is None
    several = [cell("x", X, "p/s0 p/s1 p/s2 p/s3 p/s4", 100)]
    assert rejudge.by_cells(order(["x", "c"], 0.65), several, "smoke", by_seed=False) is None


def test_spreads_are_judged_whatever_their_runs_share():
    asked = claim({"of": "spread", "left": ["x", "c"], "relation": "<", "right": ["y", "c"]})
    y = of_runs([0.0, 50.0, 100.0, 10.0, 90.0])
    cells = [cell("x", X, "p/s0 p/s1 p/s2 p/s3 p/s4", 100), cell("y", y, "p/s0 p/s1 p/s2 p/s3 p/s4", 100)]
    known = claims.judge_one(asked, {("x", "c"): X, ("y", "c"): y}, "smoke")
    assert known.word == "agrees"
    assert rejudge.by_cells(asked, cells, "smoke", by_seed=True) == known


def test_what_has_no_number_is_not_run():
    cells = [cell("x", X, "p/s0"), {**cell("y", X), "n": 0}]
    assert rejudge.by_cells(order(["x", "c"], ["y", "c"]), cells, "smoke", by_seed=False).word == "not run"
