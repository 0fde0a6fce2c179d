"""A truth that other runs found: beside each row of a cell's table, the mean of theirs of the same name."""

import pandas as pd

from harness.base.errors import HarnessError
from harness.numbers.tables import Tables
from harness.spec.artefacts import Cell
from harness.spec.experiments import RunSpec

COLUMN = "truth"


def with_truth(rows: Tables, cell: Cell, runs: list[RunSpec], truths: list[RunSpec], where: str) -> Tables:
    """The tables, with the column `truth` in the one that this cell reads."""
    select, table = cell.select["truth"], cell.select.get("table")
    if table not in rows.frames:
        raise HarnessError(f"{where}: its runs left no table {table!r} to look truths up for: mend 'table'")
    by, found = select["by"], _means(rows, select, truths, where)
    there = rows.frames[table]
    only = {c: v for c, v in cell.select.get("only", {}).items() if c in there}
    mine = rows.rows(table, runs, only)
    if by not in there:
        raise HarnessError(f"{where}: table {table!r} has no column {by!r} to look its truth up by")
    if COLUMN in there and mine[COLUMN].notna().any():
        raise HarnessError(f"{where}: table {table!r} has a truth of its own: leave the key 'truth' out")
    unknown = sorted(set(mine[by]) - set(found.index))
    if unknown:
        raise HarnessError(f"{where}: {len(unknown)} of its rows have no truth, the first is {unknown[0]!r}")
    return Tables({**rows.frames, table: mine.assign(**{COLUMN: mine[by].map(found)})})


def _means(rows: Tables, select: dict, truths: list[RunSpec], where: str) -> pd.Series:
    """By name, the mean over the runs, each of which must hold the same names, each once."""
    table, by, of = select["table"], select["by"], select["of"]
    frame = rows.frames.get(table, pd.DataFrame())
    only = select.get("only", {})
    for column in (by, of, *only):
        if column not in frame:
            raise HarnessError(f"{where}: its truth's runs left no table {table!r} with a column {column!r}")
    theirs = rows.rows(table, truths, only)
    if theirs.empty:
        raise HarnessError(f"{where}: its truth's runs left nothing for {only or 'it'}")
    names = [sorted(part[by]) for _, part in theirs.groupby("run")]
    if names[0] != sorted(set(names[0])) or any(other != names[0] for other in names):
        raise HarnessError(f"{where}: the runs of its truth hold different rows, or one of them twice")
    try:
        return pd.to_numeric(theirs[of]).groupby(theirs[by]).mean()
    except (ValueError, TypeError):
        raise HarnessError(f"{where}: its truth's runs left no numbers in {of!r} of {table!r}") from None
