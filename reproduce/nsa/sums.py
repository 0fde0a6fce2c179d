"""The inputs of a stage's nodes as running sums: what a node gives is added to all rows that it feeds.

Summing nine masked tensors per node reads and keeps each of them again and again. Here a row's sum is one
tensor that grows, and the gradient of a node is one tensor that collects what its rows send back. If a batch
holds few architectures, its images are sorted by them, and edges that an architecture lacks cost nothing.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

Sizes = (
    tuple[int, ...] | None
)  # images of each group that shares an architecture; None: each image has its own


class _Begin(torch.autograd.Function):
    """weights[:, i]·x for each row."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weights: Tensor, sizes: Sizes) -> tuple[Tensor, ...]:
        ctx.save_for_backward(x if weights.requires_grad else None, weights)
        ctx.sizes = sizes
        return tuple(_scaled(x, row, sizes) for row in weights.unbind(1))

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor | None) -> tuple[Tensor | None, ...]:
        return *_back(ctx, slopes), None


class _Add(torch.autograd.Function):
    """rows[i] + weights[:, i]·x for each row, in place."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weights: Tensor, sizes: Sizes, *rows: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(x if weights.requires_grad else None, weights)
        ctx.sizes = sizes
        ctx.mark_dirty(*rows)
        for row, weight in zip(rows, weights.unbind(1), strict=True):
            _add(row, x, weight, sizes)
        return rows

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor | None) -> tuple[Tensor | None, ...]:
        return *_back(ctx, slopes), None, *slopes


def begin(x: Tensor, weights: Tensor, sizes: Sizes) -> list[Tensor]:
    """The rows as the stage's input leaves them; `weights`: [groups or images, rows]."""
    return list(_Begin.apply(x, weights, sizes))


def add(rows: list[Tensor], x: Tensor, weights: Tensor, sizes: Sizes) -> list[Tensor]:
    """The rows that are not yet read, with what this node gives to each."""
    return list(_Add.apply(x, weights, sizes, *rows))


def _back(ctx: Any, slopes: tuple[Tensor | None, ...]) -> tuple[Tensor | None, Tensor | None]:
    """Of x the sum of what its rows send back; of each weight an inner product."""
    x, weights = ctx.saved_tensors
    total = None
    of_weights = None if x is None else torch.zeros_like(weights)
    for i, (slope, weight) in enumerate(zip(slopes, weights.unbind(1), strict=True)):
        if slope is None:
            continue
        if total is None:
            total = _scaled(slope, weight, ctx.sizes)
        else:
            _add(total, slope, weight, ctx.sizes)
        if x is not None:
            of_weights[:, i] = _dots(x, slope, weight, ctx.sizes)
    return total, of_weights


def _scaled(x: Tensor, weight: Tensor, sizes: Sizes) -> Tensor:
    if sizes is None:
        return x * weight[:, None, None, None]
    if len(sizes) == 1:
        return x * weight.item()
    out = torch.empty_like(x)
    for part, value in _parts(weight, sizes):
        torch.mul(x[part], value, out=out[part])
    return out


def _add(row: Tensor, x: Tensor, weight: Tensor, sizes: Sizes) -> None:
    if sizes is None:
        row.addcmul_(x, weight[:, None, None, None])
        return
    for part, value in _parts(weight, sizes):
        if value:  # an edge that is not there
            row[part].add_(x[part], alpha=value)


def _dots(x: Tensor, slope: Tensor, weight: Tensor, sizes: Sizes) -> Tensor:
    """Inner products of each group's numbers; 0 for an edge that is not there, which has nothing to learn."""
    if sizes is None:
        return (x * slope).sum((1, 2, 3))
    x, slope = (one.permute(0, 2, 3, 1) for one in (x, slope))
    found = [
        torch.dot(x[part].flatten(), slope[part].flatten()) if value else x.new_zeros(())
        for part, value in _parts(weight, sizes)
    ]
    return torch.stack(found)


def _parts(weight: Tensor, sizes: tuple[int, ...]) -> Iterator[tuple[slice, float]]:
    first = 0
    for size, value in zip(sizes, weight.tolist(), strict=True):
        yield slice(first, first + size), value
        first += size
