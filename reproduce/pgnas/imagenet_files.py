"""ImageNet's files, a folder per class: read when they are wanted, augmented as ResNets on it are."""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from harness.base.errors import HarnessError
from harness.base.files import find_data

if TYPE_CHECKING:
    from PIL.Image import Image

# Those of ImageNet, by which networks on it are commonly normalised; of 0 to 255.
MEAN = 255 * np.array([0.485, 0.456, 0.406], np.float32)
DEVIATION = 255 * np.array([0.229, 0.224, 0.225], np.float32)
CENTRE = 0.875  # what of a resized image's side the centre crop keeps
AREA, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)  # of a random window (He et al. 2016 as commonly run, D26)
TRIES, DRAWS = 10, 41  # windows tried per image, and the numbers that they and the mirror take


@dataclass(frozen=True)
class FileBatches:
    """What `harness.training.batches.Batches` is for small images."""

    paths: tuple[Path, ...]
    y: np.ndarray
    side: int
    device: str = "cpu"

    def __len__(self) -> int:
        return len(self.y)

    def take(self, indices: np.ndarray, crops: np.random.Generator | None = None) -> tuple[Tensor, Tensor]:
        """These images: a random window, mirrored or not, where a generator is given, else the centre."""
        paths = [self.paths[i] for i in indices]
        if crops is None:
            one, draws = partial(centre, side=self.side), [None] * len(paths)
        else:
            one = partial(window, side=self.side)
            draws = list(crops.random((len(paths), DRAWS)))  # numbers first: reading is in no order
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            pixels = np.stack(list(pool.map(lambda path, drawn: one(_open(path), drawn), paths, draws)))
        x = torch.from_numpy((pixels - MEAN) / DEVIATION).permute(0, 3, 1, 2).to(self.device)
        return x, torch.from_numpy(self.y[indices]).to(self.device)

    def in_order(self, batch: int, images: int | None = None) -> "InOrder":
        """The first images, all where it is None, as they are, in batches."""
        return InOrder(self, batch, len(self) if images is None else min(images, len(self)))


@dataclass(frozen=True)
class InOrder:
    """Batches that are read again whenever they are gone through: as tensors they would take gigabytes."""

    images: FileBatches
    batch: int
    last: int

    def __len__(self) -> int:
        return -(-self.last // self.batch)

    def __getitem__(self, place: int) -> tuple[Tensor, Tensor]:
        if not 0 <= place < len(self):
            raise IndexError(place)
        first = place * self.batch
        return self.images.take(np.arange(first, min(first + self.batch, self.last)))


def parts(classes: int) -> tuple[list[Path], np.ndarray, list[Path], np.ndarray]:
    """Files and labels to train and to test, from the folders that NAS_DATA leads to."""
    found: list[list[Path] | np.ndarray] = []
    names: list[str] | None = None
    for part in ("train", "val"):
        folder = find_data(f"imagenet/{part}")
        if folder is None:
            raise HarnessError(
                f"imagenet/{part} is not there: put ImageNet below a folder of NAS_DATA as"
                f" imagenet/{part}/n01440764/…, one folder per class (it is had from https://image-net.org)"
            )
        there = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
        if len(there) != classes or (names is not None and there != names):
            raise HarnessError(
                f"{folder} holds {len(there)} folders where {classes} classes are wanted, the same in"
                " train and val: unpack each class's images into a folder of its name"
            )
        names = there
        paths = [sorted((folder / name).glob("*.JPEG")) for name in there]
        found += [sum(paths, []), np.repeat(np.arange(classes), [len(p) for p in paths])]
    return tuple(found)  # type: ignore[return-value]


def _open(path: Path) -> "Image":
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            return image.convert("RGB")
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError) as error:
        raise HarnessError(f"{path} cannot be read as an image ({error}): get it again") from None


def centre(image: "Image", drawn: None, side: int) -> np.ndarray:
    """Resized by its shorter side, then the centre."""
    from PIL.Image import Resampling

    shorter = round(side / CENTRE)
    factor = shorter / min(image.size)
    width, height = (max(shorter, round(factor * length)) for length in image.size)
    left, top = (width - side) // 2, (height - side) // 2
    resized = image.resize((width, height), Resampling.BILINEAR)
    return np.asarray(resized.crop((left, top, left + side, top + side)), np.float32)


def window(image: "Image", drawn: np.ndarray, side: int) -> np.ndarray:
    """A window of random area and shape, resized, half of them mirrored; the middle where none fits."""
    from PIL.Image import Resampling, Transpose

    width, height = image.size
    short = min(width, height)
    box = (width - short) // 2, (height - short) // 2, (width + short) // 2, (height + short) // 2
    for area, shape, left, top in drawn[: 4 * TRIES].reshape(TRIES, 4).tolist():
        pixels = width * height * (AREA[0] + area * (AREA[1] - AREA[0]))
        ratio = math.exp(math.log(RATIO[0]) + shape * math.log(RATIO[1] / RATIO[0]))
        w, h = round(math.sqrt(pixels * ratio)), round(math.sqrt(pixels / ratio))
        if 0 < w <= width and 0 < h <= height:
            x, y = int(left * (width - w + 1)), int(top * (height - h + 1))
            box = x, y, x + w, y + h
            break
    image = image.crop(box).resize((side, side), Resampling.BILINEAR)
    if drawn[-1] < 0.5:
        image = image.transpose(Transpose.FLIP_LEFT_RIGHT)
    return np.asarray(image, np.float32)
