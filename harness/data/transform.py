"""Augmentation of uint8 NHWC batches; every draw comes from the generator that is passed in."""

import numpy as np

from harness.base.errors import HarnessError


def crop_flip(x: np.ndarray, rng: np.random.Generator, *, pad: int = 4, flip: bool = True) -> np.ndarray:
    """Zero-pad, crop at random back to size, mirror half of the images: CIFAR's usual augmentation."""
    n = len(x)
    rows, columns = rng.integers(0, 2 * pad + 1, size=(2, n))
    mirrored = rng.random(n) < 0.5 if flip else np.zeros(n, bool)
    return crop(x, rows, columns, mirrored, pad=pad)


def crop(
    x: np.ndarray, rows: np.ndarray, columns: np.ndarray, mirrored: np.ndarray, *, pad: int = 4
) -> np.ndarray:
    """The window at (row, column) of each zero-padded image, mirrored where asked."""
    if x.dtype != np.uint8:
        raise TypeError(f"crop takes uint8 images, not {x.dtype}")
    n, height, width, channels = x.shape
    padded = np.zeros((n, height + 2 * pad, width + 2 * pad, channels), np.uint8)
    padded[:, pad : pad + height, pad : pad + width] = x
    # One item = one row of a window (then one pixel), so that numpy copies blocks instead of single bytes.
    row, pixel = np.dtype((np.void, width * channels)), np.dtype((np.void, channels))
    shape = (n, height + 2 * pad, 2 * pad + 1)
    windows = np.ndarray(shape, row, buffer=padded, strides=padded.strides[:3])
    picked = windows[np.arange(n)[:, None], rows[:, None] + np.arange(height), columns[:, None]]
    out = picked.view(np.uint8).reshape(n, height, width, channels)
    pixels = out.view(pixel)[..., 0]
    pixels[mirrored] = pixels[mirrored][:, :, ::-1]
    return out


def cutout(
    x: np.ndarray, rng: np.random.Generator, *, size: int = 16, fill: int | float | np.ndarray = 0
) -> np.ndarray:
    """The batch with one square per image set to `fill` (a number, or one per channel); any dtype."""
    out = x.copy()
    for image, square in zip(out, _squares(*x.shape[:3], rng, size), strict=True):
        image[square] = fill
    return out


def cutout_mask(n: int, height: int, width: int, rng: np.random.Generator, *, size: int = 16) -> np.ndarray:
    """True where `cutout` would fill: for batches that are cut after normalisation."""
    mask = np.zeros((n, height, width), bool)
    for image, square in zip(mask, _squares(n, height, width, rng, size), strict=True):
        image[square] = True
    return mask


def _squares(
    n: int, height: int, width: int, rng: np.random.Generator, size: int
) -> list[tuple[slice, slice]]:
    """Centre uniform over the pixels, the square clipped at the border (DeVries & Taylor 2017)."""
    start = rng.integers(0, (height, width), size=(n, 2)) - size // 2
    return [
        (slice(max(row, 0), row + size), slice(max(column, 0), column + size))
        for row, column in start.tolist()
    ]


def shrink(x: np.ndarray, factor: int) -> np.ndarray:
    """Means of factor x factor pixels, rounded; the sides must be multiples of the factor."""
    n, height, width, channels = x.shape
    if factor == 1:
        return x
    if height % factor or width % factor:
        raise HarnessError(f"images of {height}x{width} cannot be shrunk {factor} times: choose a divisor")
    blocks = x.reshape(n, height // factor, factor, width // factor, factor, channels)
    return np.rint(blocks.mean((2, 4), dtype=np.float32)).astype(np.uint8)
