"""Image runs of the LDN paper on a few digits, in well under a second each."""

from pathlib import Path

import pandas as pd

from harness.base.settings import build as build_config
from harness.runs.record import Run
from harness.spec.experiments import RunSpec
from reproduce.ldn import images

TINY = {
    "dataset": "digits",
    "kind": "ldn",
    "max_depth": 4,
    "width": 8,
    "bottleneck": 4,
    "batch": 64,
    "train_images": 400,
    "test_images": 200,
    "select_on": "val",
    "max_epochs": 3,
    "timed_images": 32,
    "timed_repeats": 2,
}
TABLES = ("depths", "predictions", "reliability", "history", "data")


def a_run(folder: Path, seed: int = 0, **changed: object) -> Run:
    config = {**TINY, **changed}
    spec = RunSpec("ldn", "images", "m", "s", seed, "smoke", config, {"threads": 1}, "reproduce.ldn.images")
    folder.mkdir(parents=True, exist_ok=True)
    return Run(spec, folder)


def config_of(run: Run) -> images.Config:
    return build_config(images.Config, run.spec.config, run.spec.id)


def done(folder: Path, seed: int = 0, **changed: object) -> Run:
    run = a_run(folder, seed, **changed)
    images.run(run, config_of(run))
    return run


def table(run: Run, name: str) -> pd.DataFrame:
    return pd.read_csv(run.folder / f"{name}.csv")


def metrics(run: Run) -> dict[str, float]:
    return {m.name: m.value for m in run.metrics}


def same(a: Run, b: Run) -> None:
    """Byte for byte, except for what was timed."""
    for name in TABLES:
        assert (a.folder / f"{name}.csv").read_bytes() == (b.folder / f"{name}.csv").read_bytes(), name
