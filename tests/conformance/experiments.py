"""Experiments as the suite sees them: found by file, run in small, and what they leave without its clocks."""

import ast
import csv
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from harness.base.files import ROOT
from harness.base.layout import Layout
from harness.base.yamlfile import read_with_lines
from harness.runs.checkpoint import Checkpoint
from harness.runs.execute import execute
from harness.runs.record import Run, read_record
from harness.runs.replay import CLOCK
from harness.spec.artefacts import artefacts
from harness.spec.experiments import Experiment, RunSpec, find_run, paper, paper_names

TINY = "tests/reproduce/{}.yaml"


@dataclass(frozen=True)
class Case:
    """A tiny run of a module."""

    name: str
    spec: RunSpec  # with the first seed of the run that it is like

    def run(self, folder: Path, **changed: Any) -> dict[str, Any]:
        """Made as a campaign makes it; what its record and tables say."""
        return told(make(replace(self.spec, **changed), folder), self.spec)


class Killed(BaseException):
    """The process ends here."""


def modules(root: Path = ROOT) -> list[str]:
    """Every module of a paper that has `run` and `Config`."""
    found = []
    for file in sorted(root.glob("reproduce/*/*.py")):
        body = ast.parse(file.read_text(encoding="utf-8")).body
        names = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        if {"run", "Config"} <= names:
            found.append(".".join(file.relative_to(root).with_suffix("").parts))
    return found


def tiny_runs(paper_name: str, root: Path = ROOT) -> dict[str, Any]:
    """By module and by name, as they are written."""
    file = root / TINY.format(paper_name)
    return read_with_lines(file)[0] if file.is_file() else {}


def cases(module: str, root: Path = ROOT) -> list[Case]:
    """The tiny runs of a module; none is a sentence that says what to write."""
    _, name, short = module.split(".")
    known = tiny_runs(name, root)
    if not known.get(short):
        raise AssertionError(
            f"{module} has no tiny run: write `{short}: {{any-name: {{like: smoke/experiment/method/setting,"
            f" config: {{what is smaller}}}}}}` into {TINY.format(name)}, so that it takes less than a second"
        )
    return [_case(name, f"{name}.{short}-{one}", block, root) for one, block in known[short].items()]


def _case(paper_name: str, name: str, block: dict[str, Any], root: Path) -> Case:
    scale, _, run = block["like"].partition("/")
    experiment, method, _ = run.split("/")
    seed = paper(paper_name, root).experiments[experiment].seeds(scale, method)[0]
    like = find_run(f"{paper_name}/{run}/s{seed}", scale, root)
    return Case(name, replace(like, config={**like.config, **block.get("config", {})}))


def every_case() -> list[Any]:
    """For `parametrize`; a module without any is a case that fails."""
    found: list[Any] = []
    for module in modules():
        try:
            found += [pytest.param(case, id=case.name) for case in cases(module)]
        except AssertionError:
            continue  # test_every_experiment_has_a_tiny_run tells it
    return found


def blocks() -> list[Experiment]:
    return [block for name in paper_names() for block in paper(name).experiments.values()]


def make(spec: RunSpec, folder: Path) -> Path:
    """In this process, with its traces below `folder` only; the folder of the run."""
    layout = Layout(spec.scale, ROOT, folder)
    execute(spec, layout, threads=1)
    return layout.run_folder(spec.id)


def told(folder: Path, spec: RunSpec) -> dict[str, Any]:
    """All that a run found, measured times left out; not a number is equal to itself."""
    record, timed = read_record(folder), clocks(spec.paper, spec.experiment)
    found = {f"metric {m['name']}": repr(m["value"]) for m in record["metrics"] if m["name"] not in timed}
    found |= {"status": record["status"], "truths": repr(record["truths"])}
    found["files"] = sorted(path.name for path in folder.iterdir())
    for table in sorted(record["tables"]):
        rows = list(csv.reader((folder / table).open(encoding="utf-8", newline="")))
        if table.removesuffix(".csv") in timed:
            rows = rows[:1]
        kept = [i for i, column in enumerate(rows[0]) if column != CLOCK]
        found[table] = "\n".join(",".join(row[i] for i in kept) for row in rows)
    return found


@cache
def clocks(paper_name: str, experiment: str) -> frozenset[str]:
    """The metrics and tables in which a cell of an artefact says that it reads a clock."""
    mine = (
        select for name, select in _clocked() if (name, select.get("experiment")) == (paper_name, experiment)
    )
    return frozenset(str(select.get("table", select.get("metric"))) for select in mine)


@cache
def _clocked() -> list[tuple[str, dict[str, Any]]]:
    return [(a.paper, cell.select) for a in artefacts() for cell in a.cells if cell.select.get("clock")]


@contextmanager
def checkpoints(killing: bool) -> Iterator[list[str]]:
    """One whenever there may be one, and what each held; `killing`: the process ends behind each.

    What is saved once more as it was loaded is no new one.
    """
    states: list[str] = []
    plain = Checkpoint.save

    def save(self: Checkpoint, state: Any) -> None:
        plain(self, state)
        if [content(state)] != states[-1:]:
            states.append(content(state))
            if killing:
                raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "due", property(lambda self: True))
        patch.setattr(Checkpoint, "save", save)
        yield states


def content(state: Any) -> str:
    """A hash of plain data and tensors, to the last bit."""
    digest = hashlib.sha256()

    def add(one: Any) -> None:
        if isinstance(one, dict):
            for key, value in one.items():
                digest.update(f"{key!r}:".encode())
                add(value)
        elif isinstance(one, list | tuple):
            digest.update(f"{len(one)} of:".encode())
            for value in one:
                add(value)
        elif isinstance(one, torch.Tensor):
            digest.update(f"{one.dtype}{tuple(one.shape)}".encode())
            digest.update(one.detach().cpu().contiguous().numpy().tobytes())
        else:
            digest.update(repr(one).encode())

    add(state)
    return digest.hexdigest()


@contextmanager
def noted() -> Iterator[list[str]]:
    """The random streams that runs ask for in the block, and `checkpoint` where they keep one."""
    names: list[str] = []
    plain, begin = Run.stream, Checkpoint.__init__

    def stream(self: Run, name: str) -> np.random.Generator:
        names.append(name)
        return plain(self, name)

    def init(self: Checkpoint, *given: Any) -> None:
        names.append("checkpoint")
        begin(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "stream", stream)
        patch.setattr(Checkpoint, "__init__", init)
        yield names
