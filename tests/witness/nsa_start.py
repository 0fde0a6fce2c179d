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
