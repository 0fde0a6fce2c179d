"""SupNet-E and SupNet-EI: the network that ENAS found on CIFAR-10 (Pham et al. 2018)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from reproduce.pgnas.masked import Link, MaskedConv, MaskedLinear, SuperNet

# Per node two pairs of an input and an operation: 3×3, 5×5, average pool, max pool, identity.
NORMAL = ((0, 2, 0, 0), (0, 4, 0, 1), (0, 4, 1, 1), (1, 0, 0, 1), (0, 2, 1, 1))
REDUCE = ((1, 0, 1, 0), (0, 3, 0, 2), (1, 1, 3, 1), (1, 0, 0, 4), (0, 3, 1, 1))
KERNELS = (3, 5)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """15 layers and two that halve the image; 36 filters are SupNet-E, 72 SupNet-EI."""

    filters: int = 36
    layers: int = 15
    classes: int = 10
    drop_path_keep: float = 0.6  # stays on in the authors' trainings of the super-network (D12)
    auxiliary: bool = True  # a second classifier, which only training uses; it is counted (D18)
    side: int = 32


def same(x: Tensor, kernel: int, stride: int, value: float = 0.0) -> Tensor:
    """Padded as TensorFlow's SAME: where an odd number of pixels is needed, the last is behind."""
    total = max((-(-x.shape[-1] // stride) - 1) * stride + kernel - x.shape[-1], 0)
    before = total // 2
    return functional.pad(x, (before, total - before) * 2, value=value)


class Pointwise(nn.Module):
    """ReLU, 1×1 convolution, norm."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv, self.norm = MaskedConv(inputs, outputs, 1), nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.conv(functional.relu(x)))


class Halved(nn.Module):
    """Half the side: two 1×1 convolutions, of the image and of the image moved by a pixel."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = MaskedConv(inputs, outputs // 2, 1), MaskedConv(inputs, outputs // 2, 1)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        moved = functional.pad(x[:, :, 1:, 1:], (0, 1, 0, 1))
        return self.norm(torch.cat([self.conv1(x[:, :, ::2, ::2]), self.conv2(moved[:, :, ::2, ::2])], 1))


class Separable(nn.Module):
    """Twice: ReLU, a convolution of each channel by itself, which has no mask, 1×1, norm."""

    def __init__(self, channels: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.kernel, self.strides = kernel, (stride, 1)
        self.depth = nn.ModuleList(
            nn.Conv2d(channels, channels, kernel, stride=s, groups=channels, bias=False) for s in self.strides
        )
        self.point = nn.ModuleList(MaskedConv(channels, channels, 1) for _ in self.strides)
        self.norm = nn.ModuleList(nn.BatchNorm2d(channels) for _ in self.strides)

    def forward(self, x: Tensor) -> Tensor:
        for depth, point, norm, stride in zip(self.depth, self.point, self.norm, self.strides, strict=True):
            x = norm(point(depth(same(functional.relu(x), self.kernel, stride))))
        return x


class Pool(nn.Module):
    """3×3; the average leaves out what lies outside the image."""

    def __init__(self, kind: str, stride: int) -> None:
        super().__init__()
        self.kind, self.stride = kind, stride

    def forward(self, x: Tensor) -> Tensor:
        if self.kind == "max":
            return functional.max_pool2d(same(x, 3, self.stride, float("-inf")), 3, self.stride)
        inside = functional.avg_pool2d(same(torch.ones_like(x[:1, :1]), 3, self.stride), 3, self.stride)
        return functional.avg_pool2d(same(x, 3, self.stride), 3, self.stride) / inside


class Cell(nn.Module):
    """Five nodes, each the sum of two operations; those that no node reads are put side by side."""

    def __init__(self, before: tuple[int, int], sides: tuple[int, int], filters: int, stride: int) -> None:
        super().__init__()
        arc = NORMAL if stride == 1 else REDUCE
        if sides[0] != sides[1]:
            self.calibrate0: nn.Module = nn.Sequential(nn.ReLU(), Halved(before[0], filters))
        else:
            self.calibrate0 = Pointwise(before[0], filters) if before[0] != filters else nn.Identity()
        self.calibrate1 = Pointwise(before[1], filters) if before[1] != filters else nn.Identity()
        self.base = Pointwise(filters, filters)
        self.wires = [(node[i], node[i + 1]) for node in arc for i in (0, 2)]
        self.operations = nn.ModuleList(
            self._operation(which, filters, stride if at in (0, 1) else 1) for at, which in self.wires
        )
        read = {at for at, _ in self.wires}
        self.unread = [i for i in range(len(arc) + 2) if i not in read]
        self.out_channels = filters * len(self.unread)

    @staticmethod
    def _operation(which: int, filters: int, stride: int) -> nn.Module:
        if which < 2:
            return Separable(filters, KERNELS[which], stride)
        if which < 4:
            return Pool("average" if which == 2 else "max", stride)
        return Halved(filters, filters) if stride == 2 else nn.Identity()

    def forward(self, first: Tensor, second: Tensor, keep: float) -> Tensor:
        states = [self.calibrate0(first), self.base(self.calibrate1(second))]
        for node in range(len(self.wires) // 2):
            parts = []
            for wire in (2 * node, 2 * node + 1):
                at, which = self.wires[wire]
                x = self.operations[wire](states[at])
                parts.append(_drop_path(x, keep) if which < 4 and self.training else x)
            states.append(parts[0] + parts[1])
        return torch.cat([states[i] for i in self.unread], 1)


def _drop_path(x: Tensor, keep: float) -> Tensor:
    if keep >= 1:
        return x
    return x / keep * torch.floor(keep + torch.rand(len(x), 1, 1, 1, device=x.device, dtype=x.dtype))


class Auxiliary(nn.Module):
    """The second classifier, behind the first layer after the second halving."""

    def __init__(self, inputs: int, side: int, classes: int) -> None:
        super().__init__()
        side = (side - 5) // 3 + 1
        self.conv1, self.norm1 = MaskedConv(inputs, 128, 1), nn.BatchNorm2d(128)
        self.conv2, self.norm2 = MaskedConv(128, 768, side), nn.BatchNorm2d(768)
        self.head = MaskedLinear(768, classes, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.avg_pool2d(functional.relu(x), 5, 3)
        x = functional.relu(self.norm1(self.conv1(x)))
        return self.head(functional.relu(self.norm2(self.conv2(x))).mean((2, 3)))


class EnasNet(SuperNet):
    """The fixed network."""

    def __init__(self, shape: Shape, **drops: object) -> None:
        super().__init__()
        self.shape = shape
        channels = 3 * shape.filters
        self.stem, self.stem_norm = MaskedConv(3, channels, 3, padding=1), nn.BatchNorm2d(channels)
        third = shape.layers // 3
        halves = (third, 2 * third + 1)
        before, sides, filters = (channels, channels), (shape.side, shape.side), shape.filters
        self.cells, self.auxiliary, self.second_at = nn.ModuleList(), None, halves[1] + 1
        for number in range(shape.layers + 2):
            stride = 2 if number in halves else 1
            filters *= stride
            cell = Cell(before, sides, filters, stride)
            before, sides = (before[1], cell.out_channels), (sides[1], sides[1] // stride)
            self.cells.append(cell)
            if number == self.second_at and shape.auxiliary:
                self.auxiliary = Auxiliary(cell.out_channels, sides[1], shape.classes)
        self.head = MaskedLinear(before[1], shape.classes, bias=False)
        for part in self.modules():
            if isinstance(part, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(part.weight)
        self.own(**drops)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> Tensor:
        first = second = self.stem_norm(self.stem(x))
        self.second_logits = None
        for number, cell in enumerate(self.cells):
            ratio = (number + 1) / len(self.cells)
            keep = 1 - self.progress * ratio * (1 - self.shape.drop_path_keep)
            first, second = second, cell(first, second, keep)
            if number == self.second_at and self.auxiliary is not None and self.training:
                self.second_logits = self.auxiliary(second)
        return self.head(functional.relu(second).mean((2, 3)))

    def links(self) -> list[Link]:
        """A channel that a 1×1 convolution drops need not be convolved by itself before."""
        found = []
        for name, part in self.named_modules():
            if isinstance(part, Separable):
                at = [(f"{name}.depth.{i}", f"{name}.point.{i}") for i in range(len(part.strides))]
                found += [Link(depth, (), (point,)) for depth, point in at]
        return found
