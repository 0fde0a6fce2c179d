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
from harness.numbers.claim_test import Ask, Spread
from harness.numbers.contrast import contrast
from harness.numbers.judge import as_reported
from harness.numbers.stats import Estimate, exact, of_runs, of_units, shares_of_equals

A = [0.71, 0.74, 0.69, 0.78, 0.73]
B = [0.65, 0.80, 0.61]


def pair(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores and truths of 100 architectures, of which the truths are the same for every seed."""
    truth = np.random.default_rng(99).normal(size=100)
    return truth + np.random.default_rng(seed).normal(size=100), truth


SHARED = [(spearman, [pair(seed) for seed in seeds]) for seeds in ((0, 1, 2), (3, 4, 5))]


def of_shared(which: int, runs: tuple[str, ...] = (), architectures: str = "") -> Estimate:
    return replace(of_units(*SHARED[which]), runs=runs, architectures=architectures)


def combined(weights: list[float], numbers: list[Estimate]) -> tuple[float, float]:
    found = contrast(weights, numbers)
    return found.value, found.half()


def test_numbers_of_the_same_architectures_are_differenced_resample_by_resample():
    a, b = of_shared(0, architectures="x"), of_shared(1, architectures="x")
    every = np.std(a.draws.mean(axis=0) - b.draws.mean(axis=0), ddof=1) ** 2
    inside = sum((e.draws - np.array(e.per_run)[:, None]).var(axis=0, ddof=1).mean() / 3 for e in (a, b))
    found = contrast([1, -1], [a, b])
    assert found.of_units == pytest.approx(max(0, every - inside))
    assert found.se_runs == pytest.approx(math.hypot(a.se_runs, b.se_runs))
    assert contrast([1, -1], [a, of_shared(1)]).of_units >= found.of_units


def test_numbers_of_the_same_runs_are_differenced_run_by_run():
    a, b = of_shared(0, ("r", "s", "t")), of_shared(1, ("r", "s", "t"))
    found = contrast([1, -1], [a, b])
    assert found.se_runs == pytest.approx(np.std(np.subtract(a.per_run, b.per_run), ddof=1) / math.sqrt(3))
    assert found.df_runs == 2


def seeded(values: list[float], first: int = 0) -> Estimate:
    return replace(of_runs(values), runs=tuple(f"s{first + i}" for i in range(len(values))))


def test_all_runs_count_where_methods_have_other_numbers_of_seeds():
    """Once five seeds met three on the three of both: six runs that said the opposite were dropped."""
    five, three = seeded([0.60, 0.72, 0.66, 0.90, 0.20]), seeded([0.63, 0.75, 0.69])
    found = contrast([1, -1], [three, five])
    assert 0.03 < found.value < 0.69 - 0.616  # between the paired difference and that of the means
    assert found.se > 0.01 and 2 < found.df < 5
    assert contrast([1, -1], [five, three]).value == pytest.approx(-found.value)
    other = contrast([1, -1], [three, seeded([0.60, 0.72, 0.66, 0.90, 0.90])])
    assert other.value < found.value  # the runs that only one of them has count
    apart = contrast([1, -1], [seeded([0.63, 0.75, 0.69], 7), five])
    assert apart.value == pytest.approx(0.69 - 0.616)
    assert apart.se == pytest.approx(math.hypot(three.se_runs, five.se_runs))
    assert contrast([1, -1, 0.5], [three, five, exact(2)]).value == pytest.approx(found.value + 1)


def test_seeds_of_all_are_a_paired_t_test_however_they_are_named():
    a, b = seeded([0.60, 0.72, 0.66]), seeded([0.63, 0.79, 0.69])
    turned = replace(b, per_run=b.per_run[::-1], runs=b.runs[::-1])  # the same runs in another order
    plain, mixed = contrast([1, -1], [a, b]), contrast([1, -1], [a, turned])
    assert (plain.value, plain.se, plain.df) == pytest.approx((mixed.value, mixed.se, mixed.df))
    assert plain.df == pytest.approx(2)


@pytest.mark.parametrize(("ours", "theirs", "shared"), [(5, 3, 0.0), (5, 3, 0.5), (5, 3, 0.8), (3, 2, 0.5)])
def test_equal_methods_of_unequal_seeds_are_rarely_told_apart(ours, theirs, shared):
    rng, hits = np.random.default_rng(26), 0
    for _ in range(1000):
        common = rng.normal(size=5) * math.sqrt(shared)
        a, b = (common[:n] + rng.normal(size=n) * math.sqrt(1 - shared) for n in (ours, theirs))
        found = contrast([1, -1], [seeded(a.tolist()), seeded(b.tolist())])
        hits += abs(found.value) > found.half()
    assert within(hits, 1000, 0, 0.05)


def test_equal_whole_numbers_are_no_certainty():
    """Once 18, 18, 18 layers were beyond doubt more than 17, 17, 17: one in ten by chance."""
    for n, sure in ((3, False), (4, True)):
        found = contrast([1, -1], [of_runs([18.0] * n), of_runs([17.0] * n)], resolution=1.0)
        assert (abs(found.value) > found.half()) == sure
    assert (
        contrast([1, -1], [of_runs([18.0] * 3), of_runs([17.0] * 3)]).se == 0
    )  # not rounded: the same again


def test_a_number_less_itself_is_nothing_and_has_no_interval():
    a = of_shared(0, ("r", "s", "t"), "x")
    assert combined([1, -1], [a, a]) == pytest.approx((0, 0))
    assert combined([1, -1, 5], [a, a, exact(2)]) == pytest.approx((10, 0))
    assert combined([2], [a])[1] == pytest.approx(2 * a.half_width)


def test_a_gap_of_gaps_pairs_what_belongs_together():
    """Two estimators on two super-networks: runs within each, architectures throughout."""
    first, second = ("r", "s", "t"), ("u", "v", "w")
    cells = [of_shared(i, runs, "x") for i, runs in ((0, first), (1, first), (1, second), (0, second))]
    found = contrast([1, -1, -1, 1], cells)
    over_runs = np.std(np.subtract(cells[0].per_run, cells[1].per_run), ddof=1) / math.sqrt(3)
    assert found.value == pytest.approx(2 * (cells[0].value - cells[1].value))
    assert found.se_runs == pytest.approx(
        math.hypot(over_runs, over_runs)
    ) and found.df_runs == pytest.approx(5)
    gap = (cells[0].draws - cells[1].draws).mean(axis=0)
    assert found.of_units <= np.std(2 * gap, ddof=1) ** 2


def test_the_papers_number_is_of_other_runs_and_architectures():
    ours = of_shared(0, ("r", "s", "t"), "x")
    theirs = as_reported(ours, 0.7, 0.1, "sample_sd", 3, 200)
    assert (theirs.runs, theirs.architectures, theirs.per_run, theirs.draws.size) == ((), "", (), 0)


def share(pairs: list[tuple[Estimate, Estimate]]) -> tuple[float, float, float]:
    test = Spread(tuple(pairs), True)
    return test.share(), *np.quantile(test.equals(), [0.025, 0.975])


def test_one_pairs_share_of_spread_is_the_f_test():
    a, b = of_runs(A), of_runs(B)
    found, low, high = share([(a, b)])
    f = (a.spread / b.spread) ** 2 * 4 / 2
    assert found == pytest.approx(f / (1 + f))
    for bound, level in ((low, 0.025), (high, 0.975)):
        known = scipy_stats.f.ppf(level, len(A) - 1, len(B) - 1) * 4 / 2
        assert bound == pytest.approx(known / (1 + known), abs=0.01)


def test_the_range_of_equals_is_the_same_every_time():
    pairs = [(of_runs(A), of_runs(B)), (of_runs(B), of_runs(A))]
    once = share(pairs)
    shares_of_equals.cache_clear()
    assert share(pairs) == once


def test_runs_that_do_not_scatter_at_all_tell_the_most():
    still, moving = of_runs([1.0, 1.0, 1.0]), of_runs([1.0, 2.0, 3.0])
    assert share([(still, moving)])[0] == 0
    assert share([(still, still)])[0] == 0.5


def spread(values: np.ndarray) -> str:
    holds, fails = Spread(tuple(tuple(map(of_runs, pair)) for pair in values), True).p("", Ask("spread <"))
    return "agrees" if holds <= 0.025 else "contradicts" if fails <= 0.025 else "unclear"


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
        words[verdict([1, -1], pair)] += 1
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
        found += verdict([1, -1], [a, b]) == "agrees"
        without += verdict([1, -1], [unpaired(a), unpaired(b)]) == "agrees"
    assert found / 200 > power and without / 200 < min(unpaired_power, found / 200)


@pytest.mark.parametrize(("pairs", "n"), [(1, 3), (1, 2), (5, 3), (15, 3), (8, 2)])
def test_equal_spreads_are_rarely_told_apart(pairs, n):
    """Two-sided 5 % of independent runs; where the runs are shared and numbers go together, fewer."""
    rng, words, shared = np.random.default_rng(23), Counter(), Counter()
    for _ in range(400):
        values = rng.normal(size=(pairs, 2, n))
        words[spread(values)] += 1
        values += 1.5 * rng.normal(size=(pairs, 1, n))
        shared[spread(values)] += 1
    assert within(400 - words["unclear"], 400, 0.02, 0.06)
    assert 400 - shared["unclear"] < 400 - words["unclear"] + 5


@pytest.mark.parametrize(("pairs", "ratio", "power"), [(1, 10, 0.6), (15, 2, 0.8), (15, 3, 0.98)])
def test_a_smaller_spread_is_found(pairs, ratio, power):
    """Three seeds each: a single pair takes an eightfold difference, fifteen pairs a twofold one."""
    rng, found = np.random.default_rng(24), 0
    for _ in range(200):
        values = rng.normal(size=(pairs, 2, 3)) * [[1], [ratio]]
        found += spread(values) == "agrees"
    assert found / 200 > power
