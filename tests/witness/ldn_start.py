"""Points, images, orders and weights from which the LDN's witness and this project's networks both start."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from witness.formula import fill, noise

WIDTH, BOTTLENECK, SIDE, CHANNELS, DEPTH = 8, 4, 12, 3, 3  # of the small image networks
SPIRALS = {  # case: depth, learnt, learning rate, train points, points of a batch, epochs, patience
    "LDN 20": (20, True, 0.01, 24, 512, 30, 500),
    "LDN 5": (5, True, 0.05, 24, 512, 30, 500),
    "DDN 20": (20, False, 0.01, 24, 512, 30, 500),
    "DDN 5": (5, False, 0.05, 24, 512, 30, 500),
    "unequal minibatches": (3, True, 0.2, 20, 16, 30, 6),
}
IMAGES = {  # case: learnt, the epoch from which on the learning rate is a tenth
    "LDN": (True, None),
    "DDN": (False, 2),
}
TRAIN, SELECT, TEST = 22, 10, 40  # images; minibatches are of 8, so the last are smaller
BATCH, EPOCHS, RATE = 8, 5, 0.05


def points(n: int, number: int) -> tuple[Tensor, Tensor]:
    x = 2 * noise(number, n, 2)
    return x, (torch.sin(3 * x[:, 0]) + x[:, 1] > 0).long()


def images(n: int, number: int, side: int = SIDE, channels: int = CHANNELS) -> tuple[Tensor, Tensor]:
    return 2 * noise(number, n, channels, side, side), ((noise(number + 1, n) + 1) * 5).long()


def order(epoch: int, n: int) -> Tensor:
    """In which order an epoch sees its n points."""
    return noise(5000 + epoch, n).argsort()


def weights(
    stem: Iterable[nn.Parameter], blocks: Iterable[nn.Parameter], head: Iterable[nn.Parameter], logits: Tensor
) -> None:
    """All parameters of a network; the head's in the order in which its layers are called."""
    for part, first in ((stem, 0), (blocks, 100), (head, 900)):
        fill(list(part), first)
    with torch.no_grad():
        logits.copy_(0.1 * noise(950, len(logits)))


def probabilities() -> tuple[Tensor, Tensor]:
    """Predictions for 400 images that leave no bin of a reliability diagram empty, and the labels."""
    predicted = torch.softmax(4 * noise(970, 400, 10), 1)
    chance = (noise(971, 400) + 1) / 2
    return predicted, (predicted.cumsum(1) < chance[:, None]).sum(1).clamp(max=9)
