"""Entropy, mutual information, AUROC and temperatures on cases with a closed form."""

import numpy as np
import pytest

from harness.metrics import temperature
from harness.metrics.uncertainty import auroc, entropy, mutual_information


def test_entropy_of_certain_and_of_even_predictions():
    assert entropy(np.array([1.0, 0.0, 0.0])) == 0
    assert entropy(np.full(4, 0.25)) == pytest.approx(np.log(4))


def test_members_that_agree_have_no_mutual_information():
    p = np.random.default_rng(0).dirichlet(np.ones(5), size=7)
    assert np.allclose(mutual_information(np.stack([p, p, p])), 0, atol=1e-12)


def test_certain_members_that_contradict_each_other_have_all_of_it():
    """Each of three is certain of another class: the mean is even, and no member doubts."""
    found = mutual_information(np.eye(3)[:, None, :])
    assert found == pytest.approx(np.log(3))


def test_mutual_information_of_two_coins():
    p, q = 0.9, 0.3
    members = np.array([[[p, 1 - p]], [[q, 1 - q]]])
    mean = (p + q) / 2

    def h(x: float) -> float:
        return -x * np.log(x) - (1 - x) * np.log(1 - x)

    assert mutual_information(members) == pytest.approx(h(mean) - (h(p) + h(q)) / 2)


def test_auroc_is_the_share_of_pairs_in_order():
    rng = np.random.default_rng(1)
    low, high = rng.integers(0, 6, 40), rng.integers(2, 9, 30)
    pairs = np.mean([[(h > n) + 0.5 * (h == n) for n in low] for h in high])
    assert auroc(low, high) == pytest.approx(pairs)
    assert auroc(high, low) == pytest.approx(1 - pairs)


def test_auroc_of_parted_of_equal_and_of_no_samples():
    assert auroc([1, 2], [3, 4]) == 1 and auroc([3, 4], [1, 2]) == 0 and auroc([5, 5], [5]) == 0.5
    assert np.isnan(auroc([], [1.0])) and np.isnan(auroc([1.0], [float("nan")]))


@pytest.mark.parametrize("true", [0.4, 1.0, 2.5])
def test_the_temperature_of_drawn_labels_is_found_again(true):
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(20000, 4)) * 2
    p = temperature.scaled(logits, true)
    label = (p.cumsum(1) < rng.random((len(p), 1))).sum(1)
    assert temperature.fitted(logits, label) == pytest.approx(true, rel=0.05)


def test_a_fitted_temperature_has_the_least_loss():
    rng = np.random.default_rng(3)
    logits, label = rng.normal(size=(300, 3)), rng.integers(3, size=300)
    logits[np.arange(300), label] += 1.5
    best = temperature.fitted(logits, label)
    losses = [temperature.negative_log_likelihood(logits, label, best * f) for f in (0.9, 1.0, 1.1)]
    assert losses[1] <= min(losses[0], losses[2]) + 1e-9


def test_each_half_is_scaled_as_the_other_fits():
    rng = np.random.default_rng(4)
    logits, label = np.log(rng.dirichlet(np.ones(3), 200)), rng.integers(3, size=200)
    p, mean = temperature.cross_fitted(logits, label)
    of_odd = temperature.fitted(logits[1::2], label[1::2])
    assert np.allclose(p[::2], temperature.scaled(logits[::2], of_odd)) and np.allclose(p.sum(1), 1)
    assert mean == pytest.approx((of_odd + temperature.fitted(logits[::2], label[::2])) / 2)


def test_a_temperature_of_one_changes_no_probability():
    p = np.random.default_rng(5).dirichlet(np.ones(4), 10)
    assert np.allclose(temperature.scaled(np.log(p), 1.0), p)
