"""The quick pools are torch's own."""

import pytest
import torch
from torch import nn

from harness.supernet.quick_pool_net import MeanPool, QuickPool

LAST = torch.channels_last


def images(side: tuple[int, int], dtype=torch.float64) -> torch.Tensor:
    return torch.randn(3, 6, *side, dtype=dtype, generator=torch.Generator().manual_seed(1)).to(
        memory_format=LAST
    )


def results(pool: nn.Module, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The output, and the gradient for a gradient that differs from place to place."""
    x = x.clone(memory_format=torch.preserve_format).requires_grad_()
    out = pool(x)
    weight = torch.sin(torch.arange(out.numel(), dtype=x.dtype)).view(out.shape)
    return out.detach(), torch.autograd.grad((out * weight).sum(), x)[0]


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("side", [(32, 32), (8, 8), (5, 7), (2, 3), (1, 4)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_equal_to_the_plain_pool(counts, side, dtype):
    x = images(side, dtype)
    plain = nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=counts)
    for quick, expected in zip(results(QuickPool(counts), x), results(plain, x), strict=True):
        torch.testing.assert_close(quick, expected)


def test_its_corrections_are_exact():
    """Of a constant image every mean is the same number, whether a place has nine neighbours or four."""
    out = QuickPool(False)(torch.full((1, 2, 5, 5), 9.0).to(memory_format=LAST))
    torch.testing.assert_close(out, torch.full_like(out, 9.0), rtol=3e-7, atol=0)


def kind(x: torch.Tensor, autocast: bool = False) -> str:
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        return type(QuickPool(True)(x.requires_grad_()).grad_fn).__name__


def test_where_it_is_quick_and_where_it_leaves_the_work_to_torch():
    assert kind(images((8, 8))).startswith("Convolution")
    assert kind(images((8, 8)).contiguous()).startswith("AvgPool2D")
    assert kind(images((8, 8), torch.float32), autocast=True).startswith("AvgPool2D")


def test_a_gradient_in_another_memory_format_is_taken():
    x, given = images((8, 8)).requires_grad_(), torch.randn(3, 6, 8, 8, dtype=torch.float64)
    plain = nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False)
    (expected,), (found,) = (torch.autograd.grad(pool(x), x, given) for pool in (plain, QuickPool(False)))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("side", [(8, 8), (5, 7), (1, 1)])
def test_the_mean_of_an_image(side):
    plain = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    for quick, expected in zip(results(MeanPool(), images(side)), results(plain, images(side)), strict=True):
        torch.testing.assert_close(quick, expected)
    assert results(MeanPool(), images(side))[1].is_contiguous(memory_format=LAST)
