"""Appendix A: SubImageNet, 100 of ImageNet's classes with 250 images each to train and 250 to evaluate.

Those that the authors took are the first by name; a seed draws others (D7).
Reading is done by Pillow, as the augmentations of Table 5 were.
"""

import hashlib
import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from torch import Tensor

from harness.base.errors import HarnessError
from harness.base.files import find_data
from harness.data.splits import permutation
from reproduce.icw.training_setup import Augmentation
from reproduce.icw.training_setup import Config as Setup

if TYPE_CHECKING:
    from PIL.Image import Image

FOLDER, CLASSES = "imagenet/train", 1000
# Those of ImageNet, by which networks on it are commonly normalised; of 0 to 255.
MEAN = 255 * np.array([0.485, 0.456, 0.406], np.float32)
DEVIATION = 255 * np.array([0.229, 0.224, 0.225], np.float32)
CENTRE = 0.875  # what of a resized image's side the centre crop keeps (pytorch-image-models' default, D8)
TRIES, DRAWS = 10, 50  # windows tried per image; uniform numbers drawn per image, used or not


class Sampled(Protocol):
    """What of a config decides the sample."""

    classes_sampled: int
    per_class: int
    sample_seed: int | None
    device: str


@dataclass(frozen=True)
class Files:
    """Image files, their labels and classes, and a hash of which they are."""

    paths: tuple[Path, ...]
    y: np.ndarray
    classes: tuple[str, ...]
    sha256: str  # of class and file names, in order


def sample(folder: Path, which: Sampled) -> tuple[Files, Files]:
    """The same classes and images wherever ImageNet's training set lies: as published, a folder per class."""
    there = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
    if len(there) != CLASSES:
        raise HarnessError(
            f"{folder} holds {len(there)} folders where ImageNet's training set has {CLASSES} classes:"
            " unpack each class's archive into a folder of its name"
        )
    seed = which.sample_seed
    by_name = range(CLASSES) if seed is None else permutation(CLASSES, seed)
    chosen = sorted(by_name[: which.classes_sampled])
    classes, n = tuple(there[i] for i in chosen), which.per_class
    parts: tuple[list[Path], list[Path]] = ([], [])
    for index, name in zip(chosen, classes, strict=True):
        images = sorted(entry.name for entry in (folder / name).iterdir() if entry.suffix == ".JPEG")
        if len(images) < 2 * n:
            raise HarnessError(
                f"{folder / name} holds {len(images)} images: {2 * n} are wanted of each class"
            )
        place = range(len(images)) if seed is None else permutation(len(images), (seed + 1) * CLASSES + index)
        for part, picked in zip(parts, (place[:n], place[n : 2 * n]), strict=True):
            part += [folder / name / images[i] for i in sorted(picked)]
    y = np.repeat(np.arange(len(classes)), n)
    return tuple(Files(tuple(part), y, classes, _hash(part)) for part in parts)


def _hash(paths: list[Path]) -> str:
    names = "\n".join(f"{path.parent.name}/{path.name}" for path in paths)
    return hashlib.sha256(names.encode()).hexdigest()


@dataclass(frozen=True)
class FolderBatches:
    """What `harness.training.batches.Batches` is for small images: batches of files, read when wanted."""

    files: Files
    setup: Setup
    device: str = "cpu"

    def __len__(self) -> int:
        return len(self.files.y)

    def take(self, indices: np.ndarray, crops: np.random.Generator | None = None) -> tuple[Tensor, Tensor]:
        """These images, augmented at random where a generator is given, else resized and cropped."""
        paths = [self.files.paths[i] for i in indices]
        setup = self.setup
        if crops is None:
            one, draws = (lambda path, _: evaluated(_open(path), setup.side)), [None] * len(paths)
        else:
            one = partial(_augmented_file, setup=setup)
            draws = list(crops.random((len(paths), DRAWS)))  # numbers first: reading is in no order
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            pixels = np.stack(list(pool.map(one, paths, draws)))
        x = torch.from_numpy((pixels - MEAN) / DEVIATION).permute(0, 3, 1, 2).to(self.device)
        return x, torch.from_numpy(self.files.y[indices]).to(self.device)

    def in_order(self, batch: int, images: int | None = None) -> "InOrder":
        """The first images, all where it is None, as they are, in batches."""
        return InOrder(self, batch, len(self) if images is None else min(images, len(self)))


