"""Claims over shared runs and architectures: their arithmetic, their false alarms, and what they find.

The rates are of fixed seeds, as in test_false_alarms.py.
"""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as scipy_stats
from support import verdict, within

from harness.metrics import ranking, resampled
from harness.metrics.ranking import spearman
from harness.numbers.claims import of_difference, of_spread
from harness.numbers.stats import (
    Estimate,
    _shares_of_equals,
    as_reported,
    combined,
    difference,
    exact,
    of_runs,
    of_units,
    share_of_spread,
)

A = [0.71, 0.74, 0.69, 0.78, 0.73]
B = [0.65, 0.80, 0.61]


def pair(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores and truths of 100 architectures, of which the truths are the same for every seed."""
    truth = np.random.default_rng(99).normal(size=100)
    return truth + np.random.default_rng(seed).normal(size=100), truth


SHARED = [(spearman, [pair(seed) for seed in seeds]) for seeds in ((0, 1, 2), (3, 4, 5))]


def of_shared(which: int, runs: tuple[str, ...] = (), architectures: str = "") -> Estimate:
    return replace(of_units(*SHARED[which]), runs=runs, architectures=architectures)


def test_numbers_of_the_same_architectures_are_differenced_resample_by_resample():
    a, b = of_shared(0, architectures="x"), of_shared(1, architectures="x")
    se_units = np.std(np.subtract(a.per_draw, b.per_draw), ddof=1)
    parts = [(a.se_runs, 2), (b.se_runs, 2), (se_units, math.inf)]
    se = math.sqrt(sum(se**2 for se, _ in parts))
    df = se**4 / sum(se**4 / df for se, df in parts)
    assert difference(a, b)[1] == pytest.approx(scipy_stats.t.ppf(0.975, df) * se)
    assert difference(a, of_shared(1))[1] == difference(of_shared(0), of_shared(1))[1]


def test_numbers_of_the_same_runs_are_differenced_run_by_run():
    a, b = of_shared(0, ("r", "s", "t")), of_shared(1, ("r", "s", "t"))
    se_runs = np.std(np.subtract(a.per_run, b.per_run), ddof=1) / math.sqrt(3)
    df = (se_runs**2 + a.se_units**2 + b.se_units**2) ** 2 / (se_runs**4 / 2)
    se = math.hypot(se_runs, a.se_units, b.se_units)
    assert difference(a, b)[1] == pytest.approx(scipy_stats.t.ppf(0.975, df) * se)


def test_methods_with_other_numbers_of_seeds_are_compared_on_the_seeds_of_both():
    """Once five seeds met three as two samples, and the pairing of the three was lost."""
    five = replace(of_runs([0.60, 0.72, 0.66, 0.90, 0.20]), runs=("s0", "s1", "s2", "s3", "s4"))
    three = replace(of_runs([0.63, 0.75, 0.69]), runs=("s0", "s1", "s2"))
    assert combined([1, -1], [three, five]) == (pytest.approx(0.03), pytest.approx(0, abs=1e-12))
    assert combined([1, -1], [five, three])[0] == pytest.approx(-0.03)
    two = replace(of_runs([0.63, 0.75]), runs=("s0", "s1"))  # too few for an interval: two samples
    assert combined([1, -1], [two, five])[0] == pytest.approx(0.69 - 0.616)
    others = replace(three, runs=("u", "v", "w"))
    assert combined([1, -1], [others, five])[0] == pytest.approx(0.69 - 0.616)
    assert combined([1, -1, 0.5], [three, five, exact(2)])[0] == pytest.approx(1.03)


def test_many_true_parts_rarely_refute_a_claim_and_a_false_one_does():
    """Twenty parts that are just true: one in forty tells each wrong alone, one in forty all of them."""
    rng, refuted, alone_refuted, found = np.random.default_rng(25), 0, 0, 0
    for _ in range(300):
        parts = [of_runs(values) for values in rng.normal(size=(20, 6))]
        found += _refuted([replace(parts[0], value=parts[0].value - 4), *parts[1:]], 20)
        refuted += _refuted(parts, 20)
        alone_refuted += _refuted(parts, 1)
    assert within(refuted, 300, 0.005, 0.04)
    assert alone_refuted > 90 and found > 270


def _refuted(parts: list[Estimate], together: int) -> bool:
    return any(of_difference("", [(1, e)], ">", together).verdict == "contradicts" for e in parts)


def test_a_number_less_itself_is_nothing_and_has_no_interval():
    a = of_shared(0, ("r", "s", "t"), "x")
    assert combined([1, -1], [a, a]) == (0, 0)
    assert combined([1, -1, 5], [a, a, exact(2)]) == (10, 0)
    assert combined([2], [a])[1] == pytest.approx(2 * a.half_width)


def test_a_gap_of_gaps_pairs_what_belongs_together():
    """Two estimators on two super-networks: runs within each, architectures throughout."""
    first, second = ("r", "s", "t"), ("u", "v", "w")
    cells = [
        of_shared(0, first, "x"),
        of_shared(1, first, "x"),
        of_shared(1, second, "x"),
        of_shared(0, second, "x"),
    ]
    gap, half = combined([1, -1, -1, 1], cells)
    over_runs = np.std(np.subtract(cells[0].per_run, cells[1].per_run), ddof=1) / math.sqrt(3)
    se_units = np.std(2 * np.subtract(cells[0].per_draw, cells[1].per_draw), ddof=1)
    se = math.hypot(over_runs, over_runs, se_units)
    df = se**4 / (2 * over_runs**4 / 2)
    assert (gap, half) == (
        pytest.approx(2 * (cells[0].value - cells[1].value)),
        pytest.approx(scipy_stats.t.ppf(0.975, df) * se),
    )


def test_the_papers_number_is_of_other_runs_and_architectures():
    ours = of_shared(0, ("r", "s", "t"), "x")
    theirs = as_reported(ours, 0.7, 0.1, "sample_sd", 3, 200)
    assert (theirs.runs, theirs.architectures) == ((), "")


def test_one_pairs_share_of_spread_is_the_f_test():
    a, b = of_runs(A), of_runs(B)
    share, low, high = share_of_spread([(a, b)])
    f = (a.spread / b.spread) ** 2 * 4 / 2
    assert share == pytest.approx(f / (1 + f))
    for bound, level in ((low, 0.025), (high, 0.975)):
        known = scipy_stats.f.ppf(level, len(A) - 1, len(B) - 1) * 4 / 2
        assert bound == pytest.approx(known / (1 + known), abs=0.01)


def test_the_range_of_equals_is_the_same_every_time():
    pairs = [(of_runs(A), of_runs(B)), (of_runs(B), of_runs(A))]
    once = share_of_spread(pairs)
    _shares_of_equals.cache_clear()
    assert share_of_spread(pairs) == once


def test_runs_that_do_not_scatter_at_all_tell_the_most():
    still, moving = of_runs([1.0, 1.0, 1.0]), of_runs([1.0, 2.0, 3.0])
    assert share_of_spread([(still, moving)])[0] == 0
    assert share_of_spread([(still, still)])[0] == 0.5


STATISTICS = {
    "spearman": (ranking.spearman, resampled.spearman),
    "top 10": (lambda p, t: ranking.top_k(p, t, 10), lambda counts, p, t: resampled.top_k(counts, p, t, 10)),
}


def estimators(
    rng, runs: int, noise: tuple[float, float], same_runs: bool, kind: str, what: str
) -> list[Estimate]:
    """Two estimators on the same 100 architectures, of the same super-networks or each of its own.

    Their errors are alike by half and alike again in every run, whose quality varies by a fifth.
    """
    truth = rng.normal(size=100)
    if kind == "failures":
        truth = np.where(rng.random(100) < 0.1, -5 + 0.01 * truth, truth)
    common, *own = rng.normal(size=(3, 100))
    quality = np.abs(1 + 0.2 * rng.normal(size=(2, runs)))
    found = []
    for i in range(2):
        error = 0.5 * common + math.sqrt(0.75) * own[i]
        scores = [
            truth + noise[i] * (quality[0 if same_runs else i, r] * error + 0.4 * rng.normal(size=100))
            for r in range(runs)
        ]
        plain, many = STATISTICS[what]
        estimate = of_units(plain, [(score, truth) for score in scores], draws=100, many=many)
        of = tuple(f"{0 if same_runs else i} s{r}" for r in range(runs))
        found.append(replace(estimate, runs=of, architectures="the hundred"))
    return found


def unpaired(estimate: Estimate) -> Estimate:
    return replace(estimate, runs=(), architectures="")


@pytest.mark.parametrize("same_runs", [True, False], ids=["same runs", "other runs"])
@pytest.mark.parametrize(
    ("runs", "kind", "what"),
    [
        (2, "normal", "spearman"),
        (3, "normal", "spearman"),
        (3, "failures", "spearman"),
        (3, "normal", "top 10"),
        (5, "failures", "top 10"),
    ],
)
def test_equally_good_estimators_are_rarely_told_apart(runs, kind, what, same_runs):
    rng, words = np.random.default_rng(21), Counter()
    for _ in range(300):
        pair = estimators(rng, runs, (0.8, 0.8), same_runs, kind, what)
        words[verdict(*difference(*pair))] += 1
    for word in ("agrees", "contradicts"):
        assert within(words[word], 300, 0, 0.03)


@pytest.mark.parametrize(
    ("runs", "same_runs", "kind", "power", "unpaired_power"),
    [
        (3, True, "normal", 0.75, 0.5),
        (3, True, "failures", 0.65, 0.45),
        (2, True, "normal", 0.6, 0.45),
        (3, False, "normal", 0.4, 0.45),
    ],
)
def test_the_better_estimator_is_found_far_more_often(runs, same_runs, kind, power, unpaired_power):
    """Errors of .5 against .8 of the truth's spread: Spearman's correlations of about .87 and .75."""
    rng, found, without = np.random.default_rng(22), 0, 0
    for _ in range(200):
        a, b = estimators(rng, runs, (0.5, 0.8), same_runs, kind, "spearman")
        found += verdict(*difference(a, b)) == "agrees"
        without += verdict(*difference(unpaired(a), unpaired(b))) == "agrees"
    assert found / 200 > power and without / 200 < min(unpaired_power, found / 200)


@pytest.mark.parametrize(("pairs", "n"), [(1, 3), (1, 2), (5, 3), (15, 3), (8, 2)])
def test_equal_spreads_are_rarely_told_apart(pairs, n):
    """Two-sided 5 % of independent runs; where the runs are shared and numbers go together, fewer."""
    rng, words, shared = np.random.default_rng(23), Counter(), Counter()
    for _ in range(400):
        values = rng.normal(size=(pairs, 2, n))
        words[of_spread("", [tuple(map(of_runs, pair)) for pair in values], "<").verdict] += 1
        values += 1.5 * rng.normal(size=(pairs, 1, n))
        shared[of_spread("", [tuple(map(of_runs, pair)) for pair in values], "<").verdict] += 1
    assert within(400 - words["unclear"], 400, 0.02, 0.06)
    assert 400 - shared["unclear"] < 400 - words["unclear"] + 5


@pytest.mark.parametrize(("pairs", "ratio", "power"), [(1, 10, 0.6), (15, 2, 0.8), (15, 3, 0.98)])
def test_a_smaller_spread_is_found(pairs, ratio, power):
    """Three seeds each: a single pair takes an eightfold difference, fifteen pairs a twofold one."""
    rng, found = np.random.default_rng(24), 0
    for _ in range(200):
        values = rng.normal(size=(pairs, 2, 3)) * [[1], [ratio]]
        found += of_spread("", [tuple(map(of_runs, pair)) for pair in values], "<").verdict == "agrees"
    assert found / 200 > power
