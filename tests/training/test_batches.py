"""Batches: normalised, in the memory format of channels last, the same for the same draw."""

import numpy as np
import pytest
import torch

from harness.data.transform import crop_flip
from harness.training.batches import Batches, Pixels
from harness.training.images import batches


@pytest.fixture
def data() -> Batches:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (20, 8, 8, 3), dtype=np.uint8)
    return Batches(x, np.arange(20), Pixels.of(x))


def test_all_images_together_have_mean_0_and_deviation_1(data: Batches) -> None:
    x, y = data.take(np.arange(20))
    assert torch.allclose(x.mean((0, 2, 3)), torch.zeros(3), atol=1e-5)
    assert torch.allclose(x.std((0, 2, 3), correction=0), torch.ones(3), atol=1e-5)
    assert x.is_contiguous(memory_format=torch.channels_last) and y.tolist() == list(range(20))


def test_a_crop_is_that_of_its_generator(data: Batches) -> None:
    indices = np.array([3, 1, 7])
    x, y = data.take(indices, np.random.default_rng(5))
    expected = crop_flip(data.x[indices], np.random.default_rng(5)).transpose(0, 3, 1, 2)
    mean, deviation = data.pixels.mean[:, None, None], data.pixels.deviation[:, None, None]
    assert np.allclose(x.numpy(), (expected - mean) / deviation, atol=1e-5)
    assert y.tolist() == [3, 1, 7]


def test_batches_in_order_end_with_what_is_left(data: Batches) -> None:
    assert [len(y) for _, y in data.in_order(8)] == [8, 8, 4]
    assert [y.tolist() for _, y in data.in_order(3, 5)] == [[0, 1, 2], [3, 4]]
    assert sum(len(y) for _, y in data.in_order(8, 100)) == 20


def test_parts_are_shrunk_and_normalised_as_the_first():
    rng = np.random.default_rng(0)
    x = [rng.integers(0, 256, (n, 16, 16, 3), dtype=np.uint8) for n in (9, 4)]
    train, held = batches([(part, np.arange(len(part))) for part in x], "cpu", factor=2)
    assert train.x.shape == (9, 8, 8, 3) and held.x.shape == (4, 8, 8, 3) and train.pad == 1
    assert held.pixels is train.pixels and np.array_equal(train.pixels.mean, Pixels.of(train.x).mean)
    given = Pixels.of(x[1])
    (other,) = batches([(x[0], np.arange(9))], "cpu", pad=0, pixels=given)
    assert other.pixels is given and other.pad == 0 and other.x is x[0]
