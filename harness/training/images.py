"""Image sets made ready for a network."""

from collections.abc import Iterable

import numpy as np

from harness.data.transform import shrink
from harness.runs.record import Run
from harness.training.batches import Batches, Pixels


def batches(
    parts: Iterable[tuple[np.ndarray, np.ndarray]],
    device: str,
    *,
    factor: int = 1,
    pad: int | None = None,
    pixels: Pixels | None = None,
) -> list[Batches]:
    """Of each part, which are images and labels: shrunk, and normalised as the first one is, which trains.

    `pad`: around what is cropped; an eighth of the side where it is None. `pixels`: normalise by these.
    """
    x, y = zip(*((shrink(x, factor), y) for x, y in parts), strict=True)
    pixels = Pixels.of(x[0]) if pixels is None else pixels
    pad = x[0].shape[1] // 8 if pad is None else pad
    return [Batches(*part, pixels, device, pad) for part in zip(x, y, strict=True)]


def leave_source(run: Run, label: str, sha256: str) -> None:
    """The table that says where the training images come from."""
    run.table("data", {"split": ["train"], "label": [label], "sha256": [sha256]})
