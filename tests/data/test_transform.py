"""Augmentation: against a plain loop, and reproducible from its generator."""

import numpy as np
import pytest

from harness.base.errors import HarnessError
from harness.data.transform import crop, crop_flip, cutout, cutout_mask, shrink


def images(n=7, height=8, width=8, channels=3):
    return np.random.default_rng(0).integers(1, 256, (n, height, width, channels), np.uint8)


@pytest.mark.parametrize(("height", "width", "channels", "pad"), [(8, 8, 3, 4), (5, 9, 1, 2), (6, 4, 2, 0)])
def test_crop_equals_the_plain_loop(height, width, channels, pad):
    x = images(20, height, width, channels)
    rng = np.random.default_rng(1)
    rows, columns = rng.integers(0, 2 * pad + 1, (2, 20))
    mirrored = rng.random(20) < 0.5
    got = crop(x, rows, columns, mirrored, pad=pad)
    padded = np.pad(x, [(0, 0), (pad, pad), (pad, pad), (0, 0)])
    for i in range(20):
        window = padded[i, rows[i] : rows[i] + height, columns[i] : columns[i] + width]
        np.testing.assert_array_equal(got[i], window[:, ::-1] if mirrored[i] else window)


def test_crop_flip_depends_on_its_generator_only_and_leaves_the_batch_alone():
    x = images()
    before = x.copy()
    one, same, other = (crop_flip(x, np.random.default_rng(seed)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    np.testing.assert_array_equal(x, before)


def test_crop_flip_draws_every_shift_and_mirrors_half():
    rng = np.random.default_rng(0)
    x = np.zeros((4000, 8, 8, 1), np.uint8)
    x[:, 3, 2] = 1
    out = crop_flip(x, rng, pad=2)
    _, rows, columns, _ = np.nonzero(out)
    assert set(rows) == {1, 2, 3, 4, 5}
    assert set(columns) == {0, 1, 2, 3, 4} | {7, 6, 5, 4, 3}
    assert abs(np.isin(columns, [0, 1, 2]).mean() - 0.3) < 0.03
    unflipped = crop_flip(x, rng, pad=2, flip=False)
    assert set(np.nonzero(unflipped)[2]) == {0, 1, 2, 3, 4}


def test_crop_refuses_normalised_images():
    with pytest.raises(TypeError, match="uint8"):
        crop_flip(np.zeros((2, 8, 8, 3), np.float32), np.random.default_rng(0))


def test_cutout_fills_its_mask_and_nothing_else():
    x = images(50, 16, 12)
    mask = cutout_mask(50, 16, 12, np.random.default_rng(5), size=6)
    got = cutout(x, np.random.default_rng(5), size=6, fill=np.array([1, 2, 3], np.uint8))
    np.testing.assert_array_equal(got[mask], np.broadcast_to([1, 2, 3], (mask.sum(), 3)))
    np.testing.assert_array_equal(got[~mask], x[~mask])


def test_a_cutout_square_is_clipped_at_the_border_and_its_centre_is_uniform():
    mask = cutout_mask(20000, 8, 8, np.random.default_rng(0), size=4)
    heights = mask.any(axis=2).sum(axis=1)
    assert heights.max() == 4 and heights.min() == 2
    # centre 0 keeps rows 0..1: 1 of 8; centre 1 keeps 0..2, centre 7 keeps 5..7: 2 of 8
    assert abs((heights == 2).mean() - 1 / 8) < 0.01
    assert abs((heights == 3).mean() - 2 / 8) < 0.01


def test_cutout_works_after_normalisation():
    x = np.ones((3, 8, 8, 3), np.float32)
    got = cutout(x, np.random.default_rng(0), size=4)
    assert got.dtype == np.float32 and (got == 0).any() and (got == 1).any()


def test_shrinking_averages_blocks_and_rounds():
    x = np.zeros((1, 4, 4, 1), np.uint8)
    x[0, :2, :2, 0] = [[1, 2], [2, 2]]
    x[0, 2:, 2:, 0] = 255
    assert shrink(x, 2)[0, :, :, 0].tolist() == [[2, 0], [0, 255]]
    assert shrink(x, 1) is x


def test_what_does_not_divide_is_not_shrunk():
    with pytest.raises(HarnessError, match="28x28 cannot be shrunk 3 times"):
        shrink(np.zeros((1, 28, 28, 1), np.uint8), 3)
