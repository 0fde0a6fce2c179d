"""Rank metrics against scipy, brute force over tie orders, and closed forms."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from harness.metrics.ranking import (
    correlation_after_pruning,
    improvement,
    kendall,
    partial_spearman,
    pearson,
    spearman,
    top_k,
)

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(-20, 20)), min_size=3, max_size=40)


def arrays(pairs) -> tuple[np.ndarray, np.ndarray]:
    prediction, truth = np.array(pairs, float).T
    assume(len(set(prediction)) > 1 and len(set(truth)) > 1)
    return prediction, truth


@given(PAIRS)
def test_correlations_with_ties_are_scipys(pairs):
    prediction, truth = arrays(pairs)
    assert spearman(prediction, truth) == pytest.approx(scipy_stats.spearmanr(prediction, truth).statistic)
    assert kendall(prediction, truth) == pytest.approx(tau_b(prediction, truth))
    assert (
        kendall(prediction, truth) == scipy_stats.kendalltau(prediction, truth).statistic
    )  # to the last bit
    assert pearson(prediction, truth) == pytest.approx(np.corrcoef(prediction, truth)[0, 1])


@pytest.mark.parametrize("size", [2, 200, 3000])
@pytest.mark.parametrize("odd", [0.5, -np.inf, np.nan])
def test_of_many_or_few_architectures_with_the_same_odd_score_they_are_scipys_to_the_last_bit(size, odd):
    rng = np.random.default_rng(size)
    prediction, truth = rng.normal(size=size), np.round(rng.normal(size=size), 1)
    prediction[rng.random(size) < 0.3] = odd
    ranks = [scipy_stats.rankdata(values) for values in (prediction, truth)]
    for ours, theirs in (
        (kendall(prediction, truth), scipy_stats.kendalltau(prediction, truth).statistic),
        (spearman(prediction, truth), pearson(*ranks)),
    ):
        np.testing.assert_array_equal(ours, theirs)


def tau_b(a: np.ndarray, b: np.ndarray) -> float:
    """By its definition: concordant minus discordant, over pairs that are no ties in one or the other."""
    i, j = np.triu_indices(len(a), 1)
    x, y = np.sign(a[i] - a[j]), np.sign(b[i] - b[j])
    return float((x * y).sum() / math.sqrt((x != 0).sum() * (y != 0).sum()))


@given(PAIRS, st.sampled_from([np.exp, np.cbrt, lambda x: 3 * x - 7, lambda x: x**3]))
def test_rank_correlations_do_not_see_monotone_transforms(pairs, transform):
    prediction, truth = arrays(pairs)
    for correlation in (spearman, kendall):
        plain = correlation(prediction, truth)
        assert correlation(transform(prediction), truth) == pytest.approx(plain, abs=1e-12)
        assert correlation(-prediction, truth) == pytest.approx(-plain, abs=1e-12)
        assert correlation(truth, prediction) == pytest.approx(plain, abs=1e-12)


def test_a_constant_side_has_no_correlation():
    for correlation in (spearman, kendall, pearson):
        assert math.isnan(correlation(np.ones(5), np.arange(5)))


def test_spearman_without_ties_is_the_textbook_formula():
    rng = np.random.default_rng(0)
    a, b = rng.permutation(30), rng.permutation(30)
    assert spearman(a, b) == pytest.approx(1 - 6 * ((a - b) ** 2).sum() / (30 * (30**2 - 1)))


def test_partial_spearman_is_the_correlation_of_what_regression_leaves():
    rng = np.random.default_rng(1)
    given_, noise = rng.normal(size=300), rng.normal(size=(2, 300))
    a, b = given_ + noise[0], given_ + 0.3 * noise[0] + noise[1]
    ranks = [scipy_stats.rankdata(v) for v in (a, b, given_)]
    design = np.column_stack([np.ones(300), ranks[2]])
    left = [r - design @ np.linalg.lstsq(design, r, rcond=None)[0] for r in ranks[:2]]
    assert partial_spearman(a, b, given_) == pytest.approx(np.corrcoef(*left)[0, 1])
    assert partial_spearman(a, b, given_) < spearman(a, b)
    assert math.isnan(partial_spearman(a, b, a))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-9, 9)), min_size=1, max_size=6), st.data())
def test_top_k_is_the_mean_over_all_orders_of_ties(pairs, data):
    prediction, truth = np.array(pairs, float).T
    k = data.draw(st.integers(1, len(truth)))
    means = []
    for order in permutations(range(len(truth))):
        if all(prediction[a] >= prediction[b] for a, b in zip(order, order[1:], strict=False)):
            means.append(truth[list(order[:k])].mean())
    assert top_k(prediction, truth, k) == pytest.approx(np.mean(means))


@pytest.mark.parametrize("k", [0, 6, -1])
def test_top_k_refuses_a_k_that_is_not_there(k):
    with pytest.raises(ValueError, match=f"k={k} of 5"):
        top_k(np.arange(5), np.arange(5), k)


@given(PAIRS)
def test_a_perfect_predictor_improves_by_one_and_its_opposite_harms(pairs):
    _, truth = arrays(pairs)
    assert improvement(truth, truth, 1) == pytest.approx(1)
    assert improvement(-truth, truth, 1) < 0


@given(PAIRS)
def test_improvement_is_zero_when_nothing_is_pruned_and_never_above_one(pairs):
    prediction, truth = arrays(pairs)
    assert improvement(prediction, truth, len(truth)) == 0
    assert all(improvement(prediction, truth, k) <= 1 + 1e-9 for k in range(1, len(truth)))


@given(PAIRS, st.floats(0.01, 100), st.floats(-50, 50))
def test_improvement_does_not_see_the_unit_of_accuracy(pairs, factor, shift):
    prediction, truth = arrays(pairs)
    k = len(truth) // 2 + 1
    moved = improvement(prediction, factor * truth + shift, k)
    assert moved == pytest.approx(improvement(prediction, truth, k), abs=1e-6)


def test_a_random_predictor_improves_by_nothing():
    rng = np.random.default_rng(2)
    truth = rng.normal(size=50)
    values = [improvement(rng.permutation(50), truth, 10) for _ in range(2000)]
    assert abs(np.mean(values)) < 4 * np.std(values) / math.sqrt(2000)


def test_a_constant_predictor_improves_by_exactly_nothing():
    assert improvement(np.zeros(5), np.array([1.0, 2, 3, 4, 9]), 2) == pytest.approx(0)


def test_improvement_without_normalisation_is_the_mean_of_the_best():
    prediction, truth = np.array([3, 1, 2, 0]), np.array([90.0, 80, 94, 70])
    assert improvement(prediction, truth, 2, normalised=False) == 92
    assert improvement(prediction, truth, 2) == pytest.approx((92 - 83.5) / (94 - 83.5))
    assert math.isnan(improvement(prediction, np.full(4, 90.0), 2))


def test_pruning_by_truth_keeps_the_truly_best():
    truth = np.array([1.0, 2, 3, 4, 5, 6])
    prediction = np.array([6.0, 5, 4, 1, 2, 3])  # wrong on the worst half, right on the best
    assert correlation_after_pruning(prediction, truth, 3) == pytest.approx(1)
    assert correlation_after_pruning(prediction, truth, 6) == pytest.approx(kendall(prediction, truth))
    assert correlation_after_pruning(prediction, truth, 6) < 0
    assert correlation_after_pruning(prediction, truth, 2) == pytest.approx(1)
    for keep in (1, 7):
        with pytest.raises(ValueError, match=f"keep={keep} of 6"):
            correlation_after_pruning(prediction, truth, keep)


def test_of_equally_good_ones_the_first_are_kept():
    rng = np.random.default_rng(3)
    truth, prediction = rng.permutation(np.repeat([1.0, 2.0], 500)), rng.normal(size=1000)
    kept = np.concatenate([np.flatnonzero(truth == 2), np.flatnonzero(truth == 1)[:100]])
    known = kendall(prediction[kept], truth[kept])
    assert correlation_after_pruning(prediction, truth, 600) == pytest.approx(known)
