"""SupNet-R-50, a ResNet-50 of four kernels, and SupNet-D-121 (section 3.2, supplementary material)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from reproduce.pgnas.masked import Link, MaskedConv, MaskedLinear, SuperNet

# Kernel and dilation of what stands for 1×1, 3×3, 5×5 and 9×9.
KERNELS = ((1, 1), (3, 1), (3, 2), (5, 2))


@dataclass(frozen=True, kw_only=True)
class ResNetShape:
    """Bottlenecks per stage; `inflated`: each 3×3 becomes four kernels of a quarter of its width."""

    depths: tuple[int, ...] = (3, 4, 6, 3)
    width: int = 64
    classes: int = 1000
    inflated: bool = True


class Bottleneck(nn.Module):
    """1×1, one or four kernels side by side, 1×1."""

    def __init__(self, inputs: int, width: int, stride: int, inflated: bool) -> None:
        super().__init__()
        self.conv1, self.norm1 = MaskedConv(inputs, width, 1), nn.BatchNorm2d(width)
        kernels = KERNELS if inflated else ((3, 1),)
        self.kernels = nn.ModuleList(
            MaskedConv(width, width // len(kernels), k, stride=stride, padding=d * (k // 2), dilation=d)
            for k, d in kernels
        )
        self.norm2 = nn.BatchNorm2d(width)
        self.conv3, self.norm3 = MaskedConv(width, 4 * width, 1), nn.BatchNorm2d(4 * width)
        self.skip: nn.Module = nn.Identity()
        if stride != 1 or inputs != 4 * width:
            self.skip = nn.Sequential(
                MaskedConv(inputs, 4 * width, 1, stride=stride), nn.BatchNorm2d(4 * width)
            )

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu(self.norm1(self.conv1(x)))
        y = functional.relu(self.norm2(torch.cat([kernel(y) for kernel in self.kernels], 1)))
        return functional.relu(self.norm3(self.conv3(y)) + self.skip(x))


class ResNet(SuperNet):
    """One drop probability per layer and kernel."""

    def __init__(self, shape: ResNetShape, **drops: object) -> None:
        super().__init__()
        self.stem = MaskedConv(3, shape.width, 7, stride=2, padding=3)
        self.stem_norm = nn.BatchNorm2d(shape.width)
        blocks, inputs = [], shape.width
        for stage, depth in enumerate(shape.depths):
            for number in range(depth):
                width = shape.width * 2**stage
                blocks.append(Bottleneck(inputs, width, 2 if stage and not number else 1, shape.inflated))
                inputs = 4 * width
        self.blocks = nn.ModuleList(blocks)
        self.head = MaskedLinear(inputs, shape.classes)
        _initialise(self)
        self.own(**drops)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> Tensor:
        x = functional.max_pool2d(functional.relu(self.stem_norm(self.stem(x))), 3, 2, 1)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))

    def links(self) -> list[Link]:
        found = []
        for i, block in enumerate(self.blocks):
            kernels = tuple(f"blocks.{i}.kernels.{k}" for k in range(len(block.kernels)))
            found.append(Link(f"blocks.{i}.conv1", (f"blocks.{i}.norm1",), kernels))
            if len(kernels) == 1:  # of four, each makes a part of what conv3 reads: counted whole (D9)
                found.append(Link(kernels[0], (f"blocks.{i}.norm2",), (f"blocks.{i}.conv3",)))
        return found


@dataclass(frozen=True, kw_only=True)
class DenseNetShape:
    """DenseNet-121, with the three 3×3 for the 7×7 of the authors' code (D8)."""

    growth: int = 32
    depths: tuple[int, ...] = (6, 12, 24, 16)
    stem: int = 64
    bottleneck: int = 4
    classes: int = 1000


class DenseLayer(nn.Module):
    """Norm, ReLU, 1×1, norm, ReLU, 3×3; the 1×1 has a drop probability per segment that it reads."""

    def __init__(self, segments: Sequence[int], growth: int, bottleneck: int) -> None:
        super().__init__()
        inputs, inside = sum(segments), bottleneck * growth
        self.norm1, self.conv1 = nn.BatchNorm2d(inputs), MaskedConv(inputs, inside, 1, segments=segments)
        self.norm2, self.conv2 = nn.BatchNorm2d(inside), MaskedConv(inside, growth, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv1(functional.relu(self.norm1(x)))
        return torch.cat([x, self.conv2(functional.relu(self.norm2(y)))], 1)


class Transition(nn.Module):
    """Norm, ReLU, 1×1, half the side."""

    def __init__(self, segments: Sequence[int], outputs: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(sum(segments))
        self.conv = MaskedConv(sum(segments), outputs, 1, segments=segments)

    def forward(self, x: Tensor) -> Tensor:
        return functional.avg_pool2d(self.conv(functional.relu(self.norm(x))), 2)


class DenseNet(SuperNet):
    """One drop probability per layer and block of features that it reads."""

    def __init__(self, shape: DenseNetShape, **drops: object) -> None:
        super().__init__()
        half = shape.stem // 2
        convs = [(3, half, 3, 2), (half, half, 3, 1), (half, shape.stem, 3, 1)]
        stem: list[nn.Module] = []
        for inputs, outputs, kernel, stride in convs:
            conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
            stem += [conv, nn.BatchNorm2d(outputs), nn.ReLU()]
        self.stem = nn.Sequential(*stem, nn.MaxPool2d(3, 2, 1))
        parts: list[nn.Module] = []
        inputs = shape.stem
        for stage, depth in enumerate(shape.depths):
            segments = [inputs]
            for _ in range(depth):
                parts.append(DenseLayer(segments, shape.growth, shape.bottleneck))
                segments = [*segments, shape.growth]
            inputs = sum(segments)
            if stage < len(shape.depths) - 1:
                parts.append(Transition(segments, inputs // 2))
                inputs //= 2
        self.parts = nn.Sequential(*parts)
        self.norm = nn.BatchNorm2d(inputs)
        self.head = nn.Linear(inputs, shape.classes)  # without a mask, like the stem
        _initialise(self)
        self.own(**drops)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> Tensor:
        return self.head(functional.relu(self.norm(self.parts(self.stem(x)))).mean((2, 3)))

    def links(self) -> list[Link]:
        layers = [i for i, part in enumerate(self.parts) if isinstance(part, DenseLayer)]
        return [Link(f"parts.{i}.conv1", (f"parts.{i}.norm2",), (f"parts.{i}.conv2",)) for i in layers]


def _initialise(network: nn.Module) -> None:
    for part in network.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.kaiming_normal_(part.weight)
