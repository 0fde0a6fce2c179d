"""Depthwise convolutions whose gradients are quick on a processor, for the DARTS space."""

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx
from torch.nn import functional, grad


class Depthwise(nn.Conv2d):
    """A depthwise convolution whose gradients are quick on CPU, and the same up to rounding.

    oneDNN is quick with 3x3 kernels without dilation and with all forward passes. Its other gradients take up
    to a hundred times as long as the forward pass, together more than half of a step in this space.
    """

    def forward(self, x: Tensor) -> Tensor:
        (kernel, _), (stride, _), (dilation, _) = self.kernel_size, self.stride, self.dilation
        slow = dilation == 2 or (kernel == 5 and stride == 1)
        fits = x.shape[2] % 2 == x.shape[3] % 2 == 0 and x.is_contiguous(memory_format=torch.channels_last)
        if slow and fits and x.device.type == "cpu" and not torch.is_autocast_enabled("cpu"):
            return _Quick.apply(x, self.weight, stride, dilation)
        return super().forward(x)


class _Quick(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, weight: Tensor, stride: int, dilation: int) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.stride, ctx.dilation = stride, dilation
        padding = dilation * (weight.shape[2] // 2)
        return functional.conv2d(x, weight, None, stride, padding, dilation, len(weight))

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """With a stride of 2 a dilated kernel reads even pixels only: among them it is not dilated."""
        x, weight = ctx.saved_tensors
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        step, dilation = ctx.stride, ctx.dilation // ctx.stride
        seen, padding = x[:, :, ::step, ::step], dilation * (weight.shape[2] // 2)
        to_weight = _weight_gradient(seen, gradient, weight.shape[2], dilation)
        to_x = functional.conv2d(gradient, weight.flip(2, 3), None, 1, padding, dilation, len(weight))
        if step == 2:
            to_seen, to_x = to_x, torch.zeros_like(x)
            to_x[:, :, ::2, ::2] = to_seen
        return to_x, to_weight, None, None


def _weight_gradient(x: Tensor, gradient: Tensor, kernel: int, dilation: int) -> Tensor:
    """Without stride; a dilated kernel is a plain one on every second pixel, a 5x5 four 3x3 that overlap."""
    n, channels, height, width = x.shape
    n, height, width = n * dilation**2, height // dilation, width // dilation
    # Where a 3x3 is shifted, memory is read from a later pixel on: what then wraps around meets zeros.
    border = kernel - 3
    rows, columns = height + 2 + border, width + 2 + border
    flat = x.new_zeros((n * rows + border) * columns * channels + border * channels)
    inner = flat[: n * rows * columns * channels].view(n, rows, columns, channels)
    inside = slice(kernel // 2, -(kernel // 2))
    _scatter(x, inner[:, inside, inside], dilation)
    padded = x.new_zeros(n, rows - 2, columns - 2, channels)
    _scatter(gradient, padded[:, :height, :width], dilation)
    found = x.new_empty(channels, 1, kernel, kernel)
    strides = (rows * columns * channels, 1, columns * channels, channels)
    for i in range(0, kernel - 2, 2):
        for j in range(0, kernel - 2, 2):
            shifted = flat.as_strided((n, channels, rows, columns), strides, (i * columns + j) * channels)
            found[:, :, i : i + 3, j : j + 3] = grad.conv2d_weight(
                shifted, (channels, 1, 3, 3), padded.permute(0, 3, 1, 2), groups=channels
            )
    return found


def _scatter(images: Tensor, onto: Tensor, step: int) -> None:
    """Images of every step-th pixel each, one after another, channels at the end."""
    pixels = images.permute(0, 2, 3, 1).unflatten(2, (-1, step)).unflatten(1, (-1, step))
    onto.unflatten(0, (step, step, -1)).copy_(pixels.permute(2, 4, 0, 1, 3, 5))
