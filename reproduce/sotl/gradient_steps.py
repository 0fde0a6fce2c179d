"""The steps of a search by gradient: Algorithms 1 to 3 of section 3.3 and our controls."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.runs.record import Run
from harness.training.batches import Batches
from harness.training.loop import Steps
from harness.training.optimisers import (
    Adam,
    architecture_optimiser,
    learning_rates,
    set_rate,
    weight_optimiser,
)
from reproduce.sotl.architecture_slopes import WAYS, Start
from reproduce.sotl.curvature import eigenvalues
from reproduce.sotl.mixed_networks import MixedNetwork, Mixture, heaviest, read
from reproduce.sotl.search_setup import OneShot

# What an algorithm may be given besides; those that are not named have no use for it.
TAKES = {
    "unroll": ("sotl", "sotl_exact", "sovl", "sovl_slip", "one_minibatch", "noise"),
    "mean": ("sotl", "sotl_exact", "sovl"),
    "momentum_restored": ("sotl", "sovl", "sovl_slip"),
    "merged": ("sotl", "sotl_exact", "one_minibatch", "noise"),  # those that ask no validation image
}


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """Along which gradient the architecture is moved, and when; `architecture_slopes` has them all."""

    algorithm: Literal[
        "darts",  # Algorithm 2
        "darts_second_order",  # Algorithm 1
        "sotl",  # Algorithm 3
        "sotl_exact",  # with Eq. 3.20 in place of Eq. 3.22
        "sovl",  # with validation images
        "sovl_slip",  # sums parameters in place of their gradients, as the author's did (D44)
        "one_minibatch",  # one training minibatch's, every T minibatches
        "noise",  # in directions that nothing was learnt from
    ] = "darts"
    unroll: int = 1  # T: minibatches per update of the architecture
    mean: bool = False  # instead of the sum of T gradients
    momentum_restored: bool = True  # behind a rollout, with the weights (D43)
    merged: bool = False  # validation images are trained on, too (SoTL-DARTS-20, section 4.3.2)
    optimiser: Literal["adam", "sgd"] = "adam"

    def __post_init__(self) -> None:
        if self.unroll < 1:
            raise HarnessError(
                f"algorithm {self.algorithm}: unroll is {self.unroll} minibatches: take 1 or more"
            )
        for field, takers in TAKES.items():
            given = getattr(self, field)
            if self.algorithm not in takers and given != getattr(Algorithm, field):
                raise HarnessError(
                    f"algorithm {self.algorithm} has no use for {field}: {given}:"
                    f" leave it out, or take one of {', '.join(takers)}"
                )


@dataclass(frozen=True, kw_only=True)
class Search(OneShot, Algorithm, Mixture):
    """A search: its network, its algorithm, its optimisers. Epochs are `darts_epochs`."""

    architecture: Adam
    darts_epochs: int
    minibatches: int | None = None  # of an epoch; all images' where it is None (D47)
    curvature_every: int | None = 5  # epochs; None: never
    curvature_images: int = 256  # the same each time (D45)


@dataclass(frozen=True)
class Found:
    """What a search would have chosen after each epoch, the spectrum at some, and its last epoch's loss."""

    rows: list[dict]
    curves: list[dict]
    loss: float


