"""Images, architectures and weights from which nsa's witness and this project both start."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from witness.formula import noise

WIDTH, SIDE, BATCH, CLASSES = 1, 32, 6, 10
SETS = 5  # architectures
CASES = {  # learnt aggregation, norm of each architecture, the ids of a batch
    "NSA": (False, False, [2] * BATCH),
    "NSA-i": (False, False, [3, 0, 4, 1, 1, 2]),
    "weights of edges": (True, False, [3, 0, 4, 1, 1, 2]),
    "NSA-id": (True, True, [3, 0, 4, 1, 1, 2]),
    "WRN": (True, False, None),
}
RATE, MOMENTUM, DECAY, AUXILIARY = 0.1, 0.9, 5e-4, 0.1


def images(number: int = 10) -> tuple[Tensor, Tensor]:
    return 2 * noise(number, BATCH, 3, SIDE, SIDE), ((noise(number + 1, BATCH) + 1) * 5).long()


def levels() -> Tensor:
    """Images on the scale of 0 to 1."""
    return (noise(30, BATCH, 3, SIDE, SIDE) + 1) / 2


def start(weights: Sequence[nn.Parameter], norms: Sequence[nn.Parameter], edges: Sequence[Tensor]) -> None:
    """Convolutions and linear layers with their biases; scales and shifts in turn; edges, stage by stage."""
    with torch.no_grad():
        for number, weight in enumerate(weights, 100):
            inputs = weight[0].numel() if weight.dim() > 1 else 16
            weight.copy_(noise(number, *weight.shape) * (2 / inputs) ** 0.5)
        for number, value in enumerate(norms, 300):
            of_scale = 1.0 if number % 2 == 0 else 0.0
            value.copy_((of_scale + 0.3 * noise(number, value.numel())).reshape(value.shape))
        for number, value in enumerate(edges, 600):
            value.copy_(noise(number, *value.shape))


# Of nsa_steps.json: more architectures than a batch is sorted by, and two steps of semi-supervised learning.
TWENTY = [7 * i % 20 for i in range(20)]
KIND = 3  # images of each kind
SEMI = {  # architectures, norm of each, residual, dropout
    "NSA-id": (SETS, True, False, 0.0),
    "Π model": (1, False, True, 0.25),
}
PASSES = {2: ([3, 0, 4, 1, 1, 2], [0, 2, 4, 3, 1, 0]), 3: ([4, 4, 0, 1, 2, 3], [1, 0, 3, 2, 2, 4])}


def twenty() -> tuple[Tensor, Tensor]:
    return 2 * noise(40, len(TWENTY), 3, SIDE, SIDE), ((noise(41, len(TWENTY)) + 1) * 5).long()


def views(step: int) -> tuple[Tensor, Tensor, Tensor]:
    """Two of the same images, and labels."""
    x, y = images(50 + 10 * step)
    return x, x + 0.3 * noise(55 + 10 * step, *x.shape), y


def kept(number: int, shape: tuple[int, ...], p: float) -> Tensor:
    """A mask of dropout, enlarged; of the pass's nodes in turn."""
    return ((noise(2000 + number, *shape) + 1) / 2 >= p).double() / (1 - p)


def beginning(shape: tuple[int, ...], budget: float) -> Tensor:
    """Where an attack begins."""
    return budget * noise(70, *shape)


def predictions() -> tuple[Tensor, Tensor]:
    """Of 400 images; a tenth as sure as can be."""
    p = torch.softmax(3 * noise(80, 400, CLASSES), -1)
    p[:40] = torch.eye(CLASSES, dtype=p.dtype)[torch.arange(40) % CLASSES]
    return p, ((noise(81, 400) + 1) * 5).long()
