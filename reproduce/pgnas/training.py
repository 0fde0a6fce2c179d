"""Algorithm 1, lines 1 to 6, and what it is compared with: how a super-network is trained."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.data.transform import cutout_mask
from harness.runs.record import Run
from harness.training.batches import Batches
from harness.training.loop import Steps
from harness.training.optimisers import SGD, learning_rates
from reproduce.pgnas import posterior
from reproduce.pgnas.masked import SuperNet, add_gradient
from reproduce.pgnas.networks import Network


@dataclass(frozen=True, kw_only=True)
class Training(Network):
    """How masks are drawn while weights are trained, and what is decayed."""

    masks: Literal["relaxed", "hard", "none"] = "relaxed"  # hard ones are those of ordinary dropout (D20)
    learn: bool = True  # the drop probabilities; else all stay at drop_start
    rescale: bool = False  # what is kept is divided by 1 - p (D14)
    tau: float = 0.2
    l2: float | None = None  # without it, or where p is not learnt, there is the decay of `weights` alone
    n: float = 5e5  # D3
    half: bool = False  # D2
    coupled: bool = True  # D24
    entropy: Literal["bonus", "printed"] = "bonus"  # D4
    weights: SGD
    drop_rate: float = 1.0  # times the weights' learning rate, for the drop probabilities (D17)
    epochs: int
    batch_size: int
    cycles: tuple[int, ...] = ()  # epochs of cosines that begin anew (ENAS)
    drops: tuple[int, ...] = ()  # epochs behind which the learning rate is a tenth (ImageNet)
    clip: float | None = 5.0
    cutout: int = 0
    second: float = 0.4  # weight of a second classifier's loss
    device: str = "cpu"

    @property
    def prior(self) -> posterior.Prior | None:
        if self.l2 is None or not self.learn or self.masks == "none":
            return None
        sign = 1.0 if self.entropy == "bonus" else -1.0
        return posterior.Prior(self.l2, self.n, self.half, self.coupled, sign)


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Fine-tuning of a chosen candidate (D25)."""

    lr: float
    epochs: int
    weight_decay: float


def rates(config: Training, per_epoch: int) -> list[float]:
    """Of each step: one cosine, cosines that begin anew, or tenths."""
    if config.cycles and config.drops:
        raise HarnessError("cycles and drops are two schedules: name one of them")
    if config.cycles:
        if sum(config.cycles) != config.epochs:
            raise HarnessError(
                f"cycles of {sum(config.cycles)} epochs do not fill {config.epochs}: correct them"
            )
        return [
            rate for cycle in config.cycles for rate in learning_rates(config.weights, cycle, per_epoch)[:-1]
        ]
    if config.drops:
        lr = config.weights.lr_max
        return [
            lr * 0.1 ** sum(e >= d for d in config.drops)
            for e in range(config.epochs)
            for _ in range(per_epoch)
        ]
    return learning_rates(config.weights, config.epochs, per_epoch)


class Descent(Steps):
    """Minibatches, crops, cutout and noise of a step follow from its number."""

    noise = "noise of step"
    prior: posterior.Prior | None = None
    second = 0.0  # weight of a second classifier's loss

    def __init__(
        self, run: Run, config: Training, weights: SGD, epochs: int, network: SuperNet, images: Batches
    ) -> None:
        super().__init__(run, images, config.batch_size, epochs, weights, unit=f"step of {self.what}")
        self.config, self.network, self.name = config, network, self.named

    def descend(self, masks: Callable[[int], Tensor | None]) -> float:
        """`masks` of so many images are drawn behind the step's seed."""
        config, network = self.config, self.network
        network.train()
        set_rates(self.optimiser, self.rates[self.step])
        x, y = self.batch(self.step)
        if config.cutout:
            x = cut(x, self.run.stream(f"cutout of {self.noise} {self.step}"), config.cutout)
        torch.manual_seed(int(self.run.stream(f"{self.noise} {self.step}").integers(2**63)))
        self.optimiser.zero_grad(set_to_none=True)
        with network.wearing(masks(len(x))):
            loss = functional.cross_entropy(network(x), y)
            if self.second and network.second_logits is not None:
                loss = loss + self.second * functional.cross_entropy(network.second_logits, y)
            loss.backward()
        if self.prior is not None:
            add_gradient(network, self.prior)
        if config.clip is not None:
            nn.utils.clip_grad_norm_(network.parameters(), config.clip)
        self.optimiser.step()
        return loss.item()


class TrainingLoop(Descent):
    """A super-network's training."""

    what, named = "training", "the super-network"

    def __init__(self, run: Run, config: Training, network: SuperNet, images: Batches) -> None:
        super().__init__(run, config, config.weights, config.epochs, network, images)
        posterior.checked_tau(config.tau)
        self.rates, self.prior, self.second = rates(config, self.per_epoch), config.prior, config.second
        network.drop_logits.requires_grad_(config.learn and config.masks != "none")
        self.optimiser = optimiser(network, config.weights, config.drop_rate)

    def _one(self) -> float:
        self.network.progress = self.step / self.total
        return self.descend(partial(drawn, self.network, self.config))


def drawn(network: SuperNet, config: Training, images: int, *, hard: bool = False) -> Tensor | None:
    """Masks of a minibatch as the training draws them, or hard ones of the same probabilities."""
    if config.masks == "none":
        return None
    p = network.p_of_channels
    if hard or config.masks == "hard":
        shape = images, len(p)
        masks = posterior.hard(p.detach(), torch.rand(shape, device=p.device))
    else:
        masks = network.relaxed_masks(images, config.tau)
    return masks / (1 - p) if config.rescale else masks


class TuningLoop(Descent):
    """A candidate trained on: its mask stays, and a second classifier rests (D25)."""

    what, named, noise = "fine-tuning", "the candidate", "noise of tuning"

    def __init__(
        self, run: Run, config: Training, tuning: Tuning, network: SuperNet, images: Batches, mask: Tensor
    ) -> None:
        weights = SGD(
            lr_max=tuning.lr, lr_min=0.0, momentum=config.weights.momentum, weight_decay=tuning.weight_decay,
            nesterov=config.weights.nesterov,
        )  # fmt: skip
        super().__init__(run, config, weights, tuning.epochs, network, images)
        self.mask = mask[None]
        network.drop_logits.requires_grad_(False)
        network.zero_grad(set_to_none=True)  # a run that goes on here has those of the training's end
        network.progress = 1.0  # which such a run has not seen
        self.optimiser = optimiser(network, weights, 1.0)

    def _one(self) -> float:
        return self.descend(lambda _: self.mask)


def optimiser(network: SuperNet, weights: SGD, drop_rate: float) -> torch.optim.SGD:
    """The drop probabilities have a learning rate of their own, and are never decayed."""
    others = [p for name, p in network.named_parameters() if name != "drop_logits"]
    groups = [
        {"params": others, "weight_decay": weights.weight_decay, "times": 1.0},
        {"params": [network.drop_logits], "weight_decay": 0.0, "times": drop_rate},
    ]
    return torch.optim.SGD(groups, lr=weights.lr_max, momentum=weights.momentum, nesterov=weights.nesterov)


def set_rates(optimiser: torch.optim.Optimizer, rate: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = rate * group["times"]


def cut(x: Tensor, rng: np.random.Generator, size: int) -> Tensor:
    """Cutout (DeVries and Taylor 2017) of normalised images."""
    mask = torch.from_numpy(cutout_mask(len(x), *x.shape[2:], rng, size=size)).to(x.device)
    return x.masked_fill(mask[:, None], 0.0)
