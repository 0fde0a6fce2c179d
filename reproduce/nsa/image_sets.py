"""Section 2: the images that networks are trained and tested on, fewer and smaller where a scale says so."""

from dataclasses import dataclass
from typing import Literal

from harness.base.errors import HarnessError
from harness.data import load
from harness.runs.record import Run
from harness.training.batches import Batches
from harness.training.images import batches


@dataclass(frozen=True, kw_only=True)
class Images:
    """Which images."""

    dataset: str
    train_images: int | None = None  # a random part; all where it is null
    test_images: int | None = None  # the first so many
    shrink: int = 1  # pixels per side that are averaged into one
    device: Literal["cpu", "cuda"] = "cpu"


def image_parts(run: Run, which: Images) -> tuple[Batches, Batches, int]:
    """To train on, to test on, and how many classes; a table says which they are."""
    train, test = load(which.dataset, "train"), load(which.dataset, "test")
    for name, found, wanted in (("train", train, which.train_images), ("test", test, which.test_images)):
        if (wanted or 0) > len(found.y):
            raise HarnessError(
                f"{run.spec.id}: {wanted} {name} images are wanted of {len(found.y)}: lower {name}_images"
            )
    chosen = run.stream("images").permutation(len(train.y))[: which.train_images]
    first = slice(which.test_images)
    used = len(chosen), len(test.y[first])
    run.table(
        "data",
        {
            "split": ["train", "test"],
            "label": [train.card.title, test.card.title],
            "images": used,
            "sha256": [train.card.identity.sha256, test.card.identity.sha256],
        },
    )
    parts = ((train.x[chosen], train.y[chosen]), (test.x[first], test.y[first]))
    trained, tested = batches(parts, which.device, factor=which.shrink)
    return trained, tested, train.card.classes
