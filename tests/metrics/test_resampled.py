"""Statistics of many resamples at once, against the plain ones on what each resample drew."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.metrics import ranking, resampled

UNITS, DRAWS = 30, 40


def made(seed: int, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    prediction, truth, given_ = rng.normal(size=(3, UNITS))
    if kind == "ties":
        prediction, truth, given_ = np.round(prediction), np.round(2 * truth), np.round(given_)
    if kind == "diverged":  # the worst score that there is, of several architectures
        prediction[rng.random(UNITS) < 0.3] = -np.inf
    return prediction, truth, given_


def picks(seed: int = 0) -> np.ndarray:
    """One resample after the other, as the plain bootstrap draws them."""
    rng = np.random.default_rng(seed)
    return np.array([rng.integers(UNITS, size=UNITS) for _ in range(DRAWS)])


def test_resamples_are_those_of_the_plain_bootstrap():
    counts = resampled.drawn(UNITS, DRAWS, 3)
    assert [np.bincount(pick, minlength=UNITS).tolist() for pick in picks(3)] == counts.T.tolist()
    with pytest.raises(ValueError, match="read-only"):
        counts[0, 0] = 1  # every cell shares them


@pytest.mark.parametrize("kind", ["plain", "ties", "diverged"])
@pytest.mark.parametrize(
    "name", ["spearman", "kendall", "pearson", "partial_spearman", "top_k", "improvement"]
)
def test_the_same_as_one_by_one(name, kind):
    for seed in range(5):
        prediction, truth, held = made(seed, kind)
        columns = (prediction, truth, held) if name == "partial_spearman" else (prediction, truth)
        more = (7,) if name in ("top_k", "improvement") else ()
        found = getattr(resampled, name)(resampled.drawn(UNITS, DRAWS, 0), *columns, *more)
        plain = getattr(ranking, name)
        with np.errstate(invalid="ignore"):  # Pearson's of what is infinite
            known = [plain(*(column[pick] for column in columns), *more) for pick in picks()]
        np.testing.assert_allclose(found, known, rtol=1e-12, atol=1e-13)


def test_a_constant_side_has_no_correlation():
    counts, varied = resampled.drawn(UNITS, DRAWS, 0), np.arange(UNITS)
    for correlation in (resampled.spearman, resampled.kendall, resampled.pearson):
        assert np.isnan(correlation(counts, np.ones(UNITS), varied)).all()
    assert np.isnan(resampled.partial_spearman(counts, varied, -varied, np.ones(UNITS))).all()


@given(st.integers(1, UNITS), st.lists(st.integers(0, 3), min_size=UNITS, max_size=UNITS))
def test_top_k_shares_ties_out_evenly(k, scores):
    prediction, truth = np.array(scores), np.linspace(0, 1, UNITS)
    found = resampled.top_k(resampled.drawn(UNITS, DRAWS, 0), prediction, truth, k)
    known = [ranking.top_k(prediction[pick], truth[pick], k) for pick in picks()]
    np.testing.assert_allclose(found, known, rtol=1e-12)


def test_improvement_of_a_constant_truth_is_none_and_without_pruning_zero():
    counts, varied = resampled.drawn(UNITS, DRAWS, 0), np.arange(UNITS)
    assert np.isnan(resampled.improvement(counts, varied, np.ones(UNITS), 5)).all()
    assert (resampled.improvement(counts, varied, varied, UNITS) == 0).all()
    plain = resampled.improvement(counts, varied, varied, 5, normalised=False)
    np.testing.assert_allclose(plain, resampled.top_k(counts, varied, varied, 5))


def test_kendall_of_very_many_is_the_same(monkeypatch):
    prediction, truth, _ = made(1, "ties")
    counts = resampled.drawn(UNITS, DRAWS, 0)
    found = resampled.kendall(counts, prediction, truth)
    monkeypatch.setattr(resampled, "PAIRS", UNITS - 1)
    np.testing.assert_allclose(resampled.kendall(counts, prediction, truth), found, rtol=1e-12, atol=1e-13)


def test_pearson_of_values_that_lie_close_together_keeps_its_digits():
    """Sums of squares of accuracies as they are would lose what tells them apart."""
    rng = np.random.default_rng(0)
    prediction, truth = 1e6 + rng.normal(size=(2, 40))
    counts = resampled.drawn(40, 5, 0)
    picks = [np.repeat(np.arange(40), times) for times in counts.T.astype(int)]
    one_by_one = [ranking.pearson(prediction[pick], truth[pick]) for pick in picks]
    assert resampled.pearson(counts, prediction, truth) == pytest.approx(one_by_one, abs=1e-9)
