"""How searches by gradient move an architecture: Algorithms 1 to 3 of section 3.3 and our controls."""

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
from harness.training.optimisers import Adam, architecture_optimiser, set_rate, weight_optimiser
from reproduce.sotl.curvature import eigenvalues
from reproduce.sotl.mixed_networks import MixedNetwork, Mixture, heaviest, read
from reproduce.sotl.search_setup import OneShot

SMALL = 0.01  # of finite differences (Eq. 3.12), over the norm of the direction, as DARTS has it


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """When the architecture is moved, and along which gradient."""

    gradient: Literal["validation", "training", "noise"] = "validation"
    unroll: int = 1  # T: minibatches per update of the architecture (Algorithm 3)
    rollout: bool = False  # gradients summed along T steps that are then taken back (SoTL, SoVL)
    second_order: bool = False  # Eq. 3.11 with Eq. 3.12
    mean: bool = False  # instead of the sum of T gradients
    slip: bool = False  # sum the parameters in place of their gradients, as the author's SoVL did (D44)
    momentum_restored: bool = True  # with the weights (D43)
    optimiser: Literal["adam", "sgd"] = "adam"


@dataclass(frozen=True, kw_only=True)
class Search(OneShot, Algorithm, Mixture):
    """A search: its network, its algorithm, its optimisers. Epochs are `darts_epochs`."""

    architecture: Adam
    darts_epochs: int
    curvature_every: int = 5  # epochs
    curvature_images: int = 256  # the same each time (D45)


