"""The quick gradients of large depthwise kernels are those of the plain convolution."""

import pytest
import torch
from torch import nn

from harness.supernet import quick_depthwise_net
from harness.supernet.quick_depthwise_net import QuickDepthwise


def both(kernel: int, stride: int, height: int, width: int, dtype=torch.float64):
    """Output and gradients of the quick and of the plain convolution on the same numbers."""
    torch.manual_seed(kernel * 100 + stride * 10 + height)
    quick = QuickDepthwise(6, 6, kernel, stride, kernel // 2, groups=6, bias=False).to(dtype)
    plain = nn.Conv2d(6, 6, kernel, stride, kernel // 2, groups=6, bias=False).to(dtype)
    plain.load_state_dict(quick.state_dict())
    x = torch.randn(3, 6, height, width, dtype=dtype).to(memory_format=torch.channels_last)
    results = []
    for conv in (quick, plain):
        images = x.clone(memory_format=torch.preserve_format).requires_grad_()
        out = conv(images)
        weight = torch.sin(torch.arange(out.numel(), dtype=dtype)).view(out.shape)
        (out * weight).sum().backward()
        results.append((out.detach(), images.grad, conv.weight.grad))
    return results


@pytest.mark.parametrize("kernel", [3, 5, 7])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("side", [(4, 4), (8, 8), (16, 8), (6, 10), (2, 2), (7, 9)])
def test_equal_to_the_plain_convolution(kernel, stride, side):
    for quick, plain in zip(*both(kernel, stride, *side), strict=True):
        torch.testing.assert_close(quick, plain)


@pytest.mark.parametrize("kernel", [5, 7])
@pytest.mark.parametrize("stride", [1, 2])
def test_equal_in_single_precision_too(kernel, stride):
    for quick, plain in zip(*both(kernel, stride, 16, 16, torch.float32), strict=True):
        torch.testing.assert_close(quick, plain, rtol=1e-4, atol=1e-4)


def is_quick(kernel: int, stride: int, side: int, channels_last: bool = True, autocast: bool = False) -> bool:
    conv = QuickDepthwise(4, 4, kernel, stride, kernel // 2, groups=4, bias=False)
    layout = torch.channels_last if channels_last else torch.contiguous_format
    x = torch.randn(2, 4, side, side).to(memory_format=layout)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        return "_Quick" in type(conv(x).grad_fn).__name__


def test_where_it_is_quick_and_where_it_leaves_the_work_to_torch():
    assert is_quick(5, 1, 16) and is_quick(7, 1, 4) and is_quick(7, 2, 16)
    assert not is_quick(3, 1, 16)
    assert not is_quick(5, 1, 2) and not is_quick(7, 2, 4)  # too small: oneDNN is quicker there
    assert not is_quick(5, 2, 9)  # what a stride of 2 leaves out would not come out even
    assert not is_quick(5, 1, 16, channels_last=False)
    assert not is_quick(5, 1, 16, autocast=True)


def test_only_the_gradients_that_are_wanted_are_computed(monkeypatch):
    asked = []
    monkeypatch.setattr(quick_depthwise_net, "_weight_gradient", lambda *given: asked.append(given))
    conv = QuickDepthwise(4, 4, 5, 1, 2, groups=4, bias=False)
    conv.weight.requires_grad_(False)
    x = torch.randn(2, 4, 8, 8).to(memory_format=torch.channels_last).requires_grad_()
    conv(x).sum().backward()
    assert x.grad is not None and not asked
    conv.weight.requires_grad_(True)
    conv(x.detach()).sum().backward()
    assert len(asked) == 1


def test_a_gradient_in_another_memory_format_is_taken():
    conv = QuickDepthwise(4, 4, 7, 1, 3, groups=4, bias=False)
    x = torch.randn(2, 4, 8, 8).to(memory_format=torch.channels_last)
    out, given = conv(x), torch.randn(2, 4, 8, 8)
    (expected,) = torch.autograd.grad(out, conv.weight, given.to(memory_format=torch.channels_last))
    (found,) = torch.autograd.grad(conv(x), conv.weight, given)
    torch.testing.assert_close(found, expected)
