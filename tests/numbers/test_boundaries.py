"""Verdicts where a number lies exactly on a boundary, and steps that other numbers would not tell apart."""

import pytest
from support import verdict

from harness.numbers import claims
from harness.numbers.stats import Estimate, exact, quantile

HALF = quantile(float("inf"))  # of the interval of a number whose standard error is 1


@pytest.mark.parametrize(
    ("value", "relation", "asked", "word"),
    [
        (HALF + 1e-9, ">", 0, "agrees"),
        (HALF - 1e-9, ">", 0, "unclear"),
        (1e-9 - HALF, ">", 0, "unclear"),
        (-1e-9 - HALF, ">", 0, "contradicts"),
        (3 - HALF - 1e-9, "=", 3, "agrees"),
        (3 - HALF + 1e-9, "=", 3, "unclear"),
        (3 + HALF - 1e-9, "=", 3, "unclear"),
        (-3 - HALF - 1e-9, "=", 3, "contradicts"),
    ],
)
def test_where_an_interval_ends_nothing_is_clear(value, relation, asked, word):
    assert verdict([1], [Estimate(value, 1, None, "bootstrap", se_units=1.0)], relation, asked) == word


def test_a_trend_over_means_weighs_each_mean_as_one_point():
    cells = {(name, "c"): exact(value) for name, value in {"a": 1, "b": 3, "d": 4, "e": 6}.items()}
    test = {"trend": "rising", "over": [{"mean": [["a", "c"], ["b", "c"]]}, ["d", "c"], ["e", "c"]]}
    claim = {"id": "it", "text": "It rises.", "where": "here", "tests": [test]}
    assert claims.judge_one(claim, cells, "smoke").reason == "by +2"
