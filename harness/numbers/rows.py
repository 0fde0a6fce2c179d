"""Runs → rows: the records of an artefact's runs, stacked. No arithmetic happens here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from harness.base.files import write_atomic
from harness.base.layout import Layout
from harness.numbers.tables import text_of, texts
from harness.runs.integrity import require_defined, require_different, require_named
from harness.runs.record import read_record
from harness.spec.artefacts import Cell
from harness.spec.experiments import RunSpec

KEYS = ["experiment", "method", "setting", "seed", "run"]


def collect(
    runs: Sequence[RunSpec], layout: Layout, cells: Sequence[Cell] = ()
) -> tuple[dict[str, pd.DataFrame], dict[str, dict[str, Any]]]:
    """`metrics` and every table that the runs left, each with the run's keys in front; and the records.

    Of a table that all of these cells choose from by a column, the rows that one of them chooses.
    """
    stacks: dict[str, list[pd.DataFrame]] = {}
    records = {}
    chosen = _chosen(cells)
    for spec in runs:
        folder = layout.run_folder(spec.id)
        record = records[spec.id] = read_record(folder)
        require_named(spec, record)
        parts = {"metrics": pd.DataFrame(record["metrics"], columns=["name", "value", "unit"])}
        for file in record["tables"]:
            parts[Path(file).stem] = pd.read_csv(folder / file, keep_default_na=False, na_values=["nan"])
        require_defined(spec, record, parts)
        for name, part in parts.items():
            for column, values in chosen.get(name, {}).items():
                if column in part:
                    asked = [text_of(value, part[column]) for value in values]
                    part = part[texts(part[column]).isin(asked)]
            keys = dict(
                zip(KEYS, (spec.experiment, spec.method, spec.setting, spec.seed, spec.id), strict=True)
            )
            stacks.setdefault(name, []).append(part.assign(**keys)[[*KEYS, *part.columns]])
    require_different(records.values())
    return {name: pd.concat(parts, ignore_index=True) for name, parts in stacks.items()}, records


def _chosen(cells: Sequence[Cell]) -> dict[str, dict[str, set[str]]]:
    """By table: the columns by which every cell of it chooses, with what one of them chooses there."""
    found: dict[str, dict[str, set[str]]] = {}
    for select in [s for cell in cells for s in (cell.select, cell.select.get("truth", {}))]:
        if "table" in select:
            only = {column: {str(value)} for column, value in select.get("only", {}).items()}
            known = found.setdefault(select["table"], only)
            found[select["table"]] = {c: known[c] | only[c] for c in known.keys() & only.keys()}
    return found


def equal(some: dict[str, pd.DataFrame], others: dict[str, pd.DataFrame]) -> bool:
    return some.keys() == others.keys() and all(some[name].equals(others[name]) for name in some)


def write(rows: dict[str, pd.DataFrame], folder: Path) -> None:
    """One CSV per table, readable on its own; what only an earlier making left here goes."""
    for path in folder.glob("*.csv"):
        if path.stem not in rows:
            path.unlink()
    for name, frame in rows.items():
        write_atomic(folder / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))
