"""Section 4.1.1: a VGG as a function of its weights, with exact hypergradients of its learning rate."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from harness.training.unrolled import Batch, Outer, State, sgd, unrolled
from reproduce.sotl.perceptron import Goal, Slope, linear_layers

POOL = 0  # in a plan: halve the sides
MOMENTUM = 0.1  # of batch norm's running statistics


class VGG:
    """Convolutions with batch norm, and the small head that stands on the one pixel they leave of CIFAR."""

    def __init__(self, plan: Sequence[int], head: Sequence[int], classes: int, dropout: float) -> None:
        self.plan, self.dropout = tuple(plan), dropout
        self.widths = tuple(width for width in plan if width != POOL)
        self.sizes = (self.widths[-1], *head, classes)
        self.statistics: State = {}
        for i, width in enumerate(self.widths):
            self.statistics |= {f"norm{i}.mean": torch.zeros(width), f"norm{i}.var": torch.ones(width)}
        self._step = sgd(lambda state, _, batch: self._loss(state, batch, None), lambda outer: outer["rate"])

    def start(self, seed: int) -> State:
        """Convolutions drawn for their fan-out; linear layers as torch draws them."""
        generator, state, below = torch.Generator().manual_seed(seed), {}, 3
        for i, width in enumerate(self.widths):
            drawn = torch.randn(width, below, 3, 3, generator=generator)
            state[f"conv{i}.weight"] = drawn * math.sqrt(2 / (9 * width))
            state[f"conv{i}.bias"] = torch.zeros(width)
            state |= {f"norm{i}.weight": torch.ones(width), f"norm{i}.bias": torch.zeros(width)}
            below = width
        return state | linear_layers(self.sizes, seed)

    def randomness(self, images: int, rng: np.random.Generator) -> tuple[Tensor, ...]:
        """What a batch keeps of the inputs of hidden linear layers; its replay meets the same."""
        if not self.dropout:
            return ()
        kept = (rng.random((images, size)) >= self.dropout for size in self.sizes[:-2])
        return tuple(torch.from_numpy((k / (1 - self.dropout)).astype(np.float32)) for k in kept)

    @torch.no_grad()
    def logits(self, state: State, x: Tensor) -> Tensor:
        """With running statistics and nothing dropped."""
        return self._forward(state, x, (), self.statistics, training=False)

    def slope(self, state: State, batch: Batch) -> Slope:
        """Of the mean cross-entropy of a batch; the running statistics move with it."""
        leaves = {name: weight.detach().requires_grad_() for name, weight in state.items()}
        loss = self._loss(leaves, batch, self.statistics)
        found = torch.autograd.grad(loss, list(leaves.values()))
        return Slope(loss.item(), whole=dict(zip(leaves, found, strict=True)))

    @torch.no_grad()
    def move(self, state: State, slope: Slope, rate: float) -> None:
        """One step of gradient descent, in place (Eq. 4.1)."""
        for name, weight in state.items():
            weight.sub_(slope.whole[name], alpha=rate)

    def hypergradient(
        self, state: State, rate: float, batches: Sequence[Batch], goal: Goal
    ) -> tuple[float, Slope | None]:
        """Of the goal for the learning rate, in reverse mode; nothing is kept to step from again."""

        def final(state: State, outer: Outer) -> Tensor:
            return self._loss(state, goal.held, None)

        found = unrolled(
            self._step,
            state,
            {"rate": torch.tensor(rate, device=batches[0][0].device, dtype=batches[0][0].dtype)},
            batches,
            weights=goal.weights,
            final=final if goal.held else None,
            reach=1 if goal.one_step else None,
        )
        return found.gradient["rate"].item(), None

    def _loss(self, state: State, batch: Batch, statistics: State | None) -> Tensor:
        x, y, *kept = batch
        return functional.cross_entropy(self._forward(state, x, kept, statistics, training=True), y)

    def _forward(
        self, state: State, x: Tensor, kept: Sequence[Tensor], statistics: State | None, *, training: bool
    ) -> Tensor:
        i = 0
        for width in self.plan:
            if width == POOL:
                x = functional.max_pool2d(x, 2)
                continue
            x = functional.conv2d(x, state[f"conv{i}.weight"], state[f"conv{i}.bias"], padding=1)
            mean, var = (statistics and statistics[f"norm{i}.{name}"] for name in ("mean", "var"))
            affine = state[f"norm{i}.weight"], state[f"norm{i}.bias"]
            x = functional.batch_norm(x, mean, var, *affine, training, MOMENTUM).relu()
            i += 1
        x, last = x.flatten(1), len(self.sizes) - 2
        for i in range(last + 1):
            x = x * kept[i] if i < len(kept) else x
            x = functional.linear(x, state[f"{i}.weight"], state[f"{i}.bias"])
            x = x.relu() if i < last else x
        return x
