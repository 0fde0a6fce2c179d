"""Verdicts where a number lies exactly on a boundary, and steps that other numbers would not tell apart."""

import pytest

from harness.expect import Measured, judge_gap

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
