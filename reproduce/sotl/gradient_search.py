"""Section 4.3: an architecture is searched by gradient; its choice is looked up after every epoch."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness.runs.checkpoint import Checkpoint
from harness.runs.ground_truth import Asked
from harness.runs.record import Run
from reproduce.sotl.gradient_steps import Search, SearchLoop
from reproduce.sotl.mixed_networks import MixedNetwork
from reproduce.sotl.one_shot import image_parts


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


def run(run: Run, config: Config) -> None:
    checkpoint = Checkpoint(run)
    train, held, classes = image_parts(run, config)
    mixed = MixedNetwork(run, config, classes)
    known(run, config, [mixed.architecture()])  # a truth that is not there is told before hours of training
    search = SearchLoop(run, config, mixed, train, held)
    search.train(checkpoint)
    leave(run, config, search)
    checkpoint.remove()


def known(run: Run, config: Config, archs: list[str]) -> dict[str, np.ndarray]:
    """The truth of each architecture by the name of its column."""
    if config.truth_source == "none":
        return {}
    found = {}
    for number, name in enumerate(config.truth_datasets):
        column = f"truth_{name.replace('-', '_')}" if number else "truth"
        found[column] = config.truths(run, config.space, archs, name)
    return found


def leave(run: Run, config: Config, search: SearchLoop) -> None:
    """Tables `epochs` and `truths`, what would be chosen after each, and `curvature`; the end as metrics."""
    rows, curves = search.rows, search.curves
    epochs = {name: [row[name] for row in rows] for name in rows[0]}
    truths = known(run, config, epochs["architecture"])
    run.table("epochs", epochs)
    if truths:
        run.table("truths", {"epoch": epochs["epoch"], **truths})
        run.metric("best_truth", max(truths["truth"]), "%")
    run.table("curvature", {name: [row[name] for row in curves] for name in curves[0]})
    for name, values in {**epochs, **truths}.items():
        if name not in ("epoch", "architecture"):
            run.metric(name, values[-1], "%" if name in truths else "")
    run.metric("final_training_loss", float(np.mean(search.losses[-search.chunks :])))
