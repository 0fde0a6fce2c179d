"""The stand-alone CIFAR network of a DARTS genotype (Liu et al. 2019; trained smaller by NAS-Bench-301)."""

import torch
from torch import Tensor, nn

from harness.spaces.darts import Edge, parse


def relu_conv_bn(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.ReLU(), nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs))


class FactorizedReduce(nn.Module):
    """Half the side by two 1x1 convolutions of stride 2, the second one pixel further right and down."""

    def __init__(self, inputs: int, outputs: int, *, affine: bool = True) -> None:
        super().__init__()
        self.relu = nn.ReLU()
        self.even = nn.Conv2d(inputs, outputs // 2, 1, stride=2, bias=False)
        self.odd = nn.Conv2d(inputs, outputs - outputs // 2, 1, stride=2, bias=False)
        self.norm = nn.BatchNorm2d(outputs, affine=affine)

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(x)
        return self.norm(torch.cat([self.even(x), self.odd(x[:, :, 1:, 1:])], dim=1))


def _separable(channels: int, kernel: int, stride: int, dilation: int, affine: bool) -> list[nn.Module]:
    padding = dilation * (kernel - 1) // 2
    return [
        nn.ReLU(),
        nn.Conv2d(channels, channels, kernel, stride, padding, dilation, groups=channels, bias=False),
        nn.Conv2d(channels, channels, 1, bias=False),
        nn.BatchNorm2d(channels, affine=affine),
    ]


def operation(op: str, channels: int, stride: int, *, affine: bool = True) -> nn.Module:
    """One edge; in the stand-alone network a pool has no batch norm (in DARTS' search network it has)."""
    kernel = int(op[-1]) if op[-1].isdigit() else 0
    if op == "max_pool_3x3":
        return nn.MaxPool2d(3, stride, padding=1)
    if op == "avg_pool_3x3":
        return nn.AvgPool2d(3, stride, padding=1, count_include_pad=False)
    if op == "skip_connect":
        return nn.Identity() if stride == 1 else FactorizedReduce(channels, channels, affine=affine)
    if op.startswith("sep_conv"):
        parts = _separable(channels, kernel, stride, 1, affine) + _separable(channels, kernel, 1, 1, affine)
        return nn.Sequential(*parts)
    return nn.Sequential(*_separable(channels, kernel, stride, 2, affine))


class Cell(nn.Module):
    """Four nodes on the outputs of the two cells before; the output is all four, side by side."""

    def __init__(
        self,
        edges: tuple[Edge, ...],
        before: int,
        last: int,
        channels: int,
        *,
        reduction: bool,
        shrink: bool,
        affine: bool,
    ) -> None:
        super().__init__()
        # `shrink`: the last cell halved the side, so the one before it is still twice as large
        self.before = FactorizedReduce(before, channels) if shrink else relu_conv_bn(before, channels)
        self.last = relu_conv_bn(last, channels)
        self.sources = [source for _, source in edges]
        self.edges = nn.ModuleList(
            operation(op, channels, 2 if reduction and source < 2 else 1, affine=affine)
            for op, source in edges
        )

    def forward(self, before: Tensor, last: Tensor, drop: float) -> Tensor:
        nodes = [self.before(before), self.last(last)]
        for node in range(4):
            first, second = (
                drop_path(self.edges[i](nodes[self.sources[i]]), self.edges[i], drop)
                for i in (2 * node, 2 * node + 1)
            )
            nodes.append(first + second)
        return torch.cat(nodes[2:], dim=1)


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
        before = last = 3 * channels
        self.stem = nn.Sequential(nn.Conv2d(3, last, 3, padding=1, bias=False), nn.BatchNorm2d(last))
        self.cells = nn.ModuleList()
        self.auxiliary: nn.Module | None = None
        self.auxiliary_after = 2 * layers // 3
        shrink = False
        for layer in range(layers):
            reduction = layer in (layers // 3, 2 * layers // 3)
            channels = 2 * channels if reduction else channels
            edges = genotype.reduce if reduction else genotype.normal
            self.cells.append(
                Cell(edges, before, last, channels, reduction=reduction, shrink=shrink, affine=affine)
            )
            before, last, shrink = last, 4 * channels, reduction
            if auxiliary and layer == self.auxiliary_after:
                self.auxiliary = auxiliary_head(last, classes)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, classes))

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
