"""Section 4.2: train a super-network, fine-tune architectures from it, score them by every estimator."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness.data import load, split
from harness.runs.checkpoint import Checkpoint, Phase
from harness.runs.record import Run
from harness.supernet.sampling import whole
from harness.training.batches import Batches
from harness.training.images import batches, leave_source
from reproduce.sotl.candidates import Ranked, candidates
from reproduce.sotl.score_tables import leave_tables
from reproduce.sotl.scoring import Scorer, Scoring
from reproduce.sotl.supernets import SupernetLoop, Training, build


@dataclass(frozen=True, kw_only=True)
class Config(Training, Ranked, Scoring):
    """One super-network and what is ranked with it."""

    dataset: str
    division: str = "nb201-cifar10"  # into training and validation images
    divides: Literal["train", "test"] = (
        "train"  # test: all training images train, half of the others validates
    )
    shrink: int = 1  # pixels per side that are averaged into one
    train_images: int | None = None  # a thinned set: the first of the division
    held_images: int | None = None  # the same of validation images


def run(run: Run, config: Config) -> None:
    checkpoint = Checkpoint(run)
    scorer = search(run, config, checkpoint)
    leave_tables(run, config, scorer.ranked, scorer.scores)
    checkpoint.remove()


def search(run: Run, config: Config, part: Phase | Checkpoint) -> Scorer:
    """Train the super-network and score every architecture."""
    ranked = candidates(run, config)
    train, held, classes = image_parts(run, config)
    network, choices = build(run, config, classes)
    trainer = SupernetLoop(run, config, network, choices, train)
    trainer.train(part)
    run.metric("steps", trainer.total)
    run.metric("passes", trainer.total * trainer.passes_each)
    run.metric("final_training_loss", float(np.mean(trainer.losses[-trainer.per_epoch :])))
    paths = [whole(choices.choice(arch), network.cells) for arch in ranked.archs]
    scorer = Scorer(run, config, network, train, held, ranked, paths, amp=config.amp)
    scorer.score(part)
    return scorer


def image_parts(run: Run, config: Config) -> tuple[Batches, Batches, int]:
    """Training and validation images, and the number of classes."""
    images = load(config.dataset, "train")
    leave_source(run, images.card.title, images.card.identity.sha256)
    divided = images if config.divides == "train" else load(config.dataset, "test")
    parts = split(config.division, len(divided.y))
    kept = parts.train if config.divides == "train" else np.arange(len(images.y))
    kept = kept[: config.train_images]
    # Each super-network has its own order, so that ValAccMini and ValAcc have the noise of their images.
    validating = run.stream("validation order").permutation(parts.val)[: config.held_images]
    chosen = [(images.x[kept], images.y[kept]), (divided.x[validating], divided.y[validating])]
    return *batches(chosen, config.device, factor=config.shrink), images.card.classes
