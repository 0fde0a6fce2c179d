"""Image runs of the LDN paper on a few digits, in well under a second each."""

from pathlib import Path

from small_runs import SmallRuns, metrics, table

from harness.base.settings import build as build_config
from harness.runs.record import Run
from reproduce.ldn import images

__all__ = ["a_run", "config_of", "done", "metrics", "table"]
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


SMALL = SmallRuns(images, TINY)


def a_run(folder: Path, seed: int = 0, **changed: object) -> Run:
    return SMALL.begun(folder, seed, **changed)[0]


def config_of(run: Run) -> images.Config:
    return build_config(images.Config, run.spec.config, run.spec.id)


done = SMALL.done
