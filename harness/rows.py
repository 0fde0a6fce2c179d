"""Runs → rows: the records of an artefact's runs, stacked. No arithmetic happens here."""

from pathlib import Path
from typing import Any

import pandas as pd

from harness.experiments import RunSpec
from harness.files import write_atomic
from harness.layout import Layout
from harness.record import read_record

KEYS = ["experiment", "method", "setting", "seed", "run"]


def collect(runs: list[RunSpec], layout: Layout) -> tuple[dict[str, pd.DataFrame], dict[str, dict[str, Any]]]:
    """`metrics` and every table that the runs left, each with the run's keys in front; and the records."""
    stacks: dict[str, list[pd.DataFrame]] = {}
    records = {}
    for spec in runs:
        folder = layout.run_folder(spec.id)
        record = records[spec.id] = read_record(folder)
        parts = {"metrics": pd.DataFrame(record["metrics"], columns=["name", "value", "unit"])}
        for file in record["tables"]:
            parts[Path(file).stem] = pd.read_csv(folder / file, keep_default_na=False, na_values=["nan"])
        for name, part in parts.items():
            keys = dict(
                zip(KEYS, (spec.experiment, spec.method, spec.setting, spec.seed, spec.id), strict=True)
            )
            stacks.setdefault(name, []).append(part.assign(**keys)[[*KEYS, *part.columns]])
    return {name: pd.concat(parts, ignore_index=True) for name, parts in stacks.items()}, records


def write(rows: dict[str, pd.DataFrame], folder: Path) -> None:
    """One CSV per table, readable on its own."""
    for name, frame in rows.items():
        write_atomic(folder / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))
