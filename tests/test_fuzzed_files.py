"""Hundreds of slips in the papers' own YAML: each file loads or is refused in one sentence that names it.

`CASES=1000 pytest tests/test_fuzzed_files.py` tries more of them.
"""

import importlib
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import gold
import pytest
import tiny
from mutations import mutated

from harness.accepted.check import compare
from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import SCALES
from harness.base.settings import build
from harness.make.make import make
from harness.report import build as build_report
from harness.spec import artefacts, experiments

CASES = int(os.environ.get("CASES", "0"))


@pytest.fixture(scope="module")
def papers(tmp_path_factory) -> Iterator[Path]:
    """The YAML, notes and drawings of all papers, where they may be spoilt."""
    root = tmp_path_factory.mktemp("papers")
    for pattern in ("reproduce/*/*.yaml", "reproduce/*/NOTES.md", "tables/*/*.yaml", "figures/*/*.*"):
        for path in ROOT.glob(pattern):
            copy = root / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    yield root
    tiny.forget()


def spoilt(paths: list[Path], cases: int) -> Iterator[Path]:
    """One file after the other, written with slips, and as it was once it was looked at."""
    chance = random.Random(2021)
    for _ in range(CASES or cases):
        path = chance.choice(paths)
        whole = path.read_bytes()
        path.write_bytes(mutated(whole.decode(), chance).encode("utf-8", "surrogatepass"))
        try:
            yield path
        finally:
            path.write_bytes(whole)


def forget_artefacts() -> None:
    artefacts.load.cache_clear()
    artefacts._runs.cache_clear()


def told(error: HarnessError, begins: object) -> str:
    """One sentence of a bearable length that begins with what is wrong."""
    text = str(error)
    assert text.startswith(str(begins)) and "\n" not in text and len(text) < len(str(begins)) + 5000, text
    return text


def test_artefacts_of_the_papers(papers):
    outcomes = {"loads": 0, "refused": 0}
    for path in spoilt(artefacts.paths(papers), 100):
        forget_artefacts()
        try:
            artefact = artefacts.load(path, papers)
            for scale in SCALES:
                runs = {run.id for run in artefact.runs(scale, papers)}
                for cell in artefact.cells:
                    if not artefacts.runs_of(cell, artefact.paper, scale, papers):
                        assert artefacts.absence(cell, artefact.paper, scale, papers).reason
            assert runs or artefact.cells
            outcomes["loads"] += 1
        except HarnessError as error:
            told(error, path)
            outcomes["refused"] += 1
    assert all(outcomes.values()), outcomes


def test_experiments_of_the_papers(papers):
    outcomes = {"loads": 0, "refused": 0, "config refused": 0}
    for path in spoilt(sorted(papers.glob("reproduce/*/experiments.yaml")), 10):
        tiny.forget()
        try:
            paper = experiments.paper(path.parent.name, papers)
            specs = [spec for scale in SCALES for spec in paper.runs(scale)]
        except HarnessError as error:
            told(error, path)
            outcomes["refused"] += 1
            continue
        outcomes["loads" if _all_build(specs) else "config refused"] += 1
    assert outcomes["refused"] and sum(outcomes.values()) == (CASES or 10)


def _all_build(specs: list[experiments.RunSpec]) -> bool:
    """Whether every run gets its config; what a campaign asks of it before must not fail either."""
    good = True
    for spec in specs:
        assert Path(spec.id).as_posix() == spec.id and "\n" not in spec.id
        assert repr(sorted(spec.config.items()))
        if not (ROOT / f"{spec.module.replace('.', '/')}.py").is_file():
            continue
        try:
            build(importlib.import_module(spec.module).Config, spec.config, spec.id)
        except HarnessError as error:
            told(error, spec.id)
            good = False
    return good


def test_what_loads_is_made_or_refused(tmp_path):
    """Of a small paper with every kind of cell: the whole way to the table, the verdicts and the check."""
    layout = gold.build(tmp_path)
    root = layout.root
    (root / "figures/gold/figure_1.yaml").unlink()
    outcomes = {"made": 0, "refused": 0}
    for path in spoilt([root / "tables/gold/table_1.yaml"], 240):
        forget_artefacts()
        try:
            artefact = artefacts.load(path, root)
        except HarnessError as error:
            told(error, path)
            continue
        try:
            make(artefact, layout, root)
            build_report(layout, root)
            with pytest.raises(HarnessError, match="nothing was ever accepted"):
                compare(layout, root)
            outcomes["made"] += 1
        except HarnessError as error:
            told(error, "")
            outcomes["refused"] += 1
    assert all(outcomes.values()), outcomes
    tiny.forget()
