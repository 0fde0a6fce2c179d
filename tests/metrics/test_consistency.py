"""Statistics between pairs of runs, and the jackknife over the runs that the pairs share."""

import numpy as np
import pytest

from harness.metrics.consistency import between_pairs, pseudo_values
from harness.metrics.ranking import kendall, pearson

RNG = np.random.default_rng(0)
COMMON = RNG.normal(size=80)
RUNS = [COMMON + RNG.normal(size=80) for _ in range(4)]


def test_every_two_runs_once_in_order():
    found = between_pairs(pearson, RUNS[:3])
    assert found == [pearson(RUNS[a], RUNS[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert between_pairs(kendall, [COMMON, COMMON]) == pytest.approx([1])
    assert between_pairs(kendall, [COMMON, -COMMON]) == pytest.approx([-1])
    with pytest.raises(ValueError, match="no pair"):
        between_pairs(kendall, [COMMON])


def test_pseudo_values_are_of_runs_and_average_to_the_mean_over_pairs():
    pairs = between_pairs(pearson, RUNS)
    found = pseudo_values(pairs, 4)
    assert found.mean() == pytest.approx(np.mean(pairs))
    without_last = np.mean(between_pairs(pearson, RUNS[:3]))
    assert found[3] == pytest.approx(4 * np.mean(pairs) - 3 * without_last)


def test_an_odd_run_out_lowers_its_own_pseudo_value():
    found = pseudo_values(between_pairs(pearson, [*RUNS[:3], RNG.normal(size=80)]), 4)
    assert found.argmin() == 3


@pytest.mark.parametrize(("pairs", "runs"), [([0.5], 2), ([0.5, 0.5], 3), ([], 0)])
def test_two_runs_have_no_jackknife(pairs, runs):
    with pytest.raises(ValueError):
        pseudo_values(pairs, runs)


def test_its_standard_error_is_that_of_repeated_experiments():
    """Runs of unequal quality: the pairs' own scatter over √pairs would be far too small."""
    rng = np.random.default_rng(1)
    values, errors, naive = [], [], []
    for _ in range(300):
        quality = rng.uniform(0.3, 2.0, size=5)
        runs = [COMMON + q * rng.normal(size=80) for q in quality]
        pairs = between_pairs(pearson, runs)
        values.append(np.mean(pairs))
        errors.append(pseudo_values(pairs, 5).std(ddof=1) / np.sqrt(5))
        naive.append(np.std(pairs, ddof=1) / np.sqrt(10))
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.25)
    assert np.mean(naive) < 0.75 * np.std(values)
