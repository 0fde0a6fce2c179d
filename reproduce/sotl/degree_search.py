"""Section 4.1.2, Figure 4.3: MaxDeg, the degree of a linear model, descends a sum of training losses."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from harness.base.errors import HarnessError
from harness.base.settings import Signed
from harness.runs.record import Run
from harness.training.unrolled import Batch, Outer, State, unrolled
from reproduce.sotl.fourier_model import DEGREE, Data, Lines, Model, Order, Points, initial, points, soft

UPDATES, EVERY = 120, 50  # a path is kept for the first so many updates, and at every so many-th step


@dataclass(frozen=True, kw_only=True)
class Search:
    """One line of Figure 4.3, or one of our controls."""

    name: str
    unroll: int  # T
    objective: Literal["sotl", "mean", "validation"] = "sotl"
    reach: int | None = None  # updates that a loss looks back over; all where null, 0 is Eq. 3.22
    train: int | None = None  # steps of the weights per update of MaxDeg; T where null
    faster: float = 1.0  # the hyper-learning-rate times this
    starts: tuple[Signed, ...] = (-1.0,)  # of MaxDeg
    steps: int | None = None  # of the weights, where they are fewer than the run's


@dataclass(frozen=True, kw_only=True)
class Config:
    """Section 4.1.2. The searches of a run start from the same weights and meet the same minibatches."""

    data: Data
    searches: tuple[Search, ...]
    model: Model = Model()
    penalty: float  # on MaxDeg, in every training loss (D22)
    penalty_of: Literal["norm", "square"]  # |MaxDeg| or MaxDeg² (D22)
    hyper_lr: float = 0.01
    root: bool  # the hyper-learning-rate times √T (D23)
    validation_batches: int | None = None  # of the held-out points only so many are ever used (D25)
    validation_penalised: bool = True  # the validation loss, too, has the penalty on MaxDeg (D25)
    steps: int = 3000  # of the weights


class Moment(NamedTuple):
    """A search after so many updates of its degrees."""

    update: int
    step: int  # of the weights
    degrees: Tensor  # by start


def run(run: Run, config: Config) -> None:
    names = [search.name for search in config.searches]
    if len(set(names)) != len(names):
        raise HarnessError(f"{run.spec.id}: two searches have one name: {', '.join(names)}")
    found = points(run, config.data)
    found_so_far = ("degree", "distance", "highest")
    tables: dict[str, dict[str, list[Any]]] = {
        f"by_{count}": {name: [] for name in ("search", "start", count, *found_so_far)}
        for count in ("update", "step")
    }
    for done, search in enumerate(config.searches):
        run.progress(done, len(config.searches), "search")
        leave(tables, search, list(moments(run, config, found, search)))
    run.progress(len(config.searches), len(config.searches), "search")
    for name, columns in tables.items():
        run.table(name, columns)
    run.metric("points", len(found.y))


def moments(run: Run, config: Config, found: Points, search: Search) -> Iterator[Moment]:
    """Alg. 3 with the exact gradient: unroll T steps, update MaxDeg, train anew on the same minibatches."""
    train = search.train or search.unroll
    if train < search.unroll:
        raise HarnessError(f"{run.spec.id}: search {search.name!r}: train: {train} is less than T: raise it")
    lines = Lines(found.degrees, soft, config.model, partial(penalty, config=config))
    step, last = lines.step(), min(search.steps or config.steps, config.steps)
    order = Order(run.stream("minibatches"), found.train, config.model.batch)
    held = Order(
        run.stream("validation"), len(found.y) - found.train, config.model.batch, config.validation_batches
    )
    outer = {"degree": torch.tensor(search.starts, dtype=found.x.dtype)}
    state = {"w": initial(run, len(found.degrees)).repeat(len(search.starts), 1)}
    rate = config.hyper_lr * search.faster * (search.unroll**0.5 if config.root else 1.0)
    yield Moment(0, 0, outer["degree"])
    for update in range(1, last // train + 1):
        batches = [(found.x[i], found.y[i]) for i in order.take(train)]
        (picked,) = held.take(1)
        seen = (found.x[found.train + picked], found.y[found.train + picked])
        slope = slope_of(search, config, lines, state, outer, batches[: search.unroll], seen)
        outer = {"degree": outer["degree"] - rate * slope}
        for batch in batches:
            state, _ = step(state, outer, batch)
        yield Moment(update, update * train, outer["degree"])


def slope_of(
    search: Search,
    config: Config,
    lines: Lines,
    state: State,
    outer: Outer,
    batches: list[Batch],
    seen: Batch,
) -> Tensor:
    """By each lane's MaxDeg. The states of all T steps are small: nothing is run twice."""
    goal: dict[str, Any] = {"keep": len(batches), "reach": search.reach}
    if search.objective == "mean":
        goal["weights"] = [1 / len(batches)] * len(batches)
    if search.objective == "validation":

        def final(state: State, outer: Outer) -> Tensor:
            held_to = lines.penalty(outer["degree"]).sum() if config.validation_penalised else 0
            return lines.squares(state, outer, seen).sum() + held_to

        goal |= {"weights": [0.0] * len(batches), "final": final}
    return unrolled(lines.step(), state, outer, batches, **goal).gradient["degree"]


def penalty(degree: Tensor, config: Config) -> Tensor:
    return config.penalty * (degree.abs() if config.penalty_of == "norm" else degree**2)


def leave(tables: dict[str, dict[str, list[Any]]], search: Search, path: list[Moment]) -> None:
    """MaxDeg by update and by step; its mean distance from the true degree and its maximum, up to there."""
    for lane, start in enumerate(search.starts):
        degrees = np.array([float(moment.degrees[lane]) for moment in path])
        distances = np.abs(degrees - DEGREE).cumsum() / np.arange(1, len(path) + 1)
        for moment, *values in zip(path, degrees, distances, np.maximum.accumulate(degrees), strict=True):
            row = (search.name, f"{start:g}")
            if moment.update <= UPDATES:
                _append(tables["by_update"], *row, moment.update, *values)
            if moment.step % EVERY == 0:
                _append(tables["by_step"], *row, moment.step, *values)


def _append(columns: dict[str, list[Any]], *row: Any) -> None:
    for column, value in zip(columns.values(), row, strict=True):
        column.append(value)
