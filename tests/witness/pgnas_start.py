"""Weights, inputs and uniform numbers from which PGNAS's witness and this project's layers both start."""

import torch
from torch import Tensor
from witness.formula import noise

LAYERS = {  # case: channels in and out, kernel, stride, padding, dilation, segments, l², first probability
    "plain": (6, 5, 3, 1, 1, 1, None, 80.0, 0.1),
    "strided": (4, 7, 3, 2, 1, 1, None, 10.0, 0.5),
    "dilated": (3, 2, 3, 1, 2, 2, None, 100.0, 0.3),
    "segments": (10, 4, 1, 1, 0, 1, (4, 3, 3), 100.0, 0.1),
    "one segment": (4, 4, 1, 1, 0, 1, (4,), 100.0, 0.1),
}
IMAGES, SIDE = 3, 6
N = 1281167.0  # training images of ImageNet, in the authors' file


def logits(case: str) -> Tensor:
    """One for each segment, not all alike."""
    segments = LAYERS[case][6] or (1,)
    return torch.linspace(-2.5, 1.5, len(segments)).double() + noise(700, len(segments))


def weight(case: str) -> Tensor:
    inputs, outputs, kernel = LAYERS[case][:3]
    return noise(710 + list(LAYERS).index(case), outputs, inputs, kernel, kernel)


def images(case: str) -> Tensor:
    return 2 * noise(720, IMAGES, LAYERS[case][0], SIDE, SIDE)


def uniform(number: int, *shape: int) -> Tensor:
    return (noise(number, *shape) + 1) / 2


DENSE, DENSE_L2, DENSE_SIDE = (2, 3), 50.0, 32  # layers per block of a small DenseNet, l², pixels


def dense_logits(count: int) -> Tensor:
    return noise(750, count) - 1


def dense_images() -> tuple[Tensor, Tensor]:
    return 2 * noise(760, 4, 3, DENSE_SIDE, DENSE_SIDE), torch.tensor([0, 3, 4, 1])
