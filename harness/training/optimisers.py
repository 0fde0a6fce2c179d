"""Optimisers and schedules of a training set-up: built here for every paper, from fields of a config."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn

DECAY = "Cosine"  # what `learning_rates` fall by


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


def learning_rates(setup: SGD, epochs: int, steps: int) -> list[float]:
    """Of each iteration, and the one that the schedule ends at; `steps` iterations an epoch.

    Linear warm-up if there is one, then a cosine from lr_max to lr_min. Each follows from the one before in
    the arithmetic of torch's schedulers, so that the last bit is theirs too.
    """
    high, low, warm = setup.lr_max, setup.lr_min, setup.warmup_epochs * steps
    first = 1 / (warm + 1)
    rates = [high * first] * min(warm, 1)
    for i in range(1, warm):
        rates.append(rates[-1] * (1.0 + (1.0 - first) / (warm * first + (i - 1) * (1.0 - first))))
    rates.append(low + (high - low) if warm else high)
    falls = epochs * steps - warm
    for i in range(1, falls + 1):
        before, now = (1 + math.cos(math.pi * at / falls) for at in (i - 1, i))
        rates.append(now / before * (rates[-1] - low) + low)
    return rates


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = rate


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
