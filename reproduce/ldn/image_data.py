"""Section 3.2: the image sets as normalised tensors, in training, selection and test parts."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from harness.base.errors import HarnessError
from harness.data import Card, Images, load, split
from harness.runs.record import Run

NAMES = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST", "svhn": "SVHN"}


@dataclass(frozen=True)
class Part:
    """Images (NCHW, channels_last) and labels."""

    x: Tensor
    y: Tensor

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class ImageParts:
    """What a run trains on, what chooses its checkpoint, and what it is tested on."""

    train: Part
    select: Part
    test: Part


def image_parts(
    run: Run,
    dataset: str,
    *,
    select_on: str,
    shrink: int,
    train_images: int | None,
    test_images: int | None,
    device: str,
) -> ImageParts:
    """Load, thin out, divide, normalise (D15); subset and division are the same for all runs of a seed."""
    train, test = load(dataset, "train"), load(dataset, "test")
    kept = _subset(len(train.y), train_images, run.stream("train images"), f"{dataset}, train")
    tested = _subset(len(test.y), test_images, run.stream("test images"), f"{dataset}, test")
    if select_on == "val":
        parts = split("tenth", len(kept), seed=run.spec.seed)
        kept, held = kept[parts.train], kept[parts.val]
    _leave_cards(run, train, len(kept), test, len(tested))
    pixels = _shrunk(train.x[kept], shrink)
    mean, sd = pixels.mean((0, 1, 2)), pixels.std((0, 1, 2))

    def part(images: Images, chosen: np.ndarray) -> Part:
        x = torch.from_numpy(_shrunk(images.x[chosen], shrink))
        x = x.sub_(torch.from_numpy(mean)).div_(torch.from_numpy(sd)).permute(0, 3, 1, 2)
        return Part(x.to(device), torch.from_numpy(images.y[chosen]).to(device))

    tests = part(test, tested)
    return ImageParts(part(train, kept), part(train, held) if select_on == "val" else tests, tests)


def _subset(n: int, wanted: int | None, rng: np.random.Generator, where: str) -> np.ndarray:
    if wanted is None or wanted == n:
        return np.arange(n)
    if wanted > n:
        raise HarnessError(f"{where}: {wanted} images are wanted of {n}: lower it in experiments.yaml")
    return np.sort(rng.permutation(n)[:wanted])


def _shrunk(x: np.ndarray, factor: int) -> np.ndarray:
    """Means of factor × factor pixels, as float32 in 0..1; the side must be a multiple of the factor."""
    n, height, width, channels = x.shape
    if height % factor or width % factor:
        raise HarnessError(f"images of {height}x{width} cannot be shrunk {factor} times: choose a divisor")
    if factor == 1:
        return x.astype(np.float32) / np.float32(255)
    blocks = x.reshape(n, height // factor, factor, width // factor, factor, channels)
    return blocks.mean((2, 4), dtype=np.float32) / np.float32(255)


def _leave_cards(run: Run, train: Images, trained: int, test: Images, tested: int) -> None:
    """A table that says which images these are; `label` is what a figure may call them."""
    cards, used = (train.card, test.card), (trained, tested)
    run.table(
        "data",
        {
            "split": [card.split for card in cards],
            "label": [_label(card) for card in cards],
            "title": [card.title for card in cards],
            "published": [card.identity.published for card in cards],
            "images": [card.identity.images for card in cards],
            "used": used,
            "sha256": [card.identity.sha256 for card in cards],
        },
    )


def _label(card: Card) -> str:
    name = NAMES.get(card.name, card.name)
    return name if card.identity.published else f"{card.identity.images:,} images in {name}'s layout"
