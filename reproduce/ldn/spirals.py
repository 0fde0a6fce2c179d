"""Section 3.1 and appendix C: scans over depth, width, rotation and amount of data, one repeat per run."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import torch

from harness.data import spirals
from harness.runs.checkpoint import Checkpoint
from harness.runs.record import Run
from reproduce.ldn import batched
from reproduce.ldn.networks import Outcome, Recipe, Task, seeded
from reproduce.ldn.spiral_evaluation import depth_rows, function_rows, model_row, prediction_rows


@dataclass(frozen=True)
class Config:
    """A network for every combination of the four grids; appendix B and the authors' code (D1, D3)."""

    kind: Literal["ldn", "ddn"]
    depths: tuple[int, ...] = ()  # D of each LDN, the depth of each DDN
    every_depth_to: int | None = None  # instead: 0, 1, …, this
    widths: tuple[int, ...] = (20,)
    rotations: tuple[float, ...] = (720.0,)  # degrees
    train_points: tuple[int, ...] = (200,)
    test_share: int = 9  # test points for each train point: 1,800 beside 200
    noise_kind: Literal["uniform01", "gauss"] = "uniform01"  # the text says Gaussian (D1)
    noise: float = 0.2
    lr: float = 0.1
    momentum: float = 0.5
    batch: int = 512
    epochs: int = 8000
    patience: int = 500
    scale: Literal["mean", "sum", "sum_for_depth"] = "mean"  # of the objective (D2)
    functions_of: int | None = None  # networks of this depth leave the functions that they learnt
    side: int = 32  # pixels of such a map

    @property
    def recipe(self) -> Recipe:
        return Recipe(self.lr, self.momentum, self.batch, self.epochs, self.patience, self.scale)

    @property
    def grid(self) -> Iterator[tuple[int, int, float, int]]:
        depths = self.depths if self.every_depth_to is None else tuple(range(self.every_depth_to + 1))
        return product(depths, self.widths, self.rotations, self.train_points)


@dataclass(frozen=True)
class Model:
    """One network of the scan with its data."""

    key: dict[str, Any]  # what tells it from the others: columns of every table
    train: spirals.Points
    test: spirals.Points
    task: Task


def run(run: Run, config: Config) -> None:
    models = [_model(run, config, *place) for place in config.grid]
    checkpoint = Checkpoint(run)
    outcomes = batched.train(
        [m.task for m in models],
        config.recipe,
        checkpoint=checkpoint,
        progress=lambda step, total: run.progress(step, total, "epoch"),
    )
    for name, rows in _tables(models, outcomes, config).items():
        run.table(name, {column: [row[column] for row in rows] for column in rows[0]})
    run.metric("diverged", sum(o.diverged >= 0 for o in outcomes), "networks")
    checkpoint.remove()


def _model(run: Run, config: Config, depth: int, width: int, rotation: float, points: int) -> Model:
    """All networks of a repeat that see as many points of the same rotation see the same ones (D5)."""
    key = {"max_depth": depth, "width": width, "rotation": f"{rotation:g}", "points": points}
    drawn = spirals.spirals(
        points * (1 + config.test_share),
        run.stream(f"spirals {rotation:g} {points}"),
        rotation=rotation,
        noise_kind=config.noise_kind,
        noise=config.noise,
    )
    train, test = spirals.split(drawn, points)
    stream = run.stream(f"network {config.kind} {depth} {width} {rotation:g} {points}")
    weights, order = (int(seed) for seed in stream.integers(2**62, size=2))
    network = seeded(depth, width, config.kind == "ldn", weights)
    return Model(key, train, test, Task(network, torch.from_numpy(train.x), torch.from_numpy(train.y), order))


def _tables(models: list[Model], outcomes: list[Outcome], config: Config) -> dict[str, list[dict[str, Any]]]:
    """Rows of every table, each with the key of its network in front."""
    tables: dict[str, list[dict[str, Any]]] = {"models": [], "predictions": [], "depths": []}
    for model, outcome in zip(models, outcomes, strict=True):
        asked = (model.task.network, model.train, model.test)
        ending = {"epochs": outcome.epochs, "best_epoch": outcome.best_epoch}
        ending |= {"diverged": outcome.diverged >= 0, "diverged_epoch": outcome.diverged}
        rows = {
            "models": [{**ending, **model_row(model.task.network, model.train)}],
            "predictions": prediction_rows(*asked),
            "depths": depth_rows(*asked),
        }
        if config.functions_of == model.key["max_depth"]:
            rows["functions"] = function_rows(*asked, config.side)
        for name, found in rows.items():
            tables.setdefault(name, []).extend({**model.key, **row} for row in found)
    return tables
