"""published/rehearsed.csv: a row for each kind of run that was rehearsed."""

import csv
import io
from pathlib import Path
from typing import Any

from harness.base.files import ROOT, write_atomic
from harness.spec.experiments import RunSpec

COUNTS = ("flops", "bytes", "kernels", "steps")  # bytes: moved by what multiplies no matrices
COLUMNS = ("scale", "run", "of", *COUNTS, "memory", "checkpoint", "records", "whole", "note")
Rows = dict[tuple[str, str], dict[str, Any]]


def path(root: Path = ROOT) -> Path:
    return root / "published" / "rehearsed.csv"


def read(root: Path = ROOT) -> Rows:
    """By scale and by run without its seed: seeds take the same."""
    if not path(root).is_file():
        return {}
    with path(root).open(encoding="utf-8", newline="") as file:
        return {(row["scale"], row["run"]): row for row in csv.DictReader(file)}


def write(rows: Rows, root: Path = ROOT) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows[key] for key in sorted(rows))
    write_atomic(path(root), text.getvalue())


def kind(spec: RunSpec) -> str:
    """A run's name without its seed."""
    return spec.id.rpartition("/")[0]
