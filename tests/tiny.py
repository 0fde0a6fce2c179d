"""A tiny paper in a folder of its own: one experiment, one table; it runs in milliseconds, without data."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import reproduce
from harness.base.files import ROOT
from harness.base.layout import Layout
from harness.code import code_id, definitions, syntax
from harness.make.make import make
from harness.runs import record
from harness.runs.execute import execute
from harness.spec import artefacts, experiments

EXPERIMENTS = """\
paper: mini
title: A tiny paper
authors: nobody
year: 2021
experiments:
  noise:
    where: section 1
    config: {size: 60, effect: 2.0}
    methods:
      strong: {}
      weak: {effect: 0.5}
    settings:
      low: {shift: 0.0}
      high: {shift: 5.0}
    seeds: [0, 1, 2]
    scales:
      cpu:
        skip: {weak: this method takes longer than anybody would wait}
      smoke:
        config: {size: 30}
"""

MODULE = '''\
"""A truth, and a prediction of it that is as good as its effect is large."""

from dataclasses import dataclass

from harness.runs.record import Run


@dataclass(frozen=True)
class Config:
    """How many values, how well they are predicted, and where their mean lies."""

    size: int
    effect: float
    shift: float


def run(run: Run, config: Config) -> None:
    truth = run.stream("truth").normal(config.shift, 1.0, config.size)
    prediction = config.effect * truth + run.stream("noise").normal(size=config.size)
    run.table("values", {"truth": truth, "prediction": prediction})
    run.metric("mean", truth.mean())
    run.progress(config.size, config.size, "value")
'''

NOTES = """\
# A tiny paper: deviations

### D1 — The values are drawn at random

They mean nothing.
"""

TABLE = """\
artefact: mini/table_1
where: "Table 1, section 1"
title: Means and correlations
comparable_from: smoke
deviations: [D1]
format: ".2f"
cells: {experiment: noise}
rows:
  - {name: low, setting: low}
  - {name: high, setting: high}
columns:
  - {name: strong, method: strong, metric: mean}
  - {name: weak, method: weak, metric: mean}
  - {name: correlation, method: strong, table: values, reduce: spearman, of: prediction, against: truth}
reported: {runs: 3, spread: sample_sd}
printed: |
  |      | strong    | weak      |
  | low  | 0.0 (0.2) | 0.0 (0.2) |
  | high | 5.0 (0.2) | 5.0 (0.2) |
claims:
  - id: high-above-low
    text: The mean is higher where it was set higher.
    where: section 1
    tests: [high | strong > low | strong]
"""

FILES = {
    "EXPERIMENTS": "reproduce/mini/experiments.yaml",
    "MODULE": "reproduce/mini/noise.py",
    "NOTES": "reproduce/mini/NOTES.md",
    "TABLE": "tables/mini/table_1.yaml",
}


def project(folder: Path, **changed: str) -> Path:
    """The root of a project that holds the paper `mini`; `TABLE=text`, … replaces one of its files."""
    texts = {"EXPERIMENTS": EXPERIMENTS, "MODULE": MODULE, "NOTES": NOTES, "TABLE": TABLE, **changed}
    write(folder, "reproduce/mini/__init__.py", '"""A tiny paper."""\n')
    for name, text in texts.items():
        write(folder, FILES[name], text)
    return folder


def write(root: Path, path: str, text: str) -> Path:
    """Write or replace one file of a project; what was read of it before is forgotten."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    forget()
    return file


def edit(root: Path, path: str, old: str, new: str) -> Path:
    """Replace a piece of a file's text; it must be there."""
    text = (root / path).read_text(encoding="utf-8")
    assert old in text, f"{path} does not contain {old!r}"
    return write(root, path, text.replace(old, new))


def made(folder: Path) -> Layout:
    """The project with its runs done and its table made; `forget` afterwards."""
    root = project(folder)
    run_all(root)
    return make_all(root)


def forget() -> None:
    """Empty the caches that assume that files do not change while a process lives."""
    for cached in (
        experiments.paper,
        artefacts.load,
        artefacts.notes,
        code_id.code_id,
        record.commit,
        code_id.step_id,
        code_id._fingerprint,
        definitions.module_at,
        syntax.closure,
        syntax.imported,
        syntax.tree,
        artefacts._runs,
    ):
        cached.cache_clear()


@contextmanager
def importable(root: Path) -> Iterator[None]:
    """`import reproduce.mini…` finds this project's modules inside the block."""
    before = list(reproduce.__path__)
    reproduce.__path__.append(str(root / "reproduce"))
    try:
        yield
    finally:
        reproduce.__path__[:] = before
        for name in [n for n in sys.modules if n.startswith("reproduce.mini")]:
            del sys.modules[name]
        vars(reproduce).pop("mini", None)


def run_all(root: Path, scale: str = "smoke") -> Layout:
    """Every run of the project at this scale, in this process."""
    layout = Layout(scale, root)
    with importable(root):
        for spec in experiments.all_runs(scale, root):
            execute(spec, layout)
    return layout


def make_all(root: Path, scale: str = "smoke") -> Layout:
    """Every artefact of the project from its runs, which must be there."""
    layout = Layout(scale, root)
    for artefact in artefacts.artefacts(root):
        make(artefact, layout, root)
    return layout


def checkout(folder: Path, **changed: str) -> Path:
    """The project with a copy of the harness and the workflow: commands started there see only it."""
    project(folder, **changed)
    for name in ("harness", "config", "profiles", "reproduce/rules"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    for name in ("Snakefile", "environment.yml", "reproduce/__init__.py"):
        shutil.copy(ROOT / name, folder / name)
    return folder