@dataclass(frozen=True)
class InOrder:
    """Batches that are read again whenever they are gone through: as tensors they would take gigabytes."""

    images: FolderBatches
    batch: int
    last: int

    def __len__(self) -> int:
        return -(-self.last // self.batch)

    def __getitem__(self, place: int) -> tuple[Tensor, Tensor]:
        if not 0 <= place < len(self):
            raise IndexError(place)
        first = place * self.batch
        return self.images.take(np.arange(first, min(first + self.batch, self.last)))


def parts(setup: Setup, which: Sampled) -> tuple[FolderBatches, FolderBatches]:
    """The images to train and those to evaluate, from the folder that NAS_DATA leads to."""
    folder = find_data(FOLDER)
    if folder is None:
        raise HarnessError(
            f"SubImageNet is sampled from ImageNet's training images: put them below a folder of NAS_DATA as"
            f" {FOLDER}/n01440764/…, one folder per class (they are had from https://image-net.org)"
        )
    return tuple(FolderBatches(files, setup, which.device) for files in sample(folder, which))


def _open(path: Path) -> "Image":
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            return image.convert("RGB")
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError) as error:
        raise HarnessError(f"{path} cannot be read as an image ({error}): get it again") from None


def _augmented_file(path: Path, draws: np.ndarray, setup: Setup) -> np.ndarray:
    return augmented(_open(path), setup.side, setup.augmentation, draws)


def evaluated(image: "Image", side: int) -> np.ndarray:
    """Resized by its shorter side, then the centre (Table 5)."""
    from PIL.Image import Resampling

    shorter = round(side / CENTRE)
    factor = shorter / min(image.size)
    width, height = (max(shorter, round(factor * length)) for length in image.size)
    left, top = (width - side) // 2, (height - side) // 2
    resized = image.resize((width, height), Resampling.BILINEAR)
    return np.asarray(resized.crop((left, top, left + side, top + side)), np.float32)


def augmented(image: "Image", side: int, how: Augmentation, draws: np.ndarray) -> np.ndarray:
    """A window of random area and shape, resized, mirrored, its colours changed (Table 5)."""
    from PIL.Image import Resampling, Transpose

    draws = iter(draws.tolist())
    box = window(
        image.size, how, [(next(draws), next(draws), next(draws), next(draws)) for _ in range(TRIES)]
    )
    kinds = {"bilinear": (Resampling.BILINEAR,), "random": (Resampling.BILINEAR, Resampling.BICUBIC)}
    kind = kinds[how.interpolation or "bilinear"]
    image = image.crop(box).resize((side, side), kind[int(next(draws) * len(kind))])
    if how.flip and next(draws) < 0.5:
        image = image.transpose(Transpose.FLIP_LEFT_RIGHT)
    if how.colour_jitter:
        image = jittered(image, how.colour_jitter, [next(draws) for _ in range(6)])
    return np.asarray(image, np.float32)


def window(
    size: tuple[int, int], how: Augmentation, tries: list[tuple[float, float, float, float]]
) -> tuple[int, int, int, int]:
    """The first of some random windows that fits: its share of the area uniform, its log ratio too."""
    (width, height), (low, high) = size, how.scale or (1.0, 1.0)
    narrow, wide = how.ratio or (1.0, 1.0)
    for share, shape, left, top in tries:
        area = width * height * (low + share * (high - low))
        ratio = math.exp(math.log(narrow) + shape * (math.log(wide) - math.log(narrow)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            x, y = int(left * (width - w + 1)), int(top * (height - h + 1))
            return x, y, x + w, y + h
    ratio = min(max(width / height, narrow), wide)  # none fitted: the largest in the middle
    w, h = min(width, round(height * ratio)), min(height, round(width / ratio))
    x, y = (width - w) // 2, (height - h) // 2
    return x, y, x + w, y + h


def jittered(image: "Image", strength: float, draws: list[float]) -> "Image":
    """Brightness, contrast and saturation, each by a factor around 1, in random order."""
    from PIL import ImageEnhance

    steps = (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color)
    for place in np.argsort(draws[:3]):
        image = steps[place](image).enhance(1 + strength * (2 * draws[3 + place] - 1))
    return image
