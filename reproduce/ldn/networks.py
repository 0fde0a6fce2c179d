"""Section 2 and appendix B: the fully connected network and its training, one model at a time.

The experiments train many of these at once (`batched.py`); tests hold the two equal.
"""

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from reproduce.ldn import posterior


class FullyConnected(nn.Module):
    """f_0, residual blocks f_1..f_D and one output block for all depths; learnt (LDN) or fixed (DDN)."""

    def __init__(self, depth: int, width: int, learnt: bool, inputs: int = 2, classes: int = 2) -> None:
        super().__init__()
        self.depth, self.width, self.learnt = depth, width, learnt
        self.input = nn.Linear(inputs, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.BatchNorm1d(width)) for _ in range(depth)
        )
        self.output = nn.Linear(width, classes)
        self.depth_logits = nn.Parameter(torch.zeros(depth + 1), requires_grad=learnt)
        self.beta = posterior.prior(depth)

    @property
    def q(self) -> Tensor:
        """q_α(d) of a LDN, initially uniform; all mass on the last depth in a DDN."""
        if self.learnt:
            return torch.softmax(self.depth_logits, 0)
        return functional.one_hot(torch.tensor(self.depth), self.depth + 1).to(self.depth_logits)

    def forward(self, x: Tensor) -> Tensor:
        """Logits [points, depth 0..D, classes]: every depth in one pass, a_i = a_{i-1} + f_i(a_{i-1})."""
        activations = [self.input(x)]
        for block in self.blocks:
            activations.append(activations[-1] + block(activations[-1]))
        return self.output(torch.stack(activations, 1))


def seeded(depth: int, width: int, learnt: bool, seed: int) -> FullyConnected:
    """PyTorch's default initialisation (appendix B) from a seed of its own."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return FullyConnected(depth, width, learnt)


def objective(network: FullyConnected, x: Tensor, y: Tensor, train_points: int) -> Tensor:
    """−ELBO/N (D2); a DDN's KL is constant and left out."""
    log_p = functional.log_softmax(network(x), -1)
    cross_entropy = -log_p[torch.arange(len(y)), :, y].mean(0)
    if not network.learnt:
        return cross_entropy[-1]
    return posterior.objective(cross_entropy, network.q, network.beta, train_points)


@dataclass(frozen=True)
class Recipe:
    """Appendix B: SGD with momentum, full batches up to 512 points, early stopping on the train ELBO."""

    lr: float = 0.1
    momentum: float = 0.5
    batch: int = 512
    epochs: int = 8000  # at most (authors' code; the text names no limit)
    patience: int = 500  # epochs without a better train ELBO (D3)
    scale: Literal["mean", "sum", "sum_for_depth"] = "mean"  # of the objective (D2)


@dataclass(frozen=True)
class Task:
    """A network to be trained in place, its train points, and the seed of the order of its batches."""

    network: FullyConnected
    x: Tensor
    y: Tensor
    seed: int = 0


@dataclass(frozen=True)
class Outcome:
    """How a training ended; its network holds the state of the best epoch."""

    epochs: int
    best_epoch: int
    elbo: float  # per point, of the best epoch, as measured while training: its minibatches' mean (D20)
    diverged: int  # the epoch whose loss was not finite, or -1


def batches(points: int, size: int, generator: torch.Generator) -> Iterator[Tensor | slice]:
    """One epoch; the last, smaller batch is kept. A single batch needs no order."""
    if points <= size:
        return iter([slice(None)])
    return iter(torch.randperm(points, generator=generator).split(size))


def train(task: Task, recipe: Recipe) -> Outcome:
    """One network, layer by layer: the reference of the batched program."""
    network, x, y, points = task.network.train(), task.x, task.y, len(task.x)
    alpha_lr = recipe.lr * (points if recipe.scale == "sum_for_depth" else 1)
    weights = [p for name, p in network.named_parameters() if name != "depth_logits"]
    groups = [{"params": weights}, {"params": [network.depth_logits], "lr": alpha_lr}]
    sgd = torch.optim.SGD(groups, lr=recipe.lr, momentum=recipe.momentum)
    generator = torch.Generator().manual_seed(task.seed)
    best, best_epoch, state, diverged = -math.inf, -1, copy.deepcopy(network.state_dict()), -1
    for epoch in range(recipe.epochs):
        seen = []
        for batch in batches(points, recipe.batch, generator):
            loss = objective(network, x[batch], y[batch], points)
            sgd.zero_grad()
            (loss * points if recipe.scale == "sum" else loss).backward()
            sgd.step()
            seen.append(loss.item())
        elbo = -sum(seen) / len(seen)  # a small minibatch counts as much as a large one (D20)
        if not math.isfinite(elbo):
            diverged = epoch
            break
        if elbo > best:
            best, best_epoch, state = elbo, epoch, copy.deepcopy(network.state_dict())
        elif epoch - best_epoch > recipe.patience:
            break
    network.load_state_dict(state)
    return Outcome(epoch + 1, best_epoch, best, diverged)