class SearchLoop(Steps):
    """One step: an update of the architecture and the T minibatches that go with it."""

    def __init__(self, run: Run, config: Search, mixed: MixedNetwork, train: Batches, held: Batches) -> None:
        per_epoch = -(-len(train) // config.batch_size)
        if config.unroll > per_epoch:
            raise HarnessError(
                f"{run.spec.id}: unroll is {config.unroll} minibatches, an epoch has {per_epoch}: lower it"
            )
        self.chunks = -(-per_epoch // config.unroll)
        kept = ("alphas", "mover", "rows", "curves", "travelled")
        super().__init__(
            run,
            train,
            config.batch_size,
            config.darts_epochs,
            config.weights,
            None,
            *kept,
            unit="update of the architecture",
        )
        self.total = config.darts_epochs * self.chunks
        self.config, self.mixed, self.held, self.name = config, mixed, held, "the mixed network"
        self.network, self.alphas = mixed.network, mixed.parameters
        self.optimiser = weight_optimiser(self.network, config.weights)
        self.mover = _mover(self.alphas, config)
        self.first = [alpha.detach().clone() for alpha in self.alphas]
        self.rows, self.curves, self.travelled = [], [], 0.0

    def _one(self) -> float:
        if self.step == 0:
            self._note(0)
        epoch, chunk = divmod(self.step, self.chunks)
        first = epoch * self.per_epoch + chunk * self.config.unroll
        steps = range(first, min(first + self.config.unroll, (epoch + 1) * self.per_epoch))
        self.network.train()
        before = [alpha.detach().clone() for alpha in self.alphas]
        slopes = self._rollout(steps) if self.config.rollout else self._slope(first)
        self._move(slopes)
        self.travelled += _distance(self.alphas, before)
        losses = [self._train(step) for step in steps]
        if chunk + 1 == self.chunks:
            self._note(epoch + 1)
        return sum(losses) / len(losses)

    def _note(self, epoch: int) -> None:
        """What the search would choose after this epoch, and how far it has come."""
        arch = self.mixed.architecture()
        self.rows.append(
            {
                "epoch": epoch,
                "architecture": arch,
                "updates": epoch * self.chunks,
                "travelled": self.travelled,
                "moved": _distance(self.alphas, self.first),
                "heaviest": heaviest(self.mixed.chosen()),
                **read(self.config.space, arch),
            }
        )
        if epoch % self.config.curvature_every == 0 or epoch == self.config.darts_epochs:
            self.curves.append({"epoch": epoch, **self._curvature()})

    def _curvature(self) -> dict[str, float]:
        """The ends of the spectrum of the loss' Hessian by the architecture's parameters (section 4.3.5)."""
        found, start = {}, Start(self.network, self.optimiser, momentum=False)
        self.network.train()
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

    def _train(self, step: int) -> float:
        """One step of the weights, at the architecture as it is."""
        set_rate(self.optimiser, self.rates[step])
        self.optimiser.zero_grad()
        fixed = [alpha.detach() for alpha in self.alphas]
        loss = self._loss(self.batch(step), f"draws of step {step}", fixed)
        loss.backward()
        self.optimiser.step()
        return loss.item()

    def _loss(self, batch: tuple[Tensor, Tensor], draws: str, alphas: list[Tensor] | None = None) -> Tensor:
        x, y = batch
        return functional.cross_entropy(self.mixed.logits(x, self.run.stream(draws), alphas), y)

    def _slope(self, step: int) -> list[Tensor]:
        """The gradient from one minibatch, before the weights' step (Algorithms 1 and 2)."""
        if self.config.gradient == "noise":
            rng = self.run.stream(f"noise of step {step}")
            return [torch.from_numpy(rng.standard_normal(alpha.shape)).to(alpha) for alpha in self.alphas]
        batch = self._held(step) if self.config.gradient == "validation" else self.batch(step)
        if self.config.second_order:
            return self._second_order(step, batch)
        loss = self._loss(batch, f"draws of the architecture's step {step}")
        return list(torch.autograd.grad(loss, list(self.alphas)))

    def _held(self, step: int) -> tuple[Tensor, Tensor]:
        """Validation minibatches in an order of their own, cropped and flipped, too."""
        whole = max(1, len(self.held) // self.batch_size)
        epoch, place = divmod(step, whole)
        order = self.run.stream(f"validation order of epoch {epoch}").permutation(len(self.held))
        chosen = order[place * self.batch_size : (place + 1) * self.batch_size]
        return self.held.take(chosen, self.run.stream(f"validation crops of step {step}"))

    def _rollout(self, steps: range) -> list[Tensor]:
        """Algorithm 3, step 1: the sum of direct gradients along T steps of training, then taken back."""
        config = self.config
        start = Start(self.network, self.optimiser, config.momentum_restored)
        sums = [torch.zeros_like(alpha) for alpha in self.alphas]
        alphas, weights = list(self.alphas), [p for p in self.network.parameters() if p.requires_grad]
        for step in steps:
            if config.gradient == "validation":
                self._train(step)
                loss = self._loss(self._held(step), f"draws of the architecture's step {step}")
                slopes = torch.autograd.grad(loss, alphas)
            else:
                set_rate(self.optimiser, self.rates[step])
                loss = self._loss(self.batch(step), f"draws of the rollout's step {step}")
                (*slopes,) = torch.autograd.grad(loss, [*alphas, *weights])
                for weight, slope in zip(weights, slopes[len(alphas) :], strict=True):
                    weight.grad = slope
                self.optimiser.step()
                slopes = slopes[: len(alphas)]
            for total, slope, alpha in zip(sums, slopes, alphas, strict=False):
                total += alpha.detach() if config.slip else slope
        start.restore()
        return [total / len(steps) for total in sums] if config.mean else sums

    def _second_order(self, step: int, held: tuple[Tensor, Tensor]) -> list[Tensor]:
        """Eq. 3.11, the product with the second derivative by central differences (Eq. 3.12).

        The look-ahead is the optimiser's own step with momentum and weight decay, as in DARTS' code.
        """
        alphas, weights = list(self.alphas), list(self.network.parameters())
        kept = [weight.detach().clone() for weight in weights]
        train, rate, setup = self.batch(step), self.rates[step], self.config.weights
        draws = f"draws of step {step}"
        slopes = torch.autograd.grad(self._loss(train, draws), weights)
        with torch.no_grad():
            for weight, slope in zip(weights, slopes, strict=True):
                push = slope + setup.weight_decay * weight
                if (buffer := self.optimiser.state[weight].get("momentum_buffer")) is not None:
                    push = push + setup.momentum * buffer
                weight -= rate * push
        loss = self._loss(held, f"draws of the architecture's step {step}")
        (*direct,) = torch.autograd.grad(loss, [*alphas, *weights])
        towards = direct[len(alphas) :]
        size = SMALL / float(torch.cat([slope.flatten() for slope in towards]).norm())
        sides = []
        for sign in (1, -1):
            with torch.no_grad():
                for weight, was, slope in zip(weights, kept, towards, strict=True):
                    weight.copy_(was + sign * size * slope)
            sides.append(torch.autograd.grad(self._loss(train, draws), alphas))
        with torch.no_grad():
            for weight, was in zip(weights, kept, strict=True):
                weight.copy_(was)
        return [
            of_held - rate * (high - low) / (2 * size)
            for of_held, high, low in zip(direct, *sides, strict=False)
        ]

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


class Start:
    """Weights, statistics and, if asked, momentum before a rollout, to which training returns."""

    def __init__(self, network: nn.Module, optimiser: torch.optim.SGD, momentum: bool) -> None:
        self.network, self.optimiser = network, optimiser
        self.kept = [value.clone() for value in network.state_dict().values()]
        self.buffers = None
        if momentum:
            found = {p: optimiser.state[p].get("momentum_buffer") for p in network.parameters()}
            self.buffers = {p: None if b is None else b.clone() for p, b in found.items()}

    @torch.no_grad()
    def restore(self) -> None:
        for value, was in zip(self.network.state_dict().values(), self.kept, strict=True):
            value.copy_(was)
        for parameter, buffer in (self.buffers or {}).items():
            self.optimiser.state[parameter]["momentum_buffer"] = buffer


def _mover(alphas: nn.ParameterList, config: Search) -> torch.optim.Optimizer:
    setup = config.architecture
    if config.optimiser == "adam":
        return architecture_optimiser(alphas, setup)
    return torch.optim.SGD(alphas, lr=setup.lr, weight_decay=setup.weight_decay)


def _distance(alphas: nn.ParameterList, others: list[Tensor]) -> float:
    """Mean over parameters of how far each lies from the other."""
    gaps = [(alpha.detach() - other).abs().flatten() for alpha, other in zip(alphas, others, strict=True)]
    return float(torch.cat(gaps).mean())
