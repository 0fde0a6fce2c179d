"""The stand-alone network of a NAS-Bench-101 cell."""

import math

import torch
from torch import Tensor, nn

from harness.spaces.nb101 import CLASSES, MODULES, STACKS, STEM, arrays, decode, vertex_channels

# TensorFlow's momentum of 0.997 is the share of the old value, torch's is that of the new one.
MOMENTUM = 0.003


def norm(
    channels: int, *, affine: bool = True, track: bool = True, momentum: float = MOMENTUM
) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, 1e-5, momentum, affine=affine, track_running_stats=track)


def conv_bn_relu(
    inputs: int,
    outputs: int,
    kernel: int,
    *,
    affine: bool = True,
    track: bool = True,
    momentum: float = MOMENTUM,
) -> nn.Sequential:
    """Convolution without bias, batch norm, ReLU: in this order, unlike nb201."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False),
        norm(outputs, affine=affine, track=track, momentum=momentum),
        nn.ReLU(inplace=True),
    )


def operation(
    op: str, channels: int, *, affine: bool = True, track: bool = True, momentum: float = MOMENTUM
) -> nn.Module:
    """The op of one inner vertex."""
    if op == "maxpool3x3":
        return nn.MaxPool2d(3, stride=1, padding=1)
    kernel = 3 if op == "conv3x3-bn-relu" else 1
    return conv_bn_relu(channels, channels, kernel, affine=affine, track=track, momentum=momentum)


class Cell(nn.Module):
    """Sums at inner vertices, a concatenation at the output, a projection for each edge out of the input.

    `channels` are those of all vertices, input and output included. What comes straight from the
    input is added to the concatenation.
    """

    def __init__(self, matrix: list[list[int]], ops: list[str], channels: list[int]) -> None:
        super().__init__()
        self.matrix, self.channels, self.last = matrix, channels, len(ops) - 1
        self.projections = nn.ModuleDict(
            {str(v): conv_bn_relu(channels[0], channels[v], 1) for v in range(1, len(ops)) if matrix[0][v]}
        )
        self.ops = nn.ModuleList(operation(ops[v], channels[v]) for v in range(1, self.last))

    def forward(self, x: Tensor) -> Tensor:
        values = [x]
        for vertex in range(1, self.last + 1):
            sources = [values[s] for s in range(1, vertex) if self.matrix[s][vertex]]
            if vertex == self.last and sources:
                sources = [torch.cat(sources, dim=1)]
            # A source can have one channel too many, after an uneven split: the benchmark drops it.
            terms = [value[:, : self.channels[vertex]] for value in sources]
            if self.matrix[0][vertex]:
                terms.append(self.projections[str(vertex)](x))
            total = sum(terms[1:], start=terms[0])
            values.append(total if vertex == self.last else self.ops[vertex - 1](total))
        return values[-1]


class Network(nn.Module):
    """Stem, three stacks of three cells with 2x2 max pools between the stacks, global average, classifier."""

    def __init__(self, arch: str, *, stem: int = STEM, classes: int = CLASSES) -> None:
        super().__init__()
        matrix, ops = decode(arch)
        layers: list[nn.Module] = [conv_bn_relu(3, stem, 3)]
        inputs = stem
        for stack in range(STACKS):
            if stack:
                layers.append(nn.MaxPool2d(2))
            width = stem << stack
            inner = vertex_channels(arrays([arch])[0], width)[0, 1 : len(ops) - 1].tolist()
            for _ in range(MODULES):
                layers.append(Cell(matrix, ops, [inputs, *inner, width]))
                inputs = width
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(inputs, classes)
        self.apply(_initialise)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).mean(dim=(2, 3)))


def network(arch: str) -> Network:
    """The benchmark's network of a cell that is already pruned."""
    return Network(arch)


def _initialise(module: nn.Module) -> None:
    """TensorFlow's defaults, which the benchmark keeps: a scaled truncated normal, Glorot at the end."""
    if isinstance(module, nn.Conv2d):
        # 0.8796 is the deviation of a unit normal that was cut at two; it is divided out.
        spread = math.sqrt(1 / (module.in_channels * module.kernel_size[0] ** 2)) / 0.87962566103423978
        nn.init.trunc_normal_(module.weight, std=spread, a=-2 * spread, b=2 * spread)
    elif isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)
