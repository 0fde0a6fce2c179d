"""Sections 3.2 and 3.3: the super-networks and their training; one seed gives all methods the same stream.

Every minibatch, crop and path follows from its number and the run's seed, so that a training goes on from
anywhere and the methods of a seed differ in nothing but their additional weights.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.runs.checkpoint import Checkpoint
from harness.runs.record import Run
from harness.supernet import dependent_nb201_net, sequential_net
from harness.supernet.dependent import Dependence
from harness.supernet.nb201_net import Skeleton
from harness.supernet.sampling import Choices, whole
from harness.supernet.sub_space import SubSpace
from harness.training.batches import Batches
from harness.training.optimisers import touch, touched, weight_optimiser
from reproduce.icw import small_sequential
from reproduce.icw.pruning import SUB_SPACES
from reproduce.icw.steps import Steps
from reproduce.icw.training_setup import Config as Setup


@dataclass(frozen=True, kw_only=True)
class Training(Setup):
    """What is trained, and how (Table 5 in the fields of `Setup`)."""

    network: Literal["nb201", "sequential"]
    sub_space: Literal["full", "no-zero", "only-conv"] = "full"  # nb201: which operations are drawn
    space: small_sequential.Space | None = None  # sequential: its layers
    channels: int = 16  # nb201: of the first stage
    cells: int = 2  # nb201: searched cells per stage (section 3.1.1)
    skip_linear: bool = False  # nb201: skip as a 1x1 convolution (D1)
    pool_counts_padding: bool = True  # nb201: as the authors' pooling, unlike the benchmark's (D10)
    dependence: Dependence = Dependence()  # the additional weights (section 3.3)
    split_share: float | None = None  # of the training, before the split: epoch 175 of 250 = 0.7
    zero_grad: bool = True  # weights that were not drawn get zero gradients and keep moving (D13)
    device: str = "cpu"


def build(run: Run, config: Training, classes: int) -> tuple[nn.Module, Choices]:
    """The super-network, its weights drawn from a stream that all methods share, and what draws its paths."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(run.stream("weights").integers(2**63)))
        network, choices = _of(config, classes)
    return network.to(config.device, memory_format=torch.channels_last), choices


def _of(config: Training, classes: int) -> tuple[nn.Module, Choices]:
    if config.network == "nb201":
        skeleton = Skeleton(
            channels=config.channels,
            cells=config.cells,
            classes=classes,
            skip_linear=config.skip_linear,
            pool_counts_padding=config.pool_counts_padding,
        )
        network = dependent_nb201_net.SuperNetwork(skeleton, config.dependence)
        return network, SubSpace(SUB_SPACES[config.sub_space])
    if config.space is None:
        raise HarnessError("a sequential super-network needs the block 'space': write it in experiments.yaml")
    space = config.space
    layers = small_sequential.layers(space)
    network = sequential_net.SuperNetwork(
        small_sequential.stem(space),
        layers,
        small_sequential.head(space, classes, config.dropout),
        small_sequential.channels(space),
        config.dependence,
    )
    return network, sequential_net.Choices([len(layer) for layer in layers])


class Trainer(Steps):
    """A training of a known number of steps, each of which follows from its number."""

    def __init__(
        self, run: Run, config: Training, network: nn.Module, choices: Choices, images: Batches
    ) -> None:
        super().__init__(run, images, config.batch_size, config.epochs, config.weights)
        self.config, self.network, self.choices = config, network, choices
        self.splits_at = None if config.split_share is None else round(config.split_share * self.total)
        self.optimiser = weight_optimiser(network, config.weights)
        self.step = 0
        self.losses: list[float] = []

    def train(self, checkpoint: Checkpoint, kept: dict[str, Any]) -> None:
        """To the end, from where `kept` left off."""
        if kept:
            self.load(kept)
        while self.step < self.total:
            self.one()
            self.run.progress(self.step, self.total, "step of training")
            if checkpoint.due:
                checkpoint.save({"training": self.state()})
        self.network.complete()  # of a split network: copies that no path of the training has asked for

    def one(self) -> None:
        """The next step: one minibatch, one path (section 3.2)."""
        config = self.config
        if self.step == self.splits_at:
            self.network.split(self.optimiser)
        self.set_rate(self.optimiser, self.step)
        path = whole(self.choices.uniform(self.run.stream(f"path {self.step}")), self.network.cells)
        self.network.train()
        self.optimiser.zero_grad(set_to_none=not config.zero_grad)
        x, y = self.batch(self.step)
        loss = functional.cross_entropy(self.network(x, path), y, label_smoothing=config.label_smoothing)
        loss.backward()
        if config.gradient_clip is not None:
            nn.utils.clip_grad_norm_(self.network.parameters(), config.gradient_clip)
        self.optimiser.step()
        if not np.isfinite(value := loss.item()):
            raise HarnessError(
                f"{self.run.spec.id}: the super-network's loss became {value} at step {self.step} of"
                f" {self.total}: lower weights.lr_max"
            )
        self.losses.append(value)
        self.step += 1

    def state(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "losses": self.losses,
            "network": self.network.state_dict(),
            "copies": self.network.copies(),
            "optimiser": self.optimiser.state_dict(),
            "touched": touched(self.network),
        }

    def load(self, kept: dict[str, Any]) -> None:
        self.step, self.losses = kept["step"], list(kept["losses"])
        self.network.load_state_dict(kept["network"])
        self.optimiser.load_state_dict(kept["optimiser"])
        self.network.load_copies(kept["copies"], self.optimiser)
        touch(self.network, kept["touched"])
