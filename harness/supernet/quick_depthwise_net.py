"""Depthwise convolutions of 5x5 and 7x7 whose gradients are quick on a processor, with and without stride."""

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx
from torch.nn import functional


class QuickDepthwise(nn.Conv2d):
    """A depthwise convolution, the same up to rounding; 3x3 is quick already (benchmarks/bench_depthwise.py).

    oneDNN's gradients of larger kernels take up to 26 times as long as its forward pass. So both are
    written as forward passes: towards the images with the kernel turned round, and towards the weights with
    the images of all channels side by side as one image and the gradients as its kernels.
    """

    def forward(self, x: Tensor) -> Tensor:
        (kernel, _), (stride, _), (height, width) = self.kernel_size, self.stride, x.shape[2:]
        fits = kernel > 3 and height % stride == width % stride == 0 and min(height, width) >= 4 * stride
        fits &= x.device.type == "cpu" and x.is_contiguous(memory_format=torch.channels_last)
        if fits and not torch.is_autocast_enabled("cpu"):
            return _Quick.apply(x, self.weight, stride)
        return super().forward(x)


class _Quick(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, weight: Tensor, stride: int) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.stride = stride
        return functional.conv2d(x, weight, None, stride, weight.shape[2] // 2, 1, len(weight))

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        stride, kernel, channels = ctx.stride, weight.shape[2], len(weight)
        to_weight = _weight_gradient(x, gradient, kernel, stride) if ctx.needs_input_grad[1] else None
        if not ctx.needs_input_grad[0]:
            return None, to_weight, None
        spread = gradient
        if stride > 1:  # the pixels between those that the stride visited got nothing
            spread = torch.zeros_like(x)
            spread[:, :, ::stride, ::stride] = gradient
        spread = spread.contiguous(memory_format=torch.channels_last)
        to_x = functional.conv2d(spread, weight.flip(2, 3), None, 1, kernel // 2, 1, channels)
        return to_x, to_weight, None


def _weight_gradient(x: Tensor, gradient: Tensor, kernel: int, stride: int) -> Tensor:
    """Each image's channel is correlated with its own gradient; then images are summed."""
    n, channels, height, width = x.shape
    one = x.reshape(1, n * channels, height, width)  # copies: oneDNN is quick from NCHW alone here
    kernels = gradient.reshape(n * channels, 1, *gradient.shape[2:])
    found = functional.conv2d(one, kernels, None, 1, kernel // 2, stride, n * channels)
    return found[:, :, :kernel, :kernel].reshape(n, channels, kernel, kernel).sum(0).unsqueeze(1)
