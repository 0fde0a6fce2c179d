"""Section 4.1.1: a perceptron whose hypergradient of the learning rate is run forwards, step beside step."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.training.unrolled import Batch, State

ONEDNN = torch.backends.mkldnn.is_available()


@dataclass(frozen=True)
class Goal:
    """What a learning rate is judged by: weighted losses along the steps, or held-out images after them."""

    weights: Sequence[float]
    held: Batch | None = None
    one_step: bool = False  # each loss's gradient flows back through one update only (Eq. 4.2)


@dataclass(frozen=True)
class Slope:
    """A loss and its gradient; a perceptron's in factors: deltas[i]ᵀ·inputs[i] for the weights of layer i."""

    loss: float
    inputs: Sequence[Tensor] = ()
    deltas: Sequence[Tensor] = ()
    whole: State | None = None


def product(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """a·bᵀ (+ bias).

    By oneDNN where it can be, through the call that torch.compile makes: float32 still, and quicker than
    torch's own product on an AMD processor with AVX-512, where MKL uses AVX2.
    """
    if ONEDNN and a.dtype == torch.float32 and a.device.type == "cpu":
        return torch.ops.mkldnn._linear_pointwise(a, b, bias, "none", [], "")
    return functional.linear(a, b, bias)


class Perceptron:
    """Linear layers with ReLU between them.

    One learning rate needs one tangent, forwards, where reverse mode runs each step twice and pulls it back
    (`benchmarks/bench_unrolled.py` compares them). Memory does not grow with T.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        self.layers = len(sizes) - 1
        self.statistics: State = {}  # it keeps none

    def start(self, seed: int) -> State:
        return linear_layers(self.sizes, seed)

    def randomness(self, images: int, rng: np.random.Generator) -> tuple[Tensor, ...]:
        """What a batch draws besides its images: nothing."""
        return ()

    @torch.no_grad()
    def logits(self, state: State, x: Tensor) -> Tensor:
        return self._forward(state, None, x)[0][-1]

    @torch.no_grad()
    def slope(self, state: State, batch: Batch) -> Slope:
        """Of the mean cross-entropy of a batch."""
        inputs, _ = self._forward(state, None, batch[0])
        loss, delta, _ = _cross_entropy(inputs[-1], None, batch[1])
        deltas = [delta]
        for i in range(self.layers - 1, 0, -1):
            deltas.insert(0, product(deltas[0], state[f"{i}.weight"].T) * (inputs[i] > 0))
        return Slope(loss, inputs[:-1], deltas)

    @torch.no_grad()
    def move(self, state: State, slope: Slope, rate: float) -> None:
        """One step of gradient descent, in place (Eq. 4.1)."""
        for i, (x, delta) in enumerate(zip(slope.inputs, slope.deltas, strict=True)):
            state[f"{i}.weight"].sub_(product(delta.T, x.T), alpha=rate)
            state[f"{i}.bias"].sub_(delta.sum(0), alpha=rate)

    @torch.no_grad()
    def hypergradient(
        self, state: State, rate: float, batches: Sequence[Batch], goal: Goal
    ) -> tuple[float, Slope | None]:
        """Of the goal for the learning rate; and the slope at the first batch, to step from again."""
        if goal.one_step or (len(batches) == 2 and goal.held is None):
            return self._one_step_back(state, rate, batches, goal)
        here, along = {name: weight.clone() for name, weight in state.items()}, None
        first, gradient = None, 0.0
        for t, (batch, weight) in enumerate(zip(batches, goal.weights, strict=True)):
            inputs, tangents = self._forward(here, along, batch[0])
            loss, delta, turn = _cross_entropy(inputs[-1], tangents[-1], batch[1])
            if along is not None:
                gradient += weight * (delta * tangents[-1]).sum().item()
            if t == len(batches) - 1 and goal.held is None:
                break  # nothing looks at the weights behind the last loss
            along, deltas = self._step(here, along, rate, inputs, tangents, delta, turn)
            first = first or Slope(loss, inputs[:-1], deltas)
        if goal.held is not None:
            inputs, tangents = self._forward(here, along, goal.held[0])
            delta = _cross_entropy(inputs[-1], None, goal.held[1])[1]
            gradient += (delta * tangents[-1]).sum().item()
        return gradient, first

    def _one_step_back(
        self, state: State, rate: float, batches: Sequence[Batch], goal: Goal
    ) -> tuple[float, Slope]:
        """Eq. 4.2: the derivative of the weights is minus the slope before."""
        here, slopes, gradient = {name: weight.clone() for name, weight in state.items()}, [], 0.0
        judged = [*zip(batches, goal.weights, strict=True), *([(goal.held, 1.0)] if goal.held else [])]
        for batch, weight in judged:
            slopes.append(self.slope(here, batch))
            if len(slopes) > 1 and weight:
                gradient -= weight * _inner(*slopes[-2:])
            if len(slopes) < len(judged):
                self.move(here, slopes[-1], rate)
        return gradient, slopes[0]

    def _forward(
        self, state: State, along: State | None, x: Tensor
    ) -> tuple[list[Tensor], list[Tensor | None]]:
        """What enters each layer, then the logits; and the same derived in the direction `along`."""
        inputs, tangents = [x.flatten(1)], [None]
        for i in range(self.layers):
            weight, turned = state[f"{i}.weight"], None
            z = product(inputs[i], weight, state[f"{i}.bias"])
            if along is not None:
                turned = product(inputs[i], along[f"{i}.weight"], along[f"{i}.bias"])
                if tangents[i] is not None:
                    turned += product(tangents[i], weight)
            if i < self.layers - 1:
                turned = None if turned is None else turned * (z > 0)
                z = z.relu_()
            inputs.append(z)
            tangents.append(turned)
        return inputs, tangents

    def _step(
        self,
        here: State,
        along: State | None,
        rate: float,
        inputs: list[Tensor],
        tangents: list[Tensor | None],
        delta: Tensor,
        turn: Tensor | None,
    ) -> tuple[State, list[Tensor]]:
        """The weights after a step (in place), their derivative, and the factors of the slope.

        The derivative goes from `along` to along - slope - rate · (Hessian · along), and from zero to -slope
        (Eq. 3.16 for the learning rate); `turn` and `tangents` are those of delta and inputs.
        """
        new, deltas = {}, []
        for i in reversed(range(self.layers)):
            weight, bias = here[f"{i}.weight"], here[f"{i}.bias"]
            slope, slope_bias = product(delta.T, inputs[i].T), delta.sum(0)
            below, turn_below = None, None
            if i:
                below = product(delta, weight.T) * (inputs[i] > 0)
            if along is None:
                new |= {f"{i}.weight": slope.neg(), f"{i}.bias": slope_bias.neg()}
            else:
                was, was_bias = along[f"{i}.weight"], along[f"{i}.bias"]
                curvature = product(turn.T, inputs[i].T)
                if i:
                    turn_below = product(turn, weight.T).add_(product(delta, was.T)) * (inputs[i] > 0)
                    curvature += product(delta.T, tangents[i].T)
                new[f"{i}.weight"] = was.sub_(slope).sub_(curvature, alpha=rate)
                new[f"{i}.bias"] = was_bias.sub_(slope_bias).sub_(turn.sum(0), alpha=rate)
            weight.sub_(slope, alpha=rate)
            bias.sub_(slope_bias, alpha=rate)
            deltas.insert(0, delta)
            delta, turn = below, turn_below
        return new, deltas


def _inner(a: Slope, b: Slope) -> float:
    """The inner product of two gradients from their factors; the one stands for the biases' input."""
    return sum(
        (product(d, e) * (product(x, z) + 1)).sum().item()
        for d, e, x, z in zip(a.deltas, b.deltas, a.inputs, b.inputs, strict=True)
    )


def linear_layers(sizes: Sequence[int], seed: int) -> State:
    """torch's own initial weights, by layer number."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:], strict=False))
    return {name: p.detach() for name, p in layers.named_parameters()}


def _cross_entropy(logits: Tensor, tangent: Tensor | None, y: Tensor) -> tuple[float, Tensor, Tensor | None]:
    """The mean loss, its gradient with respect to the logits, and the derivative of that along a tangent."""
    share, turn = logits.softmax(1), None
    if tangent is not None:
        turn = share * (tangent - (share * tangent).sum(1, keepdim=True)) / len(y)
    delta = share.index_put(
        (torch.arange(len(y), device=y.device), y), share.new_tensor(-1.0), accumulate=True
    )
    return functional.cross_entropy(logits, y).item(), delta / len(y), turn
