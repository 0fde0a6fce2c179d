"""Where the witness of super-networks on NAS-Bench-201 and this project's both start."""

import torch
from torch import Tensor
from witness.formula import noise

Batch = tuple[Tensor, Tensor]

SIZES = {"C4": (4, 8), "C16": (16, 16)}  # channels of a network, and pixels per side of its images
IMAGES, SIDE, CHANNELS = 8, 8, 4  # images of a minibatch; the network that is trained
EPOCHS, STEPS = 2, 10  # of a training, and minibatches per epoch
UPDATES, LONG = 20, 103  # of a fine-tuning; minibatches of one that is long enough for a second ValAcc
LEARN, VALIDATE, STATISTICS, WHOLE = 10_000, 20_000, 30_000, 30_100  # number of the first of such images

# Paths through three cells: per cell six operations (none, skip, 1x1, 3x3, pool), one for each edge.
PATHS = {
    "convolutions": ("333333",) * 3,
    "per cell": ("210342", "412310", "031424"),
    "edges whose way ends": ("330100", "324100", "013301"),
    "edges that begin with zeros": ("002133", "003120", "020204"),
    "no way to the output": ("002033", "330000", "303120"),
    "nothing": ("000000",) * 3,
}
RANKED = ("203341", "331100", "120443")  # architectures that are fine-tuned; the second has dead edges


def minibatch(number: int, side: int = SIDE) -> Batch:
    """Images of noise in double precision, and a class for each."""
    labels = (noise(number + 500_000, IMAGES) + 1.0) * 5.0
    return 2.0 * noise(number, IMAGES, 3, side, side), labels.floor().to(torch.int64)


def minibatches(first: int, count: int) -> list[Batch]:
    return [minibatch(first + i) for i in range(count)]


def flat(tensors: list[Tensor]) -> Tensor:
    """All numbers of these tensors in a row; of a network's buffers without the counters."""
    return torch.cat([t.detach().reshape(-1) for t in tensors if t.is_floating_point()])
