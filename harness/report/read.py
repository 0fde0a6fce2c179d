"""The check files as records: everything that the page shows, refused where it is not whole."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from harness.base.errors import HarnessError
from harness.report.verdicts import BY_WORD

Number = int | float | None


@dataclass(frozen=True)
class Cell:
    row: str
    column: str
    text: str
    value: Number
    unit: str
    n: int | None
    spread: Number
    spread_kind: str | None
    lo: Number
    hi: Number
    reported: str | None
    verdict: str
    reason: str
    runs: tuple


@dataclass(frozen=True)
class Claim:
    id: str
    text: str
    where: str
    verdict: str
    reason: str


@dataclass(frozen=True)
class Note:
    id: str
    text: str


@dataclass(frozen=True)
class Artefact:
    id: str
    target: str
    kind: str
    label: str
    title: str
    where: str
    caption: str
    command: str
    files: dict
    cells: tuple
    claims: tuple
    notes: tuple
    truths: tuple


@dataclass(frozen=True)
class Run:
    command: str
    seed: int | str | None
    code: str
    commit: str
    host: str
    device: str
    threads: int | None
    hours: Number
    start: str | None
    end: str | None
    config: dict
    status: str


@dataclass(frozen=True)
class Paper:
    paper: str
    title: str
    authors_year: str
    scale: str
    artefacts: tuple
    runs: dict


def read(scale_dir: Path) -> list[Paper]:
    """Every check/<paper>.json below results/<scale>, in the order of the papers' names."""
    paths = sorted((scale_dir / "check").glob("*.json"))
    if not paths:
        raise HarnessError(f"{scale_dir / 'check'} holds no <paper>.json: run `snakemake check` first")
    papers = [_paper(path) for path in paths]
    scales = sorted({paper.scale for paper in papers})
    if len(scales) > 1:
        raise HarnessError(
            f"{scale_dir / 'check'} mixes the scales {', '.join(scales)}: check one of them again"
        )
    seen: set[str] = set()
    for paper in papers:
        for artefact in paper.artefacts:
            if artefact.id in seen:
                raise HarnessError(
                    f"{scale_dir / 'check'} holds {artefact.id} twice: every artefact has one id"
                )
            seen.add(artefact.id)
    return papers


def _paper(path: Path) -> Paper:
    try:
        data = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except ValueError as error:
        raise HarnessError(f"{path} is not valid JSON ({error}): run `snakemake check` again") from None
    paper = _record(Paper, data, str(path))
    runs = {name: _record(Run, run, f"{path}, run {name}") for name, run in paper.runs.items()}
    artefacts = tuple(
        _artefact(item, runs, f"{path}, artefact {k + 1}") for k, item in enumerate(paper.artefacts)
    )
    if not paper.paper.isidentifier() or not paper.paper.isascii():
        raise HarnessError(f"{path} calls its paper {paper.paper!r}: a paper's name is one plain word")
    return Paper(paper.paper, paper.title, paper.authors_year, paper.scale, artefacts, runs)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON, write null")


def _artefact(data: Any, runs: dict[str, Run], where: str) -> Artefact:
    given = _record(Artefact, data, where)
    where = f"{where} ({given.id})"
    if given.kind not in ("table", "figure"):
        raise HarnessError(f"{where} is of kind {given.kind!r}: an artefact is a table or a figure")
    cells = tuple(_judged(Cell, item, f"{where}, cell {k + 1}") for k, item in enumerate(given.cells))
    claims = tuple(_judged(Claim, item, f"{where}, claim {k + 1}") for k, item in enumerate(given.claims))
    notes = tuple(_record(Note, item, f"{where}, note {k + 1}") for k, item in enumerate(given.notes))
    for cell in cells:
        for run in cell.runs:
            if run not in runs:
                raise HarnessError(
                    f"{where}: cell {cell.row} / {cell.column} names run {run!r}, which is not listed"
                )
    shown = {f.name: getattr(given, f.name) for f in fields(Artefact)}
    return Artefact(**shown | {"cells": cells, "claims": claims, "notes": notes})


def _judged(kind: type, data: Any, where: str) -> Any:
    item = _record(kind, data, where)
    if item.verdict not in BY_WORD:
        raise HarnessError(f"{where} has the unknown verdict {item.verdict!r}: one of {', '.join(BY_WORD)}")
    return item


def _record(kind: type, data: Any, where: str) -> Any:
    """A record from a JSON object; other keys are left alone, missing or mistyped ones are an error."""
    if not isinstance(data, dict):
        raise HarnessError(f"{where} is not a JSON object: run `snakemake check` again")
    values = {}
    for field in fields(kind):
        if field.name not in data:
            raise HarnessError(f"{where} lacks {field.name!r}: run `snakemake check` again")
        value = data[field.name]
        value = tuple(value) if isinstance(value, list) else value
        if not isinstance(value, field.type):
            raise HarnessError(
                f"{where}: {field.name!r} is {value!r:.60}, which has the wrong type: check again"
            )
        values[field.name] = value
    return kind(**values)
