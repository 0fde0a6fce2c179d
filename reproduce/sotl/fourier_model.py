"""Section 4.1.2: data of a Fourier series of degree 3, and linear models with a highest degree each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from harness.base.errors import HarnessError
from harness.runs.record import Run
from harness.training.unrolled import Batch, Outer, State, Step

DEGREE = 3  # of the series that made the targets


@dataclass(frozen=True, kw_only=True)
class Data:
    """Eqs. 4.3 and 4.4, as the text has them or as the author's code did (D21)."""

    features: Literal["separate", "summed"]  # cos and sin of a degree: two features, or their sum is one
    count: int  # of features, the constant included
    frequency: float  # of degree 1, in radians
    points: int
    spaced: Literal["evenly", "at random"]
    half_width: float  # points lie between plus and minus this
    noise: float  # variance of what is added to the targets
    held: float  # share of the points that is held out for validation


@dataclass(frozen=True, kw_only=True)
class Model:
    """What the search over degrees and the fixed ones train alike."""

    lr: float = 0.01  # of the weights
    batch: int = 64
    weight_decay: float = 0.001  # on ‖w‖², divided by the number of weights, in every loss


class Points(NamedTuple):
    """Features and targets, training points first; and the degree of each feature."""

    x: Tensor
    y: Tensor
    degrees: Tensor
    train: int  # how many of them are for training


def points(run: Run, data: Data) -> Points:
    """In double precision: then no other machine's last digit decides a search at the edge of stability."""
    if data.spaced == "evenly":
        at = np.linspace(-data.half_width, data.half_width, data.points)
    else:
        at = run.stream("points").uniform(-data.half_width, data.half_width, data.points)
    x, degrees = features(at * data.frequency, data.features, data.count)
    if data.count <= np.searchsorted(degrees, DEGREE, side="right"):
        raise HarnessError(
            f"{run.spec.id}: {data.count} features do not go beyond degree {DEGREE}: raise count"
        )
    y = x[:, degrees <= DEGREE].sum(axis=1)
    y = y + run.stream("noise").normal(0.0, data.noise**0.5, len(y)) if data.noise else y
    order = run.stream("division").permutation(len(y))
    x, y, degrees = (torch.from_numpy(a) for a in (x[order], y[order], degrees.astype(float)))
    return Points(x, y, degrees, len(y) - round(data.held * len(y)))


def features(phase: np.ndarray, kind: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Eq. 4.3: the first so many terms of the series, and the degree of each."""
    columns, degrees = [np.ones_like(phase)], [0]
    while len(columns) < count:
        degree = degrees[-1] + 1
        pair = [np.cos(degree * phase), np.sin(degree * phase)]
        pair = pair if kind == "separate" else [pair[0] + pair[1]]
        columns += pair
        degrees += [degree] * len(pair)
    return np.stack(columns[:count], axis=1), np.array(degrees[:count])


def initial(run: Run, count: int) -> Tensor:
    """As torch initialises a linear layer of so many inputs: uniform within ±1/√count."""
    return torch.from_numpy(run.stream("weights").uniform(-1, 1, count) / count**0.5)


class Order:
    """Minibatches by their number: every pass goes through all points, in an order of its own."""

    def __init__(self, rng: np.random.Generator, size: int, batch: int, only: int | None = None) -> None:
        """`only`: of each pass the first so many; the passes are then all in one order."""
        if batch > size:
            raise HarnessError(f"a minibatch of {batch} points out of {size}: lower batch")
        self._rng, self._size, self._batch, self._only = rng, size, batch, only
        self._waiting: list[Tensor] = []
        self._first = self._shuffled() if only else None

    def take(self, count: int) -> list[Tensor]:
        """The next so many minibatches."""
        while len(self._waiting) < count:
            self._waiting += self._first[: self._only] if self._first else self._shuffled()
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        return taken

    def _shuffled(self) -> list[Tensor]:
        order = torch.from_numpy(self._rng.permutation(self._size))
        return list(order[: self._size - self._size % self._batch].split(self._batch))


def soft(degree: Tensor, degrees: Tensor) -> Tensor:
    """f_σ of Eq. 4.5: how far each feature is let through."""
    return (torch.tanh(degree[..., None] - degrees) + 1) / 2


def hard(degree: Tensor, degrees: Tensor) -> Tensor:
    """Features above the degree are left out altogether."""
    return (degrees <= degree[..., None]).to(degrees)


class Lines(NamedTuple):
    """Many models side by side (one per lane), each with its own weights and degree; none sees another."""

    degrees: Tensor
    gate: Callable[[Tensor, Tensor], Tensor]
    model: Model
    penalty: Callable[[Tensor], Tensor]  # of a degree, in every loss

    def errors(self, state: State, outer: Outer, batch: Batch) -> Tensor:
        """Residuals by point and lane."""
        x, y = batch
        return x @ (state["w"] * self.gate(outer["degree"], self.degrees)).T - y[:, None]

    def squares(self, state: State, outer: Outer, batch: Batch) -> Tensor:
        """Mean squared error of each lane."""
        return (self.errors(state, outer, batch) ** 2).mean(0)

    def step(self) -> Step:
        """Descent on squares, weight decay and penalty, summed over lanes: a lane's slopes are its own.

        The slope is written out, at a tenth of what automatic differentiation costs.
        """

        def step(state: State, outer: Outer, batch: Batch) -> tuple[State, Tensor]:
            weights, gate = state["w"], self.gate(outer["degree"], self.degrees)
            errors = self.errors(state, outer, batch)
            slope = 2 / len(errors) * (errors.T @ batch[0]) * gate
            slope = slope + 2 * self.model.weight_decay / weights.shape[1] * weights
            decay = self.model.weight_decay * (weights**2).mean(1)
            loss = (errors**2).mean(0) + decay + self.penalty(outer["degree"])
            return {"w": weights - self.model.lr * slope}, loss.sum()

        return step
