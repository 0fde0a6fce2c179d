"""Section 2: the network whose wiring is drawn for each batch or each image; WRN-28-10† is one of it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.base.errors import HarnessError
from reproduce.nsa import sums
from reproduce.nsa.dropout import Dropout
from reproduce.nsa.norms import Norm
from reproduce.nsa.wiring import NODES, STAGES, checked

FEW = 16  # architectures of a batch up to which its images are sorted by them


@dataclass(frozen=True)
class Shape:
    """What a network consists of, its wirings aside."""

    width: int = 10
    classes: int = 10
    channels: int = 3  # of images
    side: int = 32
    nodes: int = NODES
    mean: bool = True  # of a node's inputs; else their sum (D1)
    auxiliary: bool = True  # a second classifier behind the second transition, for training
    dropout: float = 0.0
    learn_aggregation: bool = False  # weights of edges, of each architecture its own
    conditional_norm: bool = False  # scale and shift of each architecture
    own_statistics: bool = False  # and running statistics; needs one architecture per batch

    def __post_init__(self) -> None:
        if not 0 <= self.dropout < 1:
            raise HarnessError(f"dropout: {self.dropout} leaves nothing: choose one from 0 to below 1")
        if self.side // 4 < 2:
            raise HarnessError(f"images of {self.side} pixels are too small for two halvings: at least 8")


class WiredNet(nn.Module):
    """`wired`: [architecture, stage, row, column]; `forward` takes ids of them, or a wiring of its own."""

    def __init__(self, shape: Shape, wired: np.ndarray) -> None:
        super().__init__()
        self.shape = shape
        n = len(checked(wired, shape.nodes))
        # Derived from ids, so that a checkpoint need not hold them.
        self.register_buffer("shares", _shares(wired, shape.mean), persistent=False)
        if shape.learn_aggregation:
            self.aggregation = nn.Parameter(torch.ones(self.shares.shape))
        sizes = [16 * shape.width * 2**stage for stage in range(STAGES)]

        def norm(channels: int) -> Norm:
            return Norm(channels, n if shape.conditional_norm else 1, n if shape.own_statistics else 1)

        self.stem, self.stem_norm = (
            nn.Conv2d(shape.channels, sizes[0], 3, padding=1, bias=False),
            norm(sizes[0]),
        )
        self.stages = nn.ModuleList(_Stage(shape, size, norm) for size in sizes)
        self.transitions = nn.ModuleList(
            _Transition(low, high, norm) for low, high in zip(sizes, sizes[1:], strict=False)
        )
        self.classifier = nn.Linear(sizes[-1], shape.classes)
        if shape.auxiliary:
            self.second = _Second(sizes[-1], shape.side // 4, shape.classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: Tensor, which: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Logits, and in training those of the second classifier; `which` as in `weights`."""
        if which.ndim != 1:
            return self._through(x, which.new_zeros(1, dtype=torch.long), self.weights(which), (len(x),))
        if len(which) == 1:
            return self._through(x, which, self.weights(which), (len(x),))
        present, counts = which.unique(return_counts=True)
        if len(present) > FEW:
            return self._through(x, which, self.weights(which), None)
        order = which.argsort(stable=True)
        outputs = self._through(x[order], which[order], self.weights(present), tuple(counts.tolist()))
        back = order.argsort()
        return (outputs[0][back], outputs[1][back]) if isinstance(outputs, tuple) else outputs[back]

    def _through(
        self, x: Tensor, ids: Tensor, weights: Tensor, sizes: sums.Sizes
    ) -> Tensor | tuple[Tensor, Tensor]:
        x = self.stem_norm(self.stem(x), ids)
        for stage in range(STAGES - 1):
            x = self.stages[stage](x, weights[:, stage], sizes, ids)
            x = self.transitions[stage](x, ids)
        y = self.stages[-1](x, weights[:, -1], sizes, ids)
        logits = self.classifier(torch.relu(y).mean((2, 3)))
        return (logits, self.second(x)) if self.training and self.shape.auxiliary else logits

    def foreign(self, wired: np.ndarray) -> Tensor:
        """What `forward` takes for an architecture that is none of the network's own."""
        return _shares(checked(wired, self.shape.nodes), self.shape.mean).to(self.shares.device)

    def weights(self, which: Tensor) -> Tensor:
        """[images or 1, stage, row, column]: of ids, one for all images or one per image, or of a wiring."""
        if which.ndim != 1:
            if self.shape.learn_aggregation or self.shape.conditional_norm:
                raise HarnessError(
                    "an architecture that was not trained has no weights of its own: use an id"
                )
            return which[None]
        if not self.shape.learn_aggregation:
            return self.shares[which]
        return self.shares[which] * torch.sigmoid(self.aggregation[which])


class _Stage(nn.Module):
    def __init__(self, shape: Shape, channels: int, norm: Callable[[int], Norm]) -> None:
        super().__init__()
        self.convs = nn.ModuleList(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(shape.nodes)
        )
        self.norms = nn.ModuleList(norm(channels) for _ in range(shape.nodes))
        self.dropout = Dropout(shape.dropout)

    def forward(self, x: Tensor, weights: Tensor, sizes: sums.Sizes, ids: Tensor) -> Tensor:
        rows = sums.begin(x, weights[:, :, 0], sizes)
        for node, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True), 1):
            x = norm(self.dropout(conv(torch.relu(rows.pop(0)))), ids)
            rows = sums.add(rows, x, weights[:, node:, node], sizes)
        return rows[0]


class _Transition(nn.Module):
    """To half the side and twice the channels."""

    def __init__(self, low: int, high: int, norm: Callable[[int], Norm]) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(low, high, 1, bias=False), norm(high)

    def forward(self, x: Tensor, ids: Tensor) -> Tensor:
        # The mean of four pixels first: it commutes with a convolution of one pixel and leaves it a quarter.
        return self.norm(self.conv(functional.avg_pool2d(torch.relu(x), 2)), ids)


class _Second(nn.Module):
    """The second classifier, for images of any side: it sees four overlapping parts (of 8 pixels: 5 each)."""

    def __init__(self, channels: int, side: int, classes: int) -> None:
        super().__init__()
        stride = max(1, 3 * side // 8)
        self.pool = nn.AvgPool2d(side - stride, stride)
        self.conv1, self.norm1 = nn.Conv2d(channels, 128, 1, bias=False), nn.BatchNorm2d(128)
        self.conv2, self.norm2 = nn.Conv2d(128, 768, 2, bias=False), nn.BatchNorm2d(768)
        self.classifier = nn.Linear(768, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.norm1(self.conv1(self.pool(torch.relu(x)))))
        x = torch.relu(self.norm2(self.conv2(x)))
        return self.classifier(x.flatten(1))


def _shares(wired: np.ndarray, mean: bool) -> Tensor:
    """Each row's inputs weigh alike, and one together where they are averaged."""
    return torch.from_numpy((wired / (wired.sum(-1, keepdims=True) if mean else 1)).astype(np.float32))
