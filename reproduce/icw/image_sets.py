"""Section 3.1.2 and appendix A: the images of a sequential space, some to train and others to evaluate.

SubImageNet takes both kinds from ImageNet's training images; the small sets here do the same with theirs.
"""

from dataclasses import dataclass

import numpy as np

from harness.base.errors import HarnessError
from harness.data import Images as ImageSet
from harness.data import load
from harness.data.transform import shrink
from harness.runs.record import Run
from harness.training.batches import Batches, Pixels
from reproduce.icw import subimagenet
from reproduce.icw.training_setup import Augmentation
from reproduce.icw.training_setup import Config as Setup


@dataclass(frozen=True, kw_only=True)
class Images:
    """Which images; networks see them as large as `side` of the training set-up says."""

    dataset: str  # an image set, or subimagenet: a sample of ImageNet's
    train_images: int | None = None  # the first so many of an image set train
    held_images: int | None = None  # the next so many evaluate; all that are left where it is None
    classes_sampled: int = 100  # subimagenet (appendix A)
    per_class: int = 250  # subimagenet: so many to train, and as many others to evaluate
    sample_seed: int | None = None  # subimagenet: other classes and images than the authors' (D7)
    device: str = "cpu"


def images(run: Run, setup: Setup, which: Images) -> tuple[Batches, Batches, int]:
    """Images to train, other images to evaluate, and the number of classes."""
    if which.dataset == "subimagenet":
        train, held = subimagenet.parts(setup, which)
        label, sha256 = "SubImageNet as sampled here", train.files.sha256
        run.table("classes", {"class": train.files.classes})
        run.table("data", {"split": ["train"], "label": [label], "sha256": [sha256]})
        return train, held, which.classes_sampled
    _refuse_what_is_for_large_images(run, setup.augmentation)
    found = load(which.dataset, "train")
    n = len(found.y)
    first = n // 2 if which.train_images is None else which.train_images
    last = n if which.held_images is None else first + which.held_images
    if not 0 < first < last <= n:
        raise HarnessError(
            f"{run.spec.id}: {found.card.name} has {n} images: {first} to train and {last - first} to"
            " evaluate cannot be taken"
        )
    return divided(run, setup, found, np.arange(first), np.arange(first, last), which.device)


def divided(
    run: Run, setup: Setup, found: ImageSet, kept: np.ndarray, held: np.ndarray, device: str
) -> tuple[Batches, Batches, int]:
    """These images of a set, as large as the set-up says; what normalises all is of those that train."""
    card = found.card
    run.table("data", {"split": ["train"], "label": [card.title], "sha256": [card.identity.sha256]})
    x, held_x = (shrink(found.x[part], found.x.shape[1] // setup.side) for part in (kept, held))
    pixels, pad = Pixels.of(x), setup.augmentation.pixel_shift or 0
    train = Batches(x, found.y[kept], pixels, device, pad=pad)
    return train, Batches(held_x, found.y[held], pixels, device), card.classes


def _refuse_what_is_for_large_images(run: Run, augmentation: Augmentation) -> None:
    """A set-up that names what small images do not get would be a wrong record of what was done."""
    a = augmentation
    if a.scale or a.ratio or a.interpolation or a.crop or a.colour_jitter or not (a.flip and a.normalise):
        raise HarnessError(
            f"{run.spec.id}: small images are shifted and flipped, nothing else: write augmentation:"
            " {pixel_shift: 2}"
        )
