"""Verdicts where a number lies exactly on a boundary, and steps that other numbers would not tell apart."""

import pytest

from harness.numbers import claims
from harness.numbers.claim_record import Part
from harness.numbers.stats import exact

WIDE, CHANCE = "the interval is wider than the effect", "than one of 1 parts may be by chance"


@pytest.mark.parametrize(
    ("found", "relation", "reason"),
    [
        ((1, 1, 1), ">", WIDE),
        ((-1, 0.5, 1), ">", CHANCE),
        ((-1, 1, 2), ">", WIDE),
        ((2, 0.5, 1), "=", CHANCE),
        ((2, 1, 2), "=", "against ±1"),
    ],
)
def test_where_an_interval_ends_nothing_is_clear(found, relation, reason):
    value, half, wide = found
    part = Part("", relation, value, half, 1 if relation == "=" else 0).judged(wide)
    assert part.verdict == "unclear" and part.sentence().endswith(reason)
    assert Part("", "=", 0.5, 0.5, 1).judged(0.5).verdict == "agrees"


def test_a_trend_over_means_weighs_each_mean_as_one_point():
    cells = {(name, "c"): exact(value) for name, value in {"a": 1, "b": 3, "d": 4, "e": 6}.items()}
    test = {"trend": "rising", "over": [{"mean": [["a", "c"], ["b", "c"]]}, ["d", "c"], ["e", "c"]]}
    claim = {"id": "it", "text": "It rises.", "where": "here", "tests": [test]}
    assert claims.judge_one(claim, cells, "smoke").reason == "by +2"
