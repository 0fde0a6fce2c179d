"""Section 2 and appendix B: the convolutional network of the image experiments."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

HeadBN = Literal["shared_all_depths", "last_depth_only", "per_depth"]
EPS, MOMENTUM = 1e-5, 0.1  # of every batch norm, PyTorch's defaults
STEM_KERNEL = 5


@dataclass(frozen=True)
class Shape:
    """What a network is built from; the defaults are appendix B's."""

    max_depth: int  # D
    side: int  # of the images, in pixels
    channels: int  # of the images
    classes: int = 10
    width: int = 64  # outer channels
    bottleneck: int = 32
    head_bn: HeadBN = "shared_all_depths"  # which depths feed the head's running statistics (D12)

    @property
    def inner_side(self) -> int:
        """Side of all feature maps behind f_0."""
        return (self.side - STEM_KERNEL + 1) // 2


class Block(nn.Sequential):
    """f_i: He et al.'s pre-activation bottleneck of 1x1, 3x3, 1x1 convolutions, each with a bias."""

    def __init__(self, width: int, bottleneck: int) -> None:
        super().__init__(
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, bottleneck, 1),
            nn.BatchNorm2d(bottleneck),
            nn.ReLU(inplace=True),
            nn.Conv2d(bottleneck, bottleneck, 3, padding=1),
            nn.BatchNorm2d(bottleneck),
            nn.ReLU(inplace=True),
            nn.Conv2d(bottleneck, width, 1),
        )


class Head(nn.Module):
    """f_{D+1} behind the pooling: x + BN(ReLU(Linear)), Linear; the same weights at every depth.

    In training every depth is normalised by its own batch. The running statistics are those that calling one
    BatchNorm1d with depth 0, 1, …, D in turn would leave: they belong mostly to the deepest ones (D12).
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.mode = shape.head_bn
        self.hidden = nn.Linear(shape.width, shape.width)
        self.norm_weight = nn.Parameter(torch.ones(shape.width))
        self.norm_bias = nn.Parameter(torch.zeros(shape.width))
        self.output = nn.Linear(shape.width, shape.classes)
        kept = shape.max_depth + 1 if shape.head_bn == "per_depth" else 1
        self.register_buffer("running_mean", torch.zeros(kept, shape.width))
        self.register_buffer("running_var", torch.ones(kept, shape.width))

    def forward(self, pooled: Tensor, first: int = 0, *, remember: bool = True) -> Tensor:
        """Logits [images, depths, classes] from pooled activations [images, depths, width], `first` on."""
        h = functional.relu(self.hidden(pooled))
        return self.output(pooled + self._normalise(h, first, remember))

    def _normalise(self, h: Tensor, first: int, remember: bool) -> Tensor:
        images, depths, width = h.shape
        weight, bias = self.norm_weight.repeat(depths), self.norm_bias.repeat(depths)
        if self.training:  # momentum 1 leaves the batch's own statistics of each depth
            mean, var = h.new_zeros(depths * width), h.new_ones(depths * width)
            out = functional.batch_norm(
                h.reshape(images, -1), mean, var, weight, bias, training=True, momentum=1.0, eps=EPS
            )
            if remember:
                self._remember(mean.view(depths, width), var.view(depths, width), first)
        else:
            kept = slice(first, first + depths) if self.mode == "per_depth" else slice(0, 1)
            mean = self.running_mean[kept].expand(depths, -1).reshape(-1)
            var = self.running_var[kept].expand(depths, -1).reshape(-1)
            out = functional.batch_norm(
                h.reshape(images, -1), mean, var, weight, bias, training=False, eps=EPS
            )
        return out.view(images, depths, width)

    @torch.no_grad()
    def _remember(self, mean: Tensor, var: Tensor, first: int) -> None:
        """Running statistics after this step; `shared_all_depths` is a geometric mixture of the depths."""
        depths = len(mean)
        for running, seen in ((self.running_mean, mean), (self.running_var, var)):
            if self.mode == "per_depth":
                running[first : first + depths].lerp_(seen, MOMENTUM)
            elif self.mode == "last_depth_only":
                running.lerp_(seen[-1:], MOMENTUM)
            else:
                age = torch.arange(depths - 1, -1, -1, dtype=seen.dtype, device=seen.device)
                share = MOMENTUM * (1 - MOMENTUM) ** age
                running.mul_((1 - MOMENTUM) ** depths).add_((share[:, None] * seen).sum(0))


class ConvNet(nn.Module):
    """Input block f_0, residual blocks f_1..f_D, output block f_{D+1}, and the depth posterior's logits."""

    def __init__(self, shape: Shape, learnt: bool) -> None:
        super().__init__()
        self.shape, self.learnt = shape, learnt
        self.input = nn.Sequential(nn.Conv2d(shape.channels, shape.width, STEM_KERNEL), nn.AvgPool2d(2))
        self.blocks = nn.ModuleList(Block(shape.width, shape.bottleneck) for _ in range(shape.max_depth))
        self.head = Head(shape)
        self.depth_logits = nn.Parameter(torch.zeros(shape.max_depth + 1), requires_grad=learnt)

    @property
    def q(self) -> Tensor:
        """q_α(d) of a LDN, initially uniform; all mass on the last depth in a DDN."""
        if self.learnt:
            return torch.softmax(self.depth_logits, 0)
        return functional.one_hot(torch.tensor(self.shape.max_depth), self.shape.max_depth + 1).to(
            self.depth_logits
        )

    def pooled(self, x: Tensor, depth: int | None = None, *, last_only: bool = False) -> Tensor:
        """Mean over pixels of a_0..a_depth: [images, depths, width]; the trunk stops there."""
        a = self.input(x)
        means = [] if last_only else [a.mean((2, 3))]
        for block in self.blocks[:depth]:
            a = a + block(a)
            if not last_only:
                means.append(a.mean((2, 3)))
        return torch.stack(means or [a.mean((2, 3))], 1)

    def forward(self, x: Tensor, depth: int | None = None) -> Tensor:
        """Logits [images, depth 0..`depth`, classes] in one pass; all D blocks where no depth is given."""
        return self.head(self.pooled(x, depth))

    def last_logits(self, x: Tensor) -> Tensor:
        """Logits of depth D alone [images, 1, classes]: all that a DDN reads.

        The authors' DDN runs its head at every depth all the same, which moves the running statistics (D12).
        """
        crowded = self.training and self.shape.head_bn == "shared_all_depths"
        pooled = self.pooled(x, last_only=not crowded)
        if crowded:
            with torch.no_grad():
                self.head(pooled.detach())
        return self.head(pooled[:, -1:], self.shape.max_depth, remember=not crowded)


@dataclass(frozen=True)
class Cost:
    """Multiply-accumulates per image of f_0, one block, f_{D+1} at one depth; batch norm is not counted."""

    input: int
    block: int
    head: int

    def trunk(self, depth: int) -> int:
        return self.input + depth * self.block


def cost(shape: Shape) -> Cost:
    w, b = shape.width, shape.bottleneck
    stem = (shape.side - STEM_KERNEL + 1) ** 2 * STEM_KERNEL**2 * shape.channels * w
    block = shape.inner_side**2 * (2 * w * b + 9 * b * b)
    return Cost(stem, block, w * w + w * shape.classes)
