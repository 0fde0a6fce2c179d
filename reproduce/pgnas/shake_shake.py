"""SupNet-M and SupNet-MI: the shake-shake network of Gastaldi (2017), as section 3.1 has it."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from reproduce.pgnas.masked import Link, MaskedConv, MaskedLinear, SuperNet


@dataclass(frozen=True, kw_only=True)
class Shape:
    """26 2×96d as published: four blocks in each of three stages, the first of 96 channels."""

    width: int = 96  # 160 gives the 72.7 million parameters of SupNet-MI (D7)
    blocks: int = 4
    stem: int = 16
    classes: int = 10
    shake: bool = True  # False: both branches count half in training, too (D11)


class _Shaken(torch.autograd.Function):
    """share·a + (1 − share)·b, with shares of their own on the way back."""

    @staticmethod
    def forward(context, a: Tensor, b: Tensor, share: Tensor, back: Tensor) -> Tensor:  # type: ignore[override]
        context.save_for_backward(back)
        return torch.lerp(b, a, share)

    @staticmethod
    def backward(context, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        (back,) = context.saved_tensors
        first = gradient * back
        return first, gradient - first, None, None


class Branch(nn.Module):
    """ReLU, 3×3, norm, ReLU, 3×3, norm; the first ReLU is the block's."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = MaskedConv(inputs, outputs, 3, stride=stride, padding=1)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = MaskedConv(outputs, outputs, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(outputs)

    def forward(self, rectified: Tensor) -> Tensor:
        return self.norm2(self.conv2(functional.relu(self.norm1(self.conv1(rectified)))))


class Skip(nn.Module):
    """Two 1×1 convolutions, of the image and of the image moved by a pixel, side by side."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.conv1 = MaskedConv(inputs, outputs // 2, 1)
        self.conv2 = MaskedConv(inputs, outputs // 2, 1)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        s = self.stride
        moved = functional.pad(x[:, :, 1:, 1:], (0, 1, 0, 1))
        return self.norm(torch.cat([self.conv1(x[:, :, ::s, ::s]), self.conv2(moved[:, :, ::s, ::s])], 1))


class Block(nn.Module):
    """Two branches whose shares are drawn per image, beside an identity or a skip."""

    def __init__(self, inputs: int, outputs: int, stride: int, shape: Shape) -> None:
        super().__init__()
        sizes = inputs, outputs, stride
        self.first, self.second, self.shake = Branch(*sizes), Branch(*sizes), shape.shake
        self.skip = Skip(*sizes) if inputs != outputs else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        rectified = functional.relu(x)
        a, b = self.first(rectified), self.second(rectified)
        if not (self.training and self.shake):
            return self.skip(x) + 0.5 * (a + b)
        # A share is one of two uniform draws over their sum, as in the authors' code, not a uniform one.
        u = torch.rand(2, 2, len(x), 1, 1, 1, device=x.device, dtype=x.dtype)
        share, back = u[:, 0] / u.sum(1)
        return self.skip(x) + _Shaken.apply(a, b, share, back)


class ShakeShake(SuperNet):
    """One drop probability per convolution and one for the classifier."""

    def __init__(self, shape: Shape, **drops: object) -> None:
        super().__init__()
        self.shape = shape
        self.stem = MaskedConv(3, shape.stem, 3, padding=1)
        self.stem_norm = nn.BatchNorm2d(shape.stem)
        blocks, inputs = [], shape.stem
        for stage in range(3):
            for number in range(shape.blocks):
                outputs = shape.width * 2**stage
                blocks.append(Block(inputs, outputs, 2 if stage and not number else 1, shape))
                inputs = outputs
        self.blocks = nn.ModuleList(blocks)
        self.head = MaskedLinear(inputs, shape.classes)
        for part in self.modules():
            if isinstance(part, MaskedConv):
                nn.init.normal_(part.weight, std=(2 / (part.weight[0, 0].numel() * part.out_channels)) ** 0.5)
        self.own(**drops)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem_norm(self.stem(x))
        for block in self.blocks:
            x = block(x)
        return self.head(functional.relu(x).mean((2, 3)))

    def links(self) -> list[Link]:
        branches = [f"blocks.{i}.{name}" for i in range(len(self.blocks)) for name in ("first", "second")]
        return [Link(f"{b}.conv1", (f"{b}.norm1",), (f"{b}.conv2",)) for b in branches]
