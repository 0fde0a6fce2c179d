"""The stand-alone CIFAR network of a DARTS genotype (Liu et al. 2019; trained smaller by NAS-Bench-301)."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx
from torch.nn import functional

from harness.spaces.darts import Edge, parse

STEM = 3  # the stem's channels, in those of the first cell's nodes


def relu_conv_bn(inputs: int, outputs: int, *, affine: bool = True, track: bool = True) -> nn.Sequential:
    return nn.Sequential(nn.ReLU(), nn.Conv2d(inputs, outputs, 1, bias=False), _norm(outputs, affine, track))


def _norm(channels: int, affine: bool, track: bool) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, affine=affine, track_running_stats=track)


class FactorizedReduce(nn.Module):
    """Half the side by two 1x1 convolutions of stride 2, the second one pixel further right and down."""

    def __init__(self, inputs: int, outputs: int, *, affine: bool = True, track: bool = True) -> None:
        super().__init__()
        self.relu = nn.ReLU()
        self.even = nn.Conv2d(inputs, outputs // 2, 1, stride=2, bias=False)
        self.odd = nn.Conv2d(inputs, outputs - outputs // 2, 1, stride=2, bias=False)
        self.norm = _norm(outputs, affine, track)

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(x)
        # Cropped by padding: the gradient of a slice would not be channels_last, which slows all before it.
        return self.norm(torch.cat([self.even(x), self.odd(functional.pad(x, (-1, 0, -1, 0)))], dim=1))


class Beside(torch.autograd.Function):
    """Concatenation of channels whose gradients come back in one piece, not as slices.

    Batch norm's backward takes 10 ms instead of 0.5 for a slice (64 x 16 x 32 x 32, channels_last, CPU).
    """

    @staticmethod
    def forward(ctx: FunctionCtx, *parts: Tensor) -> Tensor:
        last = parts[0].is_contiguous(memory_format=torch.channels_last)
        ctx.form = torch.channels_last if last else torch.contiguous_format
        ctx.widths = [part.shape[1] for part in parts]
        return torch.cat(parts, dim=1)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor, ...]:
        return tuple(part.contiguous(memory_format=ctx.form) for part in gradient.split(ctx.widths, dim=1))


def _separable(
    channels: int,
    kernel: int,
    stride: int,
    dilation: int,
    affine: bool,
    track: bool,
    depthwise: type[nn.Conv2d],
) -> list[nn.Module]:
    padding = dilation * (kernel - 1) // 2
    return [
        nn.ReLU(),
        depthwise(channels, channels, kernel, stride, padding, dilation, groups=channels, bias=False),
        nn.Conv2d(channels, channels, 1, bias=False),
        _norm(channels, affine, track),
    ]


def operation(
    op: str,
    channels: int,
    stride: int,
    *,
    affine: bool = True,
    track: bool = True,
    pool_norm: bool = False,
    depthwise: type[nn.Conv2d] = nn.Conv2d,
) -> nn.Module:
    """One edge; `pool_norm`: in DARTS' search network a batch norm follows the pools."""
    kernel = int(op[-1]) if op[-1].isdigit() else 0
    if op.endswith("pool_3x3"):
        average = nn.AvgPool2d(3, stride, padding=1, count_include_pad=False)
        pool = average if op.startswith("avg") else nn.MaxPool2d(3, stride, padding=1)
        return nn.Sequential(pool, _norm(channels, affine, track)) if pool_norm else pool
    if op == "skip_connect":
        if stride == 1:
            return nn.Identity()
        return FactorizedReduce(channels, channels, affine=affine, track=track)
    if op.startswith("sep_conv"):
        first, second = (
            _separable(channels, kernel, step, 1, affine, track, depthwise) for step in (stride, 1)
        )
        return nn.Sequential(*first, *second)
    return nn.Sequential(*_separable(channels, kernel, stride, 2, affine, track, depthwise))


@dataclass(frozen=True)
class Place:
    """Where a cell stands: the channels of the two outputs that it reads and of its nodes, and its kind."""

    before: int
    last: int
    channels: int
    reduction: bool
    shrink: bool  # the last cell halved the side, so the one before it is still twice as large

    def stride(self, source: int) -> int:
        """Of an edge that reads this node."""
        return 2 if self.reduction and source < 2 else 1

    def inputs(self, *, affine: bool = True, track: bool = True) -> tuple[nn.Module, nn.Module]:
        """What brings both outputs to the cell's own channels and side."""
        first = FactorizedReduce if self.shrink else relu_conv_bn
        return (
            first(self.before, self.channels, affine=affine, track=track),
            relu_conv_bn(self.last, self.channels, affine=affine, track=track),
        )


