"""Section 4.1.2, Figure 4.2: linear models of fixed degrees, their training losses and the sums of these."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from harness.base.settings import Signed
from harness.runs.record import Run
from reproduce.sotl.fourier_model import Data, Lines, Model, Order, hard, initial, points, soft

GATES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"hard": hard, "soft": soft}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Section 4.1.2: one model per degree, all from the same weights and on the same minibatches."""

    data: Data
    model: Model = Model()
    gate: Literal["hard", "soft"]  # features above the degree are left out, or MaxDeg is held there (D24)
    weights: Literal["uniform", "zeros"] = "uniform"  # at the start (D24)
    degrees: tuple[Signed, ...]
    steps: int = 1000
    kept_every: int = 20  # steps: the curve has the mean loss between two of these


def run(run: Run, config: Config) -> None:
    found = points(run, config.data)
    outer = {"degree": torch.tensor(config.degrees, dtype=found.x.dtype)}
    lines = Lines(found.degrees, GATES[config.gate], config.model, torch.zeros_like)
    step, order = lines.step(), Order(run.stream("minibatches"), found.train, config.model.batch)
    start = initial(run, len(found.degrees)) * (config.weights == "uniform")
    state = {"w": start.repeat(len(config.degrees), 1)}
    losses = np.empty((config.steps, len(config.degrees)))
    for t, picked in enumerate(order.take(config.steps)):
        batch = (found.x[picked], found.y[picked])
        losses[t] = lines.squares(state, outer, batch)
        state, _ = step(state, outer, batch)
        run.progress(t + 1, config.steps, "step")
    leave(run, config, losses)


def leave(run: Run, config: Config, losses: np.ndarray) -> None:
    """`curves`: loss and SoTL by degree along training; which degree has the lowest SoTL at its end."""
    ends = np.arange(config.kept_every, config.steps + 1, config.kept_every)
    sotl = losses.cumsum(axis=0)[ends - 1]
    curve = np.diff(sotl, axis=0, prepend=0) / config.kept_every
    run.table(
        "curves",
        {
            "degree": np.tile([f"{degree:g}" for degree in config.degrees], len(ends)),
            "step": ends.repeat(len(config.degrees)),
            "loss": curve.ravel(),
            "sotl": sotl.ravel(),
        },
    )
    run.metric("chosen", config.degrees[int(sotl[-1].argmin())])
    run.metric("steps", config.steps)
