"""Verdicts where a number lies exactly on a boundary, and steps that other numbers would not tell apart."""

import pytest

from harness.numbers import claims
from harness.numbers.judge import Measured, Verdict, judge_gap
from harness.numbers.stats import exact

WIDE, CHANCE = "the interval is wider than the effect", "than one of 1 parts may be by chance"


@pytest.mark.parametrize(
    ("found", "relation", "reason"),
    [
        (Measured(1, 1, 1), ">", WIDE),
        (Measured(-1, 0.5, 1), ">", CHANCE),
        (Measured(-1, 1, 2), ">", WIDE),
        (Measured(2, 0.5, 1), "=", CHANCE),
        (Measured(2, 1, 2), "=", "against ±1"),
    ],
)
def test_where_an_interval_ends_nothing_is_clear(found, relation, reason):
    verdict = judge_gap(found, relation, 1 if relation == "=" else 0)
    assert verdict.word == "unclear" and verdict.reason.endswith(reason)
    assert judge_gap(Measured(0.5, 0.5, 0.5), "=", 1).word == "agrees"


def test_a_trend_over_means_weighs_each_mean_as_one_point():
    cells = {(name, "c"): exact(value) for name, value in {"a": 1, "b": 3, "d": 4, "e": 6}.items()}
    test = {"trend": "rising", "over": [{"mean": [["a", "c"], ["b", "c"]]}, ["d", "c"], ["e", "c"]]}
    assert claims.judge_one({"tests": [test]}, cells, "smoke") == Verdict("agrees", "by +2")
