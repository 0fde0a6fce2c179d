"""Batches for a network: cropped, flipped, normalised, in the memory format that convolutions like."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from harness.data.transform import crop_flip


@dataclass(frozen=True)
class Pixels:
    """Mean and deviation per channel by which images are normalised, on the scale of 0 to 255."""

    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray) -> "Pixels":
        """Those of a set of images (n, height, width, channels)."""
        return cls(x.mean(axis=(0, 1, 2), dtype=np.float64), x.std(axis=(0, 1, 2), dtype=np.float64))


@dataclass(frozen=True)
class Batches:
    """A set of images that hands out batches; which images and which crops, its caller decides."""

    x: np.ndarray  # uint8, NHWC
    y: np.ndarray
    pixels: Pixels
    device: str = "cpu"
    pad: int = 4  # pixels around an image that is cropped back to its size

    def __len__(self) -> int:
        return len(self.y)

    def take(self, indices: np.ndarray, crops: np.random.Generator | None = None) -> tuple[Tensor, Tensor]:
        """These images, cropped and flipped at random where a generator is given (channels_last)."""
        images = self.x[indices]
        if crops is not None:
            images = crop_flip(images, crops, pad=self.pad)
        # NHWC in memory is what torch calls channels_last: the permutation moves no byte.
        x = torch.from_numpy(images).permute(0, 3, 1, 2).to(self.device)
        mean, deviation = (
            torch.as_tensor(v, dtype=torch.float32, device=self.device)[:, None, None]
            for v in (self.pixels.mean, self.pixels.deviation)
        )
        return (x.float() - mean) / deviation, torch.from_numpy(self.y[indices]).to(self.device)

    def in_order(self, batch: int, images: int | None = None) -> list[tuple[Tensor, Tensor]]:
        """The first images, all where it is None, as they are, in batches."""
        last = len(self) if images is None else min(images, len(self))
        return [self.take(np.arange(i, min(i + batch, last))) for i in range(0, last, batch)]
