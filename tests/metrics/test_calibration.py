"""Calibration: each definition against numbers worked out by hand, and what must hold for any prediction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.metrics import calibration as c

# Four images, two classes. Predicted class and its probability: 0 at .9, 0 at .6, 1 at .8, 0 at .9.
PROBABILITY = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.9, 0.1]])
LABEL = np.array([0, 1, 1, 1])  # right, wrong, right, wrong


def sharp(n: int = 1000, classes: int = 10, right: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """A classifier that is all but certain, and right in a share of the cases."""
    label = np.arange(n) % classes
    chosen = np.where(np.arange(n) < right * n, label, (label + 1) % classes)
    probability = np.full((n, classes), 1e-4)
    probability[np.arange(n), chosen] = 1 - 1e-4 * (classes - 1)
    return probability, label


def test_reliability_by_hand() -> None:
    diagram = c.reliability(np.array([0.05, 0.3, 0.35, 0.5, 1.0]), np.array([0, 1, 0, 1, 1]), 4)
    assert diagram.upper.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert diagram.share.tolist() == [0.2, 0.6, 0.0, 0.2]  # 0.5 lies in the bin that ends there
    assert diagram.confidence[[0, 1, 3]] == pytest.approx([0.05, 1.15 / 3, 1.0])
    assert diagram.accuracy[[0, 1, 3]] == pytest.approx([0.0, 2 / 3, 1.0])
    assert np.isnan(diagram.confidence[2]) and np.isnan(diagram.accuracy[2])


def test_confidence_one_is_in_the_last_bin_and_zero_in_none() -> None:
    diagram = c.reliability(np.array([0.0, 1.0, 1.0 + 1e-9, 0.0]), np.array([0, 1, 1, 0]), 15)
    assert len(diagram.share) == 15 and diagram.share[-1] == 0.5 and diagram.share.sum() == 0.5
    assert diagram.accuracy[-1] == 1.0 and diagram.confidence[-1] == pytest.approx(1.0)


def test_events() -> None:
    confidence, right = c.predicted_class_events(PROBABILITY, LABEL)
    assert confidence.tolist() == [0.9, 0.6, 0.8, 0.9] and right.tolist() == [True, False, True, False]
    confidence, happened = c.every_class_events(PROBABILITY, LABEL)
    assert confidence.tolist() == PROBABILITY.ravel().tolist()
    assert happened.tolist() == [True, False, False, True, False, True, False, True]
    _, happened = c.every_class_if_predicted_events(PROBABILITY, LABEL)
    assert happened.tolist() == [True, False, False, False, False, True, False, False]


def test_ece_guo_by_hand() -> None:
    # Bins of 1/15: .6 alone (wrong: .6), .8 alone (right: .2), .9 twice (half right: .4).
    assert c.ece_guo(PROBABILITY, LABEL) == pytest.approx((0.6 + 0.2 + 2 * 0.4) / 4)
    # One bin: mean confidence .8 against .5.
    assert c.ece_guo(PROBABILITY, LABEL, bins=1) == pytest.approx(0.3)


def test_ece_upper_edge_by_hand() -> None:
    # Ten bins: .1 twice (accuracy 0), .2, .4, .6 (0), .8 (1), .9 twice (1/2). The edge is the confidence.
    expected = (2 * 0.1 + 0.2 + 0.4 + 0.6 + 0.2 + 2 * 0.4) / 8
    assert c.ece_upper_edge(PROBABILITY, LABEL) == pytest.approx(expected)
    assert np.isnan(c.ece_upper_edge(PROBABILITY, LABEL, empty_is_nan=True))  # .3, .5, .7, 1
    # A bin whose mean is well below its edge: .61 counts as .7.
    assert c.ece_upper_edge(np.array([[0.61, 0.39]]), np.array([0])) == pytest.approx((0.3 + 0.4) / 2)


def test_ece_every_class_by_hand() -> None:
    # The same bins with the true class as event: .1 twice (one of two), .4 happened, .6 did not.
    expected = (2 * 0.4 + 0.2 + 0.6 + 0.6 + 0.2 + 2 * 0.4) / 8
    assert c.ece_every_class(PROBABILITY, LABEL) == pytest.approx(expected)


def test_a_sharp_perfect_classifier_scores_nine_percent_by_the_papers_rule() -> None:
    assert c.ece_upper_edge(*sharp()) == pytest.approx(0.09, abs=1e-3)
    assert c.ece_guo(*sharp()) < 2e-3 and c.ece_every_class(*sharp()) < 2e-3


def test_overconfidence_keeps_its_sign_and_its_bins() -> None:
    diagram = c.reliability(*c.predicted_class_events(*sharp(right=0.7)), 15)
    assert c.overconfidence(diagram, edges=False) == pytest.approx(0.3, abs=2e-3)
    assert c.least_overconfidence(diagram, edges=False) == pytest.approx(0.3, abs=2e-3)
    modest = c.reliability(np.array([0.55, 0.55, 0.3, 0.95]), np.array([1, 1, 1, 1]), 10)
    assert c.overconfidence(modest, edges=False, above=0.5) == pytest.approx(-(0.45 * 2 + 0.05) / 3)
    assert c.overconfidence(modest, edges=True, above=0.5) == pytest.approx(-(0.4 * 2 + 0.0) / 3)
    assert c.least_overconfidence(modest, edges=False) == pytest.approx(-0.7)
    below = c.reliability(np.array([0.5, 0.45, 0.9]), np.array([1, 1, 1]), 10)  # ends at 0.5: not above it
    assert c.overconfidence(below, edges=False, above=0.5) == pytest.approx(-0.1)
    assert np.isnan(
        c.overconfidence(c.reliability(np.array([0.2]), np.array([1]), 10), edges=False, above=0.5)
    )


@pytest.mark.parametrize("bad", [[], [-0.1, 0.5], [0.5, 1.1]])
def test_what_is_no_probability_is_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="probabilities"):
        c.reliability(np.array(bad), np.zeros(len(bad)), 10)


@st.composite
def predictions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    n, classes = draw(st.integers(1, 40)), draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    logits = rng.normal(size=(n, classes)) * draw(st.sampled_from([0.1, 1.0, 5.0, 400.0]))
    probability = np.exp(logits - logits.max(1, keepdims=True))
    return probability / probability.sum(1, keepdims=True), rng.integers(classes, size=n)


@given(predictions(), st.integers(1, 20))
def test_for_any_prediction(prediction: tuple[np.ndarray, np.ndarray], bins: int) -> None:
    probability, label = prediction
    for events in (c.predicted_class_events, c.every_class_events, c.every_class_if_predicted_events):
        confidence, happened = events(probability, label)
        diagram = c.reliability(confidence, happened, bins)
        full = diagram.share > 0
        assert diagram.share.sum() == pytest.approx((confidence > 0).mean())
        assert (diagram.confidence[full] <= diagram.upper[full] + 1e-9).all()
        assert (diagram.confidence[full] > diagram.upper[full] - 1 / bins - 1e-9).all()
        assert 0 <= c.gap(diagram, edges=False) <= 1
        # Means of bins recover the means of everything.
        assert (diagram.share[full] @ diagram.accuracy[full]) == pytest.approx(
            happened[confidence > 0].sum() / len(happened)
        )
        assert c.overconfidence(diagram, edges=True) >= c.overconfidence(diagram, edges=False) - 1e-9
    # Coarser bins average signed gaps, so that one bin can only be lower (Jensen).
    assert c.ece_guo(probability, label, 1) <= c.ece_guo(probability, label, bins) + 1e-9


@given(predictions(), st.randoms(use_true_random=False))
def test_order_of_images_does_not_matter(prediction: tuple[np.ndarray, np.ndarray], random) -> None:
    probability, label = prediction
    order = random.sample(range(len(label)), len(label))
    for ece in (c.ece_guo, c.ece_upper_edge, c.ece_every_class):
        assert ece(probability[order], label[order]) == pytest.approx(ece(probability, label))
