"""Runs of one experiment with a small config of a test's own, without a campaign around them."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from harness.base.settings import build
from harness.runs.record import Run
from harness.spec.experiments import RunSpec


class SmallRuns:
    """Of a module, with its tests' config unless a test changes some of it."""

    def __init__(self, module: ModuleType, config: dict[str, Any], seed: int = 0) -> None:
        self.module, self.config, self.seed = module, config, seed

    def begun(self, folder: Path, seed: int | None = None, **changed: object) -> tuple[Run, Any]:
        """The run and its config, before anything is done."""
        config, seed = {**self.config, **changed}, self.seed if seed is None else seed
        _, paper, name = self.module.__name__.split(".")
        names = (paper, name, "m", "s", seed, "smoke")
        spec = RunSpec(*names, config, {"threads": 1}, self.module.__name__)
        folder.mkdir(parents=True, exist_ok=True)
        return Run(spec, folder), build(self.module.Config, config, spec.id)

    def done(self, folder: Path, seed: int | None = None, **changed: object) -> Run:
        run, config = self.begun(folder, seed, **changed)
        self.module.run(run, config)
        return run


def table(run: Run, name: str) -> pd.DataFrame:
    return pd.read_csv(run.folder / f"{name}.csv")


def metrics(run: Run) -> dict[str, float]:
    return {m.name: m.value for m in run.metrics}
