"""Cells and claims of a paper's artefacts → check/<paper>.json, which the report reads."""

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd

from harness.base.files import ROOT, write_atomic
from harness.base.layout import Layout, artefact_file
from harness.make import render
from harness.make.make import outputs, truth_line
from harness.numbers import cellfile
from harness.runs.record import read_record
from harness.spec import artefacts, experiments


def write(paper_name: str, layout: Layout, root: Path = ROOT) -> None:
    """One file per paper: every artefact with its cells, claims, files, deviations and runs."""
    paper = experiments.paper(paper_name, root)
    mine = [a for a in artefacts.artefacts(root) if a.paper == paper_name]
    records = {
        spec.id: read_record(layout.run_folder(spec.id), tables=False)
        for spec in {s.id: s for a in mine for s in a.runs(layout.scale, root)}.values()
    }
    content = {
        "paper": paper_name,
        "title": paper.title,
        "authors_year": f"{paper.authors}, {paper.year}",
        "scale": layout.scale,
        "artefacts": [_artefact(a, layout, records, root) for a in mine],
        "runs": {name: _run(record) for name, record in records.items()},
    }
    write_atomic(layout.check(paper_name), json.dumps(content, indent=1, allow_nan=False) + "\n")


def _artefact(
    artefact: artefacts.Artefact, layout: Layout, records: dict[str, Any], root: Path
) -> dict[str, Any]:
    cells = cellfile.read_cells(artefact_file(layout.results, artefact.name, ".cells.csv"))
    claims = cellfile.claims(artefact_file(layout.results, artefact.name, ".claims.csv"))
    used = [spec.id for spec in artefact.runs(layout.scale, root)]
    truths = list(dict.fromkeys(truth_line(t) for run in used for t in records[run]["truths"]))
    noted = artefacts.notes(artefact.paper, root)
    suffixes = {".cells.csv": "csv"}
    files = {}
    for path in outputs(artefact, layout.results):
        kind = suffixes.get("." + path.name.split(".", 1)[1], path.suffix[1:])
        if not path.name.endswith(".claims.csv"):
            files[kind] = layout.relative(path)
    return {
        "id": artefact.name,
        "target": artefact.target,
        "kind": artefact.kind,
        "title": artefact.data["title"],
        "label": artefact.label,
        "where": artefact.data["where"],
        "caption": render.caption(artefact, layout.scale, cells, []),
        "command": f"snakemake {artefact.target} --config scale={layout.scale}",
        "files": files,
        "cells": [_cell(c, artefact) for _, c in cells.iterrows()],
        "claims": claims,
        "notes": [{"id": d, "text": noted[d]} for d in artefact.data.get("deviations", [])],
        "truths": truths,
    }


def _cell(cell: pd.Series, artefact: artefacts.Artefact) -> dict[str, Any]:
    def finite(name: str) -> float | None:
        return float(cell[name]) if math.isfinite(cell[name]) else None

    return {
        "row": cell["row"],
        "column": cell["column"],
        "text": render.ours(cell, render.format_of(artefact, cell)),
        "value": finite("value"),
        "unit": artefact.data.get("unit", ""),
        "n": int(cell["n"]),
        "spread": finite("spread"),
        "spread_kind": cell["spread_kind"],
        "lo": finite("lo"),
        "hi": finite("hi"),
        "reported": cell["reported"],
        "verdict": cell["verdict"],
        "reason": cell["reason"],
        "runs": cell["runs"].split(),
    }


def _host(machine: dict[str, Any]) -> str:
    versions = [f"{name} {machine[name]}" for name in ("python", "torch") if name in machine]
    return ", ".join([machine["processor"], f"{machine['cores']} cores", *versions])


def _run(record: dict[str, Any]) -> dict[str, Any]:
    return {
        "command": f"python -m harness run {record['run']} --scale {record['scale']}",
        "seed": record["seed"],
        "code": record["code"],
        "commit": record["commit"],
        "host": _host(record["machine"]),
        "device": record["device"],
        "threads": record["threads"],
        "hours": round(record["seconds"] / 3600, 6),
        "start": record["started"],
        "end": record["ended"],
        "config": record["config"],
        "status": record["status"],
    }