def places(channels: int, layers: int) -> Iterator[Place]:
    """All cells in their order; those at one and two thirds of the depth halve the side."""
    before = last = STEM * channels
    shrink = False
    for layer in range(layers):
        reduction = layer in (layers // 3, 2 * layers // 3)
        channels = 2 * channels if reduction else channels
        yield Place(before, last, channels, reduction, shrink)
        before, last, shrink = last, 4 * channels, reduction


class Cell(nn.Module):
    """Four nodes on the outputs of the two cells before; the output is all four, side by side."""

    def __init__(self, edges: tuple[Edge, ...], place: Place, *, affine: bool) -> None:
        super().__init__()
        self.before, self.last = place.inputs()
        self.sources = [source for _, source in edges]
        self.edges = nn.ModuleList(
            operation(op, place.channels, place.stride(source), affine=affine) for op, source in edges
        )

    def forward(self, before: Tensor, last: Tensor, drop: float) -> Tensor:
        nodes = [self.before(before), self.last(last)]
        for node in range(4):
            first, second = (
                drop_path(self.edges[i](nodes[self.sources[i]]), self.edges[i], drop)
                for i in (2 * node, 2 * node + 1)
            )
            nodes.append(first + second)
        return Beside.apply(*nodes[2:])


def drop_path(x: Tensor, edge: nn.Module, drop: float) -> Tensor:
    """Drops an edge per image and scales up the others; identities are never dropped."""
    if drop <= 0 or isinstance(edge, nn.Identity):
        return x
    keep = torch.empty(x.shape[0], 1, 1, 1, dtype=x.dtype, device=x.device).bernoulli_(1 - drop)
    return x / (1 - drop) * keep


class Network(nn.Module):
    """Logits in evaluation mode; in training mode with an auxiliary head: (logits, auxiliary logits).

    The trainer sets `drop_path` (DARTS: 0.2 · epoch / epochs); it acts in training mode only.
    """

    def __init__(
        self, arch: str, channels: int, layers: int, classes: int, *, auxiliary: bool, affine: bool
    ) -> None:
        super().__init__()
        genotype = parse(arch)
        self.drop_path = 0.0
        self.stem = stem(channels)
        self.cells = nn.ModuleList()
        self.auxiliary: nn.Module | None = None
        self.auxiliary_after = 2 * layers // 3
        for layer, place in enumerate(places(channels, layers)):
            edges = genotype.reduce if place.reduction else genotype.normal
            self.cells.append(Cell(edges, place, affine=affine))
            if auxiliary and layer == self.auxiliary_after:
                self.auxiliary = auxiliary_head(4 * place.channels, classes)
        self.head = head(4 * place.channels, classes)

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        drop = self.drop_path if self.training else 0.0
        before = last = self.stem(x)
        extra: Tensor | None = None
        for layer, cell in enumerate(self.cells):
            before, last = last, cell(before, last, drop)
            if self.training and self.auxiliary is not None and layer == self.auxiliary_after:
                extra = self.auxiliary(last)
        logits = self.head(last)
        return logits if extra is None else (logits, extra)


def stem(channels: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, STEM * channels, 3, padding=1, bias=False), nn.BatchNorm2d(STEM * channels)
    )


def head(channels: int, classes: int) -> nn.Sequential:
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


def auxiliary_head(channels: int, classes: int) -> nn.Sequential:
    """DARTS' second classifier, at two thirds of the depth; needs 8 x 8 there, that is 32 x 32 images."""
    return nn.Sequential(
        nn.ReLU(),
        nn.AvgPool2d(5, stride=3, padding=0, count_include_pad=False),
        nn.Conv2d(channels, 128, 1, bias=False),
        nn.BatchNorm2d(128),
        nn.ReLU(inplace=True),
        nn.Conv2d(128, 768, 2, bias=False),
        nn.BatchNorm2d(768),
        nn.ReLU(inplace=True),
        nn.Flatten(),
        nn.Linear(768, classes),
    )


def network(
    arch: str,
    channels: int = 32,
    layers: int = 8,
    classes: int = 10,
    *,
    auxiliary: bool = False,
    affine: bool = True,
) -> Network:
    """The network of a genotype; `affine` is for the batch norms of the ops only (see `darts.costs`)."""
    return Network(arch, channels, layers, classes, auxiliary=auxiliary, affine=affine)
