"""The stand-alone network of a NAS-Bench-201 cell."""

from collections import OrderedDict
from functools import reduce
from operator import add

from torch import Tensor, nn

from harness.spaces.nb201 import EDGES, digits


class Zero(nn.Module):
    """`none`: multiplied rather than left out, so that what only feeds it gets a zero gradient, not None.

    The benchmark does so too: under SGD such weights still decay, weights without a gradient do not.
    """

    def forward(self, x: Tensor) -> Tensor:
        return x * 0.0


def relu_conv_bn(
    inputs: int,
    outputs: int,
    kernel: int,
    stride: int = 1,
    *,
    affine: bool = True,
    track: bool = True,
    bias: bool = False,
) -> nn.Sequential:
    """ReLU, convolution, batch norm: the only shape that a convolution has in this space."""
    return nn.Sequential(
        nn.ReLU(),
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=bias),
        nn.BatchNorm2d(outputs, affine=affine, track_running_stats=track),
    )


def operation(op: int, channels: int, *, affine: bool, track: bool, bias: bool = False) -> nn.Module:
    """One edge's op (index into OPS); the pool has neither ReLU nor batch norm and does not count padding."""
    if op == 0:
        return Zero()
    if op == 1:
        return nn.Identity()
    if op == 4:
        return nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False)
    return relu_conv_bn(channels, channels, 1 if op == 2 else 3, affine=affine, track=track, bias=bias)


class Cell(nn.Module):
    """Four nodes; each is the sum of its edges, in the order of EDGES."""

    def __init__(self, row: str, channels: int, *, affine: bool, track: bool, bias: bool) -> None:
        super().__init__()
        self.edges = nn.ModuleList(
            operation(int(op), channels, affine=affine, track=track, bias=bias) for op in row
        )

    def forward(self, x: Tensor) -> Tensor:
        nodes = [x]
        for node in (1, 2, 3):
            incoming = zip(EDGES, self.edges, strict=True)
            nodes.append(
                reduce(add, [op(nodes[source]) for (source, target), op in incoming if target == node])
            )
        return nodes[-1]


class Reduction(nn.Module):
    """The fixed residual block between stages: half the side, twice the channels."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = relu_conv_bn(channels, 2 * channels, 3, stride=2)
        self.second = relu_conv_bn(2 * channels, 2 * channels, 3)
        self.shortcut = nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(channels, 2 * channels, 1, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        return self.shortcut(x) + self.second(self.first(x))


def network(
    arch: str,
    channels: int = 16,
    cells: int = 5,
    classes: int = 10,
    affine: bool = True,
    track: bool = True,
    *,
    conv_bias: bool = False,
    image_channels: int = 3,
) -> nn.Sequential:
    """Children `stem`, `body` (three stages of `cells` cells, reductions between them) and `head`.

    `affine`, `track` and `conv_bias` are for the searched cells only; the rest has ordinary batch norm.
    The benchmark trained affine, tracked, without bias, C=16 and N=5.
    """
    row = digits(arch)
    body: list[nn.Module] = []
    for stage in range(3):
        if stage:
            body.append(Reduction(channels << (stage - 1)))
        for _ in range(cells):
            body.append(Cell(row, channels << stage, affine=affine, track=track, bias=conv_bias))
    width = 4 * channels
    stem = nn.Sequential(
        nn.Conv2d(image_channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
    )
    head = nn.Sequential(
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(width, classes),
    )
    return nn.Sequential(OrderedDict(stem=stem, body=nn.Sequential(*body), head=head))
