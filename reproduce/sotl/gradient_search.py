"""Section 4.3: an architecture is searched by gradient; its choice is looked up after every epoch."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness.runs.checkpoint import Checkpoint, Phase
from harness.runs.ground_truth import Asked
from harness.runs.record import Run
from harness.training.batches import Batches
from reproduce.sotl.gradient_steps import Found, Search, SearchLoop
from reproduce.sotl.mixed_networks import MixedNetwork
from reproduce.sotl.one_shot import image_parts
from reproduce.sotl.progressive import Stages, search_in_stages


@dataclass(frozen=True, kw_only=True)
class Config(Search, Asked):
    """One search and the benchmark that is asked what it found."""

    dataset: str
    division: str = "nb201-cifar10"  # into training and validation images
    divides: Literal["train", "test"] = "train"  # test: all training images train (as in one_shot)
    shrink: int = 1  # pixels per side that are averaged into one
    train_images: int | None = None
    held_images: int | None = None
    truth_datasets: tuple[str, ...]  # of which the truth is told; the first is the search's own
    progressive: Stages | None = None  # in stages, each with `darts_epochs` (SoTL-PDARTS)


def run(run: Run, config: Config) -> None:
    checkpoint = Checkpoint(run)
    leave(run, config, search(run, config, checkpoint))
    checkpoint.remove()


def search(run: Run, config: Config, part: Phase | Checkpoint) -> Found:
    train, held, classes = images = parts(run, config)
    mixed = MixedNetwork(run, config, classes)
    known(run, config, [mixed.architecture()])  # a truth that is not there is told before hours of training
    if config.progressive is not None:
        return search_in_stages(run, config, config.progressive, images, part)
    loop = SearchLoop(run, config, mixed, train, held)
    loop.train(part)
    return loop.found()


def parts(run: Run, config: Config) -> tuple[Batches, Batches, int]:
    """Images to train on and to validate on, and the number of classes."""
    train, held, classes = image_parts(run, config)
    if config.merged:
        x, y = (np.concatenate([getattr(part, name) for part in (train, held)]) for name in ("x", "y"))
        train = Batches(x, y, train.pixels, train.device, train.pad)
    return train, held, classes


def known(run: Run, config: Config, archs: list[str]) -> dict[str, np.ndarray]:
    """The truth of each architecture by the name of its column."""
    if config.truth_source == "none":
        return {}
    found = {}
    for number, name in enumerate(config.truth_datasets):
        column = f"truth_{name.replace('-', '_')}" if number else "truth"
        found[column] = config.truths(run, config.space, archs, name)
    return found


def leave(run: Run, config: Config, found: Found) -> None:
    """Tables `epochs` and `truths`, what would be chosen after each, and `curvature`; the end as metrics."""
    epochs = {name: [row[name] for row in found.rows] for name in found.rows[0]}
    truths = known(run, config, epochs["architecture"])
    run.table("epochs", epochs)
    if truths:
        run.table("truths", {"epoch": epochs["epoch"], **truths})
        run.metric("best_truth", max(truths["truth"]), "%")
    if found.curves:
        run.table("curvature", {name: [row[name] for row in found.curves] for name in found.curves[0]})
    for name, values in {**epochs, **truths}.items():
        if name not in ("epoch", "architecture"):
            run.metric(name, values[-1], "%" if name in truths else "")
    run.metric("final_training_loss", found.loss)
