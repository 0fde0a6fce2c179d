"""Stem, blocks and head of the FairNAS space, and a stand-alone network of them.

Sizes are FairNAS' unless others are given; `depthwise` is the class of depthwise convolutions.
"""

from collections import OrderedDict

from torch import Tensor, nn

from harness.spaces.fairnas import CELLS, FIRST_CHANNELS, HEAD_CHANNELS, OPS, STEM_CHANNELS, Cell, Op, ops_of

Conv = type[nn.Conv2d]


def _conv_bn(
    inputs: int,
    outputs: int,
    kernel: int,
    stride: int = 1,
    *,
    depthwise: Conv | None = None,
    activate: bool = True,
) -> list[nn.Module]:
    kind, groups = (nn.Conv2d, 1) if depthwise is None else (depthwise, inputs)
    conv = kind(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    layers: list[nn.Module] = [conv, nn.BatchNorm2d(outputs)]
    return [*layers, nn.ReLU6(inplace=True)] if activate else layers


class Block(nn.Module):
    """Inverted residual (Sandler et al. 2018): expand, depthwise, project; a sum where shapes allow it."""

    def __init__(self, cell: Cell, op: Op, depthwise: Conv = nn.Conv2d) -> None:
        super().__init__()
        hidden = op.expansion * cell.inputs
        self.layers = nn.Sequential(
            *_conv_bn(cell.inputs, hidden, 1),
            *_conv_bn(hidden, hidden, op.kernel, cell.stride, depthwise=depthwise),
            *_conv_bn(hidden, cell.outputs, 1, activate=False),
        )
        self.residual = cell.stride == 1 and cell.inputs == cell.outputs

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.residual else self.layers(x)


def stem(
    image_channels: int = 3,
    stride: int = 2,
    channels: int = STEM_CHANNELS,
    first: int = FIRST_CHANNELS,
    depthwise: Conv = nn.Conv2d,
) -> nn.Sequential:
    """3x3 convolution to 32 channels, then a block of expansion 1 to 16: 1,824 parameters (icw Table 4)."""
    return nn.Sequential(
        *_conv_bn(image_channels, channels, 3, stride),
        *_conv_bn(channels, channels, 3, depthwise=depthwise),
        *_conv_bn(channels, first, 1, activate=False),
    )


def head(
    classes: int = 100,
    dropout: float = 0.0,
    inputs: int = CELLS[-1].outputs,
    channels: int = HEAD_CHANNELS,
) -> nn.Sequential:
    """1x1 convolution to 1280, pooling, classifier: 540,260 parameters for 100 classes (icw Table 4)."""
    return nn.Sequential(
        *_conv_bn(inputs, channels, 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(dropout),
        nn.Linear(channels, classes),
    )


def choices(cell: Cell) -> nn.ModuleList:
    """All six ops of a cell, in the order of OPS: what a super-network holds there."""
    return nn.ModuleList(Block(cell, op) for op in OPS)


def parts(classes: int = 100) -> "OrderedDict[str, nn.Module]":
    """The super-network's parts under the names of icw Table 4: stem, 0 to 18, head."""
    cells = ((str(index), choices(cell)) for index, cell in enumerate(CELLS))
    return OrderedDict([("stem", stem()), *cells, ("head", head(classes))])


def network(
    arch: str, classes: int = 100, *, dropout: float = 0.0, image_channels: int = 3, stem_stride: int = 2
) -> nn.Sequential:
    """The stand-alone network; the sides of the feature maps are 1/32 of the image's at the end."""
    blocks = [Block(cell, OPS[op]) for cell, op in zip(CELLS, ops_of(arch), strict=True)]
    return nn.Sequential(
        OrderedDict(
            stem=stem(image_channels, stem_stride), body=nn.Sequential(*blocks), head=head(classes, dropout)
        )
    )