class SearchLoop(Steps):
    """One step: an update of the architecture and the T minibatches that go with it.

    An epoch may be cut short (`minibatches`); a pass over the images then goes on in the next one.
    """

    resting = 0  # epochs at the start that leave the architecture where it is

    def __init__(self, run: Run, config: Search, mixed: MixedNetwork, train: Batches, held: Batches) -> None:
        kept = ("alphas", "mover", "rows", "curves", "travelled")
        setup, epochs, unit = config.weights, config.darts_epochs, "update of the architecture"
        super().__init__(run, train, config.batch_size, epochs, setup, None, *kept, unit=unit)
        self.in_epoch = self.per_epoch if config.minibatches is None else config.minibatches
        if config.unroll > self.in_epoch:
            raise HarnessError(
                f"{run.spec.id}: unroll is {config.unroll} minibatches,"
                f" an epoch has {self.in_epoch}: lower it"
            )
        self.chunks = -(-self.in_epoch // config.unroll)
        self.total = epochs * self.chunks
        self.rates = learning_rates(setup, epochs, self.in_epoch)
        self.config, self.mixed, self.held, self.name = config, mixed, held, "the mixed network"
        self.network, self.alphas = mixed.network.train(), mixed.parameters
        self.optimiser = weight_optimiser(self.network, setup)
        self.mover = _mover(self.alphas, config)
        self.first = [alpha.detach().clone() for alpha in self.alphas]
        self.rows, self.curves, self.travelled = [], [], 0.0
        self._held_order: tuple[int, np.ndarray] | None = None  # of the current pass

    def _one(self) -> float:
        if self.step == 0:
            self._note(0)
        epoch, chunk = divmod(self.step, self.chunks)
        first = epoch * self.in_epoch + chunk * self.config.unroll
        steps = range(first, min(first + self.config.unroll, (epoch + 1) * self.in_epoch))
        if epoch >= self.resting:
            before = [alpha.detach().clone() for alpha in self.alphas]
            self._move(self.slopes(steps))
            self.travelled += _distance(self.alphas, before)
        losses = [self.train_on(step) for step in steps]
        if chunk + 1 == self.chunks:
            self._note(epoch + 1)
        return sum(losses) / len(losses)

    def slopes(self, steps: range) -> list[Tensor]:
        """By which the architecture is moved before these minibatches train the weights."""
        return WAYS[self.config.algorithm](self, steps)

    def found(self) -> Found:
        return Found(self.rows, self.curves, float(np.mean(self.losses[-self.chunks :])))

    def _note(self, epoch: int) -> None:
        """What the search would choose after this epoch, and how far it has come."""
        arch, every = self.mixed.architecture(), self.config.curvature_every
        self.rows.append(
            {
                "epoch": epoch,
                "architecture": arch,
                "updates": max(0, epoch - self.resting) * self.chunks,
                "travelled": self.travelled,
                "moved": _distance(self.alphas, self.first),
                "heaviest": heaviest(self.mixed.chosen()),
                **read(self.config.space, arch),
            }
        )
        if every is not None and (epoch % every == 0 or epoch == self.config.darts_epochs):
            self.curves.append({"epoch": epoch, **self._curvature()})

    def _curvature(self) -> dict[str, float]:
        """The ends of the spectrum of the loss' Hessian by the architecture's parameters (section 4.3.5)."""
        found, start = {}, Start(self.network, self.optimiser, momentum=False)
        for part, images in (("train", self.images), ("val", self.held)):
            batch = images.take(np.arange(min(self.config.curvature_images, len(images))))
            ends = eigenvalues(lambda alphas, batch=batch: self._mean_loss(batch, alphas), list(self.alphas))
            found |= {f"largest_{part}": ends.largest, f"smallest_{part}": ends.smallest}
        start.restore()
        return found

    def _mean_loss(self, batch: tuple[Tensor, Tensor], alphas: list[Tensor]) -> Tensor:
        """At the weights by which an architecture is chosen."""
        x, y = batch
        return functional.cross_entropy(self.mixed.logits(x, None, alphas), y)

    def train_on(self, step: int) -> float:
        """One step of the weights, at the architecture as it is."""
        set_rate(self.optimiser, self.rates[step])
        self.optimiser.zero_grad()
        fixed = [alpha.detach() for alpha in self.alphas]
        loss = self.loss(self.batch(step), f"draws of step {step}", fixed)
        loss.backward()
        self.optimiser.step()
        return loss.item()

    def loss(self, batch: tuple[Tensor, Tensor], draws: str, alphas: list[Tensor] | None = None) -> Tensor:
        x, y = batch
        return functional.cross_entropy(self.mixed.logits(x, self.run.stream(draws), alphas), y)

    def held_batch(self, step: int) -> tuple[Tensor, Tensor]:
        """Validation minibatches in an order of their own, cropped and flipped, too."""
        whole = max(1, len(self.held) // self.batch_size)
        epoch, place = divmod(step, whole)
        if self._held_order is None or self._held_order[0] != epoch:
            order = self.run.stream(f"validation order of epoch {epoch}").permutation(len(self.held))
            self._held_order = epoch, order
        chosen = self._held_order[1][place * self.batch_size : (place + 1) * self.batch_size]
        return self.held.take(chosen, self.run.stream(f"validation crops of step {step}"))

    def _move(self, slopes: list[Tensor]) -> None:
        for alpha, slope in zip(self.alphas, slopes, strict=True):
            alpha.grad = slope
        self.mover.step()
        for alpha in self.alphas:
            if not bool(alpha.isfinite().all()):
                value = alpha[~alpha.isfinite()][0].item()
                raise HarnessError(
                    f"{self.run.spec.id}: an architecture parameter became {value} at update {self.step + 1}"
                    f" of {self.total}: lower architecture.lr or weights.lr_max"
                )


def _mover(alphas: nn.ParameterList, config: Search) -> torch.optim.Optimizer:
    setup = config.architecture
    if config.optimiser == "adam":
        return architecture_optimiser(alphas, setup)
    return torch.optim.SGD(alphas, lr=setup.lr, weight_decay=setup.weight_decay)


def _distance(alphas: nn.ParameterList, others: list[Tensor]) -> float:
    """Mean over parameters of how far each lies from the other."""
    gaps = [(alpha.detach() - other).abs().flatten() for alpha, other in zip(alphas, others, strict=True)]
    return float(torch.cat(gaps).mean())
