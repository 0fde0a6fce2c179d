"""The spirals: shape, noise, rotation, split."""

import numpy as np
import pytest

from harness.data.spirals import Points, spirals, split


def drawn(points: int = 4000, seed: int = 0, **changed) -> Points:
    return spirals(points, np.random.default_rng(seed), **changed)


def polar(points: Points) -> tuple[np.ndarray, np.ndarray]:
    return np.hypot(*points.x.T), np.arctan2(*points.x.T[::-1])


def test_without_noise_the_radius_is_the_angle() -> None:
    points = drawn(noise=0.0)
    radius, angle = polar(points)
    for arm in (0, 1):
        mine = points.y == arm
        turned = (radius[mine] - angle[mine] + (0, -np.pi)[arm]) / (2 * np.pi)
        assert np.allclose(turned, np.round(turned), atol=1e-4)


def test_density_is_even_in_the_plane() -> None:
    """The angle is the root of a uniform number times the rotation: its square is uniform."""
    radius, _ = polar(drawn(20000, noise=0.0, rotation=360))
    assert np.quantile(radius, [0.25, 0.5, 1]) == pytest.approx(2 * np.pi * np.sqrt([0.25, 0.5, 1]), rel=0.02)


@pytest.mark.parametrize("rotation", [180, 720, 1440])
def test_rotation_is_the_largest_angle(rotation: float) -> None:
    radius, _ = polar(drawn(noise=0.0, rotation=rotation))
    assert radius.max() == pytest.approx(np.deg2rad(rotation), rel=0.01)
    assert radius.max() <= np.deg2rad(rotation) + 1e-5


def test_uniform_noise_is_one_sided_before_an_arm_is_turned() -> None:
    clean, noisy = drawn(noise=0.0), drawn(noise=0.2)
    assert np.array_equal(clean.y, noisy.y)
    shift = (noisy.x - clean.x) * np.where(noisy.y == 1, -1, 1)[:, None]
    assert shift.min() > -1e-4 and 0.19 < shift.max() < 0.2 + 1e-4
    assert shift.mean() == pytest.approx(0.1, abs=0.005)


def test_gaussian_noise_has_the_level_as_its_deviation() -> None:
    clean, noisy = drawn(noise=0.0, noise_kind="gauss"), drawn(noise=0.15, noise_kind="gauss")
    shift = noisy.x - clean.x
    assert shift.std() == pytest.approx(0.15, rel=0.05)
    assert abs(shift.mean()) < 0.01


def test_arms_are_equal_and_in_random_order() -> None:
    points = drawn(2000)
    assert points.y.sum() == 1000
    assert 30 < points.y[:100].sum() < 70 and 30 < points.y[-100:].sum() < 70
    assert points.x.dtype == np.float32 and points.y.dtype == np.int64
    assert sorted(np.bincount(drawn(7).y)) == [3, 4]


def test_the_same_stream_gives_the_same_points() -> None:
    assert np.array_equal(drawn(seed=3).x, drawn(seed=3).x)
    assert not np.array_equal(drawn(seed=3).x, drawn(seed=4).x)


def test_split_is_standardised_by_its_train_points_alone() -> None:
    train, test = split(drawn(2000), 200)
    assert train.x.shape == (200, 2) and test.x.shape == (1800, 2)
    assert train.x.mean(0) == pytest.approx([0, 0], abs=1e-5)
    assert train.x.std(0) == pytest.approx([1, 1], abs=1e-5)  # the population's deviation, as the authors
    assert np.abs(test.x.mean(0)).max() > 1e-3
    whole = drawn(2000)
    assert np.array_equal(np.concatenate([train.y, test.y]), whole.y)
    back = test.x * whole.x[:200].std(0) + whole.x[:200].mean(0)
    assert np.allclose(back, whole.x[200:], atol=1e-4)
