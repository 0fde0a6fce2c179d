"""Several maps of one node at once: convolutions and batch norms side by side, and weighted sums."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx
from torch.nn import functional


def convolved(
    x: Tensor, convs: Sequence[nn.Conv2d], norms: Sequence[nn.BatchNorm2d], scale: Tensor | None = None
) -> tuple[Tensor, ...]:
    """What each convolution (of one kernel) and its norm make of x; `scale`: a number for each map."""
    first = convs[0]
    kernels = torch.cat([conv.weight for conv in convs])
    biases = None if first.bias is None else torch.cat([conv.bias for conv in convs])
    if biases is not None and not _of_batch(norms[0]):
        made, biases = functional.conv2d(x, kernels, biases, first.stride, first.padding), None
    else:  # the norm takes away what a bias adds
        made = functional.conv2d(x, kernels, None, first.stride, first.padding)
    widths = [norm.num_features for norm in norms]
    return normed(made, norms, scale, biases).split(widths, dim=1)


def normed(
    x: Tensor, norms: Sequence[nn.BatchNorm2d], scale: Tensor | None = None, biases: Tensor | None = None
) -> Tensor:
    """Maps side by side, each through its own norm.

    `biases` are those that convolutions left out because statistics are the batch's: they change nothing but
    running means, and get the gradient of zero that they have.
    """
    first, gain, shift = norms[0], None, None
    if first.affine:
        gain, shift = (torch.cat([getattr(norm, name) for norm in norms]) for name in ("weight", "bias"))
    if scale is not None:
        widths = [norm.num_features for norm in norms]  # their sum is told: a GPU is not asked for it
        scale = scale.repeat_interleave(torch.tensor(widths, device=x.device), output_size=sum(widths))
        gain, shift = (scale, None) if gain is None else (gain * scale, shift * scale)
    if biases is not None:
        shift = biases * 0.0 if shift is None else shift + biases * 0.0
    if shift is not None and gain is None:
        gain = torch.ones_like(shift)
    mean = variance = None
    if first.running_mean is not None:
        mean, variance = (torch.cat([getattr(n, b) for n in norms]) for b in ("running_mean", "running_var"))
    moved = first.training and mean is not None
    if moved and biases is not None:
        mean -= biases.detach()
    made = functional.batch_norm(x, mean, variance, gain, shift, _of_batch(first), first.momentum, first.eps)
    if moved:
        if biases is not None:
            mean = mean + biases.detach()  # not in place: the norm's backward pass wants what it got
        widths = [norm.num_features for norm in norms]
        for norm, own_mean, own_variance in zip(
            norms, mean.split(widths), variance.split(widths), strict=True
        ):
            norm.running_mean.copy_(own_mean)
            norm.running_var.copy_(own_variance)
            norm.num_batches_tracked.add_(1)
    return made


def norm_of_all(x: Tensor, norms: Sequence[nn.BatchNorm2d]) -> Tensor | None:
    """What all these norms make of one map if it is the same: then it is computed once."""
    first = norms[0]
    if first.affine or not _of_batch(first):
        return None
    if first.running_mean is None:
        return functional.batch_norm(x, None, None, training=True, eps=first.eps)
    mean, variance = torch.zeros_like(first.running_mean), torch.ones_like(first.running_var)
    made = functional.batch_norm(x, mean, variance, None, None, True, 1.0, first.eps)
    for norm in norms:
        norm.running_mean.lerp_(mean, norm.momentum)
        norm.running_var.lerp_(variance, norm.momentum)
        norm.num_batches_tracked.add_(1)
    return made


def total(terms: Sequence[tuple[Tensor | None, Tensor]]) -> Tensor:
    """The sum of maps, each times its weight if it has one."""
    weighted = [term for term in terms if term[0] is not None]
    plain = [map_ for weight, map_ in terms if weight is None]
    if not weighted:
        return _Sum.apply(None, *plain)
    return _Sum.apply(torch.stack([weight for weight, _ in weighted]), *(m for _, m in weighted), *plain)


class _Sum(torch.autograd.Function):
    """Weights belong to the first maps. One pass per map, where products and sums would take two."""

    @staticmethod
    def forward(ctx: FunctionCtx, weights: Tensor | None, *maps: Tensor) -> Tensor:
        factors = [] if weights is None else weights.tolist()
        ctx.plain = len(maps) - len(factors)
        ctx.save_for_backward(weights, *(maps[: len(factors)]))
        summed = maps[0] * factors[0] if factors else maps[0].clone()
        for number, each in enumerate(maps[1:], start=1):
            summed.add_(each, alpha=factors[number] if number < len(factors) else 1.0)
        return summed

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        weights, *maps = ctx.saved_tensors
        to_weights = None
        if ctx.needs_input_grad[0]:
            to_weights = torch.stack([torch.dot(_row(gradient), _row(each)) for each in maps])
        to_maps = [] if weights is None else [gradient * weight for weight in weights]
        return to_weights, *to_maps, *[gradient] * ctx.plain


def _row(x: Tensor) -> Tensor:
    """All numbers, without a copy where channels are last in memory."""
    return x.permute(0, 2, 3, 1).reshape(-1)


def _of_batch(norm: nn.BatchNorm2d) -> bool:
    return norm.training or norm.running_mean is None
