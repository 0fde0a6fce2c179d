"""Section 4: the architectures that super-networks score, their size and truth, and the images they see."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from harness.base import seeds
from harness.data import load, split
from harness.runs.ground_truth import Asked
from harness.runs.record import Run
from harness.spaces import nb201
from harness.supernet.sub_space import SubSpace
from harness.training.batches import Batches
from reproduce.icw import image_sets, small_sequential
from reproduce.icw.pruning import SUB_SPACES
from reproduce.icw.supernets import Training


@dataclass(frozen=True, kw_only=True)
class Ranked(image_sets.Images, Asked):
    """Which images, which architectures, and which truth these are compared with."""

    division: str = "tenth"  # nb201: into training and validation images (Table 5: 5,000 are withheld)
    architectures: int = 1000  # scored; all where the space has no more (section 4)
    drawn_with: int = 0  # the seed of the sample: one for all super-networks (D11)
    consistency: int = 0  # sequential: further architectures, without a truth (appendix F)
    truth_dataset: str = "cifar10"  # nb201: what the benchmark is asked for
    truth_epochs: int = 200
    truth_split: str = "test"
    truth_trials: str = "mean"
    truth_source: str = "best"


@dataclass(frozen=True)
class Candidates:
    """Architectures, the parameters of each alone, and the truth where the benchmark has one."""

    archs: list[str]
    params: np.ndarray
    truth: np.ndarray | None = None
    whole_space: bool = False


def candidates(run: Run, training: Training, ranked: Ranked, classes: int) -> Candidates:
    """Those that are compared with a truth: the same for every method and seed."""
    if training.network == "sequential":
        archs = small_sequential.ranked(training.space, ranked.architectures)
        return Candidates(archs, small_sequential.params_of(training.space, archs, classes))
    archs = every = SubSpace(SUB_SPACES[training.sub_space]).enumerate()
    if ranked.architectures < len(every):
        draw = seeds.stream(ranked.drawn_with, f"architectures of {training.sub_space}")
        archs = [every[i] for i in np.sort(draw.choice(len(every), ranked.architectures, replace=False))]
    truth = ranked.truths(run, "nb201", archs, ranked.truth_dataset)
    params = nb201.SPACE.params_of(archs, ranked.truth_dataset)
    return Candidates(archs, params, truth, len(archs) == len(every))


def for_consistency(training: Training, ranked: Ranked, classes: int) -> Candidates:
    """Random architectures of the sequential space; what is asked of them is whether super-networks agree."""
    if training.network != "sequential" or not ranked.consistency:
        return Candidates([], np.array([]))
    draw = seeds.stream(ranked.drawn_with, "architectures for self-consistency")
    archs = small_sequential.sample(training.space, ranked.consistency, draw)
    return Candidates(archs, small_sequential.params_of(training.space, archs, classes))


def images(run: Run, training: Training, ranked: Ranked) -> tuple[Batches, Batches, int]:
    """Training and validation images, the same for every method and seed, and the number of classes."""
    if training.network == "sequential":
        return image_sets.images(run, training, ranked)
    found = load(ranked.dataset, "train")
    parts = split(ranked.division, len(found.y))
    kept, held = parts.train[: ranked.train_images], parts.val[: ranked.held_images]
    return image_sets.divided(run, training, found, kept, held, ranked.device)


def calibrating(
    run: Run, images: Batches, batch: int, passes: int, *, augmented: bool = False
) -> list[Tensor]:
    """Training images, cropped as in training or not: the same minibatches for every architecture (D14)."""
    order = run.stream("calibration order").permutation(len(images))
    crops = run.stream("calibration crops") if augmented else None
    place = np.arange(passes * batch).reshape(passes, batch) % len(order)
    return [images.take(order[indices], crops)[0] for indices in place]
