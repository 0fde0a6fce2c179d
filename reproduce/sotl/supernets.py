"""Super-networks of the thesis and their training (sections 3.4 and 4.2)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import nn

from harness.base.errors import HarnessError
from harness.runs.record import Run
from harness.supernet import darts_net, nb1shot1_net, nb201_net, sampling
from harness.supernet.training import Method, adapt, descend, passes
from harness.training.batches import Batches
from harness.training.loop import Steps
from harness.training.optimisers import set_rate, weight_optimiser
from harness.training.seeded import seeded
from reproduce.sotl.search_setup import OneShot


@dataclass(frozen=True, kw_only=True)
class Training(OneShot, Method):
    """How a super-network is built and trained."""

    space: str
    channels: int
    cells: int  # searched cells per stage; of the DARTS space in all
    head_norm: Literal["batch", "running"] = "batch"  # on NAS-Bench-201, before the classifier (D30)
    anew: bool = True  # tasks: an optimiser without Nesterov momentum, made anew each epoch (D8, D32)
    image_passes: int | None = None  # forward and backward passes in all, instead of epochs (D16)
    amp: bool = False
    device: str = "cpu"


def of_space(config: Training, classes: int) -> tuple[Callable[[], nn.Module], sampling.Choices]:
    """What makes the super-network over a space, and what draws from that space."""
    sizes = config.channels, config.cells, classes
    match config.space:
        case "nb201":
            return lambda: _nb201(config, classes), nb201_net
        case "darts":
            return lambda: darts_net.SuperNetwork(darts_net.Skeleton(*sizes)), darts_net
        case "nb1shot1-1" | "nb1shot1-2" | "nb1shot1-3":
            number = int(config.space[-1])
            skeleton = nb1shot1_net.Skeleton(*sizes)
            return lambda: nb1shot1_net.SuperNetwork(number, skeleton), nb1shot1_net.Choices(number)
    raise HarnessError(f"no super-network of the thesis is over {config.space!r}: see section 3.2.1")


def _nb201(config: Training, classes: int) -> nn.Module:
    network = nb201_net.build(config.channels, config.cells, classes)
    if config.head_norm == "batch":
        network.head[0] = nn.BatchNorm2d(4 * config.channels, affine=False, track_running_stats=False)
    return network


def build(run: Run, config: Training, classes: int) -> tuple[nn.Module, sampling.Choices]:
    """Freshly initialised from a stream of its own."""
    make, choices = of_space(config, classes)
    return seeded(run, "weights", make, config.device), choices


def begin_gradients(network: nb201_net.SuperNetwork, path: sampling.Path) -> None:
    """A zero gradient for what a path runs through to no avail, as where zeros are computed (NOTES D14)."""
    cells = [part for part in network.body if isinstance(part, nb201_net.SuperCell)]
    for cell, row in zip(cells, path, strict=True):
        for edge, op in zip(cell.edges, row, strict=True):
            for parameter in edge[int(op)].parameters():
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)


class SupernetLoop(Steps):
    """A training of a super-network, by one step or one task per minibatch."""

    def __init__(
        self, run: Run, config: Training, network: nn.Module, choices: sampling.Choices, images: Batches
    ) -> None:
        self.draw = sampling.drawing(choices, config.sampling, config.paths, network.cells)
        self.passes_each = passes(config, len(self.draw(run.stream("number of paths"))))
        total, epochs = None, config.one_shot_epochs
        if config.image_passes is not None:
            total = max(1, config.image_passes // self.passes_each)
        super().__init__(run, images, config.batch_size, epochs, config.weights, total)
        self.config, self.network, self.name = config, network, "the super-network"
        self.anew = config.in_tasks and config.anew
        # Steps for which tasks keep a learning rate: an epoch, or as many plateaus (D16).
        self.held_for = self.per_epoch if total is None else max(1, round(total / epochs))
        self.optimiser = self._optimiser(self.rates[0])

    def _one(self) -> float:
        config, amp = self.config, self.config.amp
        if not self.anew:
            set_rate(self.optimiser, self.rates[self.step])
        elif self.step % self.held_for == 0:
            # The author makes this optimiser anew each epoch and never tells it of the schedule (NOTES D8).
            self.optimiser = self._optimiser(self.rates[self.step])
        rng = self.run.stream(f"paths {self.step}")
        batch = self.batch(self.step)
        if config.in_tasks:
            return adapt(self.network, self.optimiser, lambda: self._drawn(rng), batch, config, amp=amp)
        return descend(self.network, self.optimiser, self._drawn(rng), batch, config, amp=amp)

    def _drawn(self, rng: np.random.Generator) -> list[sampling.Path]:
        paths = self.draw(rng)
        if self.config.zero_grad and isinstance(self.network, nb201_net.SuperNetwork):
            for path in paths:
                begin_gradients(self.network, path)
        return paths

    def _optimiser(self, rate: float) -> torch.optim.Optimizer:
        weights = self.config.weights
        optimiser = weight_optimiser(self.network, weights)
        for group in optimiser.param_groups:
            group["lr"] = rate
            if self.anew:
                group["nesterov"] = False
        return optimiser
