"""Optimisers and schedules of a training set-up: built here for every paper, from fields of a config."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class SGD:
    """Stochastic gradient descent with a cosine schedule, stepped once per iteration."""

    lr_max: float
    lr_min: float
    momentum: float
    weight_decay: float
    nesterov: bool = False
    decay_vectors: bool = True  # False: one-dimensional parameters and biases are not decayed
    warmup_epochs: int = 0


def weight_optimiser(network: nn.Module, setup: SGD) -> torch.optim.SGD:
    """SGD over a network's weights; without `decay_vectors` batch norm and biases form an undecayed group."""
    decayed, plain = [], []
    for name, parameter in network.named_parameters():
        vector = parameter.ndim <= 1 or name.endswith(".bias")
        (plain if vector and not setup.decay_vectors else decayed).append(parameter)
    groups = [{"params": decayed, "weight_decay": setup.weight_decay}]
    if plain:
        groups.append({"params": plain, "weight_decay": 0.0})
    return torch.optim.SGD(groups, lr=setup.lr_max, momentum=setup.momentum, nesterov=setup.nesterov)


def schedule(
    optimiser: torch.optim.Optimizer, setup: SGD, epochs: int, steps: int
) -> torch.optim.lr_scheduler.LRScheduler:
    """Linear warm-up where there is one, then a cosine from lr_max to lr_min; `steps` iterations an epoch."""
    warm = setup.warmup_epochs * steps
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs * steps - warm, setup.lr_min)
    if not warm:
        return cosine
    linear = torch.optim.lr_scheduler.LinearLR(optimiser, 1 / (warm + 1), 1.0, warm)
    return torch.optim.lr_scheduler.SequentialLR(optimiser, [linear, cosine], [warm])


def learning_rates(
    optimiser: torch.optim.Optimizer, scheduler: torch.optim.lr_scheduler.LRScheduler, steps: int
) -> list[float]:
    """The learning rate of each iteration and the one that the schedule ends at, as really stepped."""
    rates = []
    for _ in range(steps + 1):
        rates.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        scheduler.step()
    return rates


def touched(network: nn.Module) -> list[bool]:
    """Which parameters have a gradient, for a checkpoint: a zero one moves a weight on, none lets it rest."""
    return [p.grad is not None for p in network.parameters()]


def touch(network: nn.Module, kept: list[bool]) -> None:
    """The same parameters of a network that goes on have one again."""
    for parameter, was in zip(network.parameters(), kept, strict=True):
        if was:
            parameter.grad = torch.zeros_like(parameter)


@dataclass(frozen=True)
class Adam:
    """The optimiser of architecture parameters (DARTS and its relatives)."""

    lr: float
    weight_decay: float
    betas: tuple[float, ...] = (0.5, 0.999)


def architecture_optimiser(parameters: Iterable[nn.Parameter], setup: Adam) -> torch.optim.Adam:
    return torch.optim.Adam(
        parameters, lr=setup.lr, betas=tuple(setup.betas), weight_decay=setup.weight_decay
    )
