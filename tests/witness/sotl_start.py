"""Where the witnesses of super-network training and fine-tuning on NAS-Bench-201 start, on both sides."""

import torch
from formula import noise
from torch import Tensor

Batch = tuple[Tensor, Tensor]

IMAGES, SIDE, CHANNELS = 8, 8, 4  # of a minibatch; of an image in pixels; of the network
EPOCHS, STEPS = 2, 10  # of a training, and minibatches per epoch
LEARN, VALIDATE, STATISTICS = 10_000, 20_000, 30_000  # number of the first tensor of each sort of image

# One path through three cells per line, as digits of operations (none, skip, 1x1, 3x3, pool) per edge.
PATHS = {
    "convolutions": ("333333",) * 3,
    "per cell": ("210342", "412310", "031424"),
    "edges whose way ends": ("330100", "324100", "013301"),
    "edges that begin with zeros": ("002133", "003120", "020204"),
    "no way to the output": ("002033", "330000", "303120"),
    "nothing": ("000000",) * 3,
}
RANKED = ("203341", "331100", "120443")  # architectures that are fine-tuned; the second has dead edges


def minibatch(number: int, images: int = IMAGES, side: int = SIDE) -> Batch:
    """Images of noise in double precision, and a class for each."""
    labels = (noise(number + 500_000, images) + 1.0) * 5.0
    return 2.0 * noise(number, images, 3, side, side), labels.floor().to(torch.int64)


def minibatches(first: int, count: int) -> list[Batch]:
    return [minibatch(first + i) for i in range(count)]
