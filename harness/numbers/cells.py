"""Rows → cells: the one place where numbers are made from numbers."""

import hashlib
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import scale_rank
from harness.numbers.cellfile import CELL
from harness.numbers.judge import Context, Reported, Verdict, is_number, judge, judge_text, parse
from harness.numbers.reductions import CORRELATIONS, NEEDS, OVER_PAIRS, statistic
from harness.numbers.run_pairs import of_pairs
from harness.numbers.stats import Estimate, exact, of_population, of_runs, of_units
from harness.numbers.tables import Tables
from harness.numbers.truth_column import with_truth
from harness.spec.artefacts import Artefact, Cell, absence, truth_of
from harness.spec.experiments import RunSpec


@dataclass(frozen=True)
class Filled:
    """A cell with our number, its interval, the paper's number and the verdict."""

    row: str
    column: str
    estimate: Estimate | None
    text: str  # a setting, where the cell is no number; what the drawing shows, where it has a picture
    reported: str | None
    verdict: Verdict
    runs: tuple[str, ...]
    truths: tuple[str, ...] = ()  # the runs that found its truth, where others did

    def line(self) -> dict[str, Any]:
        """As cells.csv has it."""
        e = self.estimate or Estimate(math.nan, 0, spread_kind="", se_runs=math.nan)
        spread = math.nan if e.spread is None else e.spread
        ends = (e.lo, e.hi) if math.isfinite(e.se) else (math.nan, math.nan)
        runs = " ".join(dict.fromkeys([*self.runs, *self.truths]))
        verdict = self.verdict.word, self.verdict.reason
        told = (e.value, self.text, e.n, e.units, spread, e.spread_kind, *ends, self.reported or "", *verdict)
        return dict(zip(CELL, (self.row, self.column, *told, runs), strict=True))


def fill(artefact: Artefact, rows: dict[str, pd.DataFrame], scale: str, root: Path = ROOT) -> list[Filled]:
    """Every cell of an artefact at a scale."""
    tables, printed = Tables(rows), printed_by_column(artefact)
    return [
        _fill(artefact, cell, tables, scale, context_of(artefact, cell, printed), root)
        for cell in artefact.cells
    ]


def context_of(artefact: Artefact, cell: Cell, printed: dict[str, list[float]]) -> Context:
    """What is known of the number that the paper prints there: of its line, else of the artefact."""
    reported = artefact.data.get("reported", {})
    return Context(
        cell.select.get("runs", reported.get("runs", 1)),
        cell.select.get("architectures", reported.get("architectures", 0)),
        reported.get("spread", "unknown"),
        tuple(printed.get(cell.column, ())),
    )


def printed_by_column(artefact: Artefact) -> dict[str, list[float]]:
    """The numbers that the paper prints in each column."""
    printed: dict[str, list[float]] = {}
    for cell in artefact.cells:
        if cell.reported is not None and is_number(cell.reported):
            printed.setdefault(cell.column, []).append(parse(cell.reported).value)
    return printed


def _fill(artefact: Artefact, cell: Cell, rows: Tables, scale: str, context: Context, root: Path) -> Filled:
    runs = artefact.runs_of(cell, scale, root)
    if not runs:
        gone = absence(cell, artefact.paper, scale, root)
        return Filled(cell.row, cell.column, None, "", cell.reported, Verdict(gone.verdict, gone.reason), ())
    select, truths = cell.select, artefact.truth_runs(cell, scale, root)
    where = f"{artefact.name}: {cell.row} / {cell.column}"
    if "missing" in select and _is_missing(rows, cell, runs, where):
        verdict = Verdict("not run", select["missing"])
        return Filled(cell.row, cell.column, None, "", cell.reported, verdict, ())
    if select.get("pairs") and len(runs) < 2:
        verdict = Verdict("not run", "two runs make a pair, this scale has one")
        return Filled(cell.row, cell.column, None, "", cell.reported, verdict, ())
    if "truth" in select:
        if not truths:
            gone = absence(truth_of(cell), artefact.paper, scale, root)
            verdict = Verdict(gone.verdict, gone.reason)
            return Filled(cell.row, cell.column, None, "", cell.reported, verdict, ())
        rows = with_truth(rows, cell, runs, truths, where)
    if select.get("reduce") == "text":
        text = str(_single(_frame(rows, cell, runs, where)[select["of"]], where))
        verdict = judge_text(text, cell.reported) if cell.reported else Verdict("")
        made_of = tuple(rows.left(*_asked(rows, cell), runs))
        verdict = _excused(cell, text, verdict, where)
        return Filled(cell.row, cell.column, None, text, cell.reported, verdict, made_of)
    estimate = reduce(rows, cell, runs, context, where)
    verdict = Verdict("")
    if cell.reported is not None:
        verdict = judge(estimate, _parsed(cell.reported, where), context)
        needed = select.get("comparable_from", artefact.data.get("comparable_from", "smoke"))
        if scale_rank(scale) < scale_rank(needed):
            reason = f": {select['because']}" if "because" in select else ""
            verdict = Verdict("not comparable", f"judged from scale {needed} on{reason}")
    elif not math.isfinite(estimate.value):
        verdict = Verdict("", "our value is not a number")
    drawn = ""
    if "drawn" in cell.select:  # of the first run; a drawing shows one, the number beside it is of all
        drawn = str(_single(_frame(rows, cell, runs[:1], where)[cell.select["drawn"]], where))
    verdict, found_by = _excused(cell, estimate, verdict, where), tuple(run.id for run in truths)
    made_of = tuple(rows.left(*_asked(rows, cell), runs))
    return Filled(cell.row, cell.column, estimate, drawn, cell.reported, verdict, made_of, found_by)


def _parsed(text: str, where: str) -> Reported:
    try:
        return parse(text)
    except HarnessError as error:
        raise HarnessError(f"{where}: {error}") from None


def _excused(cell: Cell, ours: Estimate | str, verdict: Verdict, where: str) -> Verdict:
    """A difference is the paper's issue only where ours is what the numbered deviation results in."""
    select = cell.select
    if verdict.word != "differs" or "paper_issue" not in select:
        return verdict
    gives = str(select.get("gives", ""))
    same = judge_text(ours, gives).word == "match" if isinstance(ours, str) else _gives(ours, gives, where)
    if not same:
        instead = f"{select['paper_issue']}; that would give {gives or 'nothing that is stated'}"
        return Verdict("differs", f"{verdict.reason}, not explained by {instead}")
    return Verdict("paper issue", f"{select['paper_issue']} ({verdict.reason})")


def _gives(ours: Estimate, gives: str, where: str) -> bool:
    return bool(gives) and _parsed(gives, where).rounds_to(ours.value)


def reduce(rows: Tables, cell: Cell, runs: list[RunSpec], context: Context, where: str) -> Estimate:
    """The cell's number from the rows of its runs, as its YAML says."""
    select = cell.select
    if "metric" in select:
        frame = _narrow(rows, "metrics", runs, {"name": select["metric"]}, where)
        per_run = frame.groupby("run", sort=True)["value"].mean(skipna=False)
        if select.get("exact"):
            return exact(_single(per_run, where))
        return of_runs([per_run.min()] if select.get("reduce") == "lowest" else per_run.to_numpy())
    kind = select.get("reduce", "mean")
    frame = _frame(rows, cell, runs, where)
    if kind == "lookup":
        value = _number(_single(frame[select["of"]], where), where)
        return exact(value) if select.get("exact", True) else of_runs([value])
    parts = [part for _, part in frame.groupby("run", sort=True)]
    which = ""
    if "paired_by" in select and kind not in ("total", "mean"):
        parts, which = _ordered(parts, select["paired_by"], where)
    names = [select[key] for key in ("of", "against", "given") if key in select]
    arrays = [tuple(_numbers(part[name], where) for name in names) for part in parts]
    if kind == "total":
        return exact(_single(pd.Series([column.sum() for column, *_ in arrays]), where))
    if kind == "mean":  # of the runs' means; the repeats of a single run stand for runs
        means = [column.mean() for column, *_ in arrays]
        if len(means) > 1:
            return of_runs(means)
        return exact(means[0]) if _is_population(rows, select, runs) else of_runs(arrays[0][0])
    one, many = statistic(select, where)
    bounded = kind in CORRELATIONS
    if select.get("pairs"):
        if len({len(column) for column, *_ in arrays}) > 1:
            raise HarnessError(f"{where}: its runs left different numbers of rows: pairs need the same ones")
        made = of_pairs(one, many, [column for column, *_ in arrays])
        return replace(made, architectures=which, bounded=bounded)
    if _is_population(rows, select, runs):
        return replace(of_population(one, arrays, context.units or 200), bounded=bounded)
    return replace(of_units(one, arrays, many=many), architectures=which, bounded=bounded)


def _ordered(parts: list[pd.DataFrame], columns: list[str], where: str) -> tuple[list[pd.DataFrame], str]:
    """Each run's rows in the order of the first of these columns, and a name for what they rank."""
    for column in columns:
        if column not in parts[0]:
            raise HarnessError(f"{where}: there is no column {column!r} to tell architectures apart by")
    parts = [part.sort_values(columns[0], kind="stable") for part in parts]
    told = {str([part[column].tolist() for column in columns]) for part in parts}
    if len(told) > 1:
        raise HarnessError(
            f"{where}: its runs rank different architectures (by {', '.join(columns)}): they must be the same"
        )
    return parts, hashlib.sha256(told.pop().encode()).hexdigest()


def _is_population(rows: Tables, select: dict[str, Any], runs: list[RunSpec]) -> bool:
    """Whether the table is the whole space: said by the YAML, or by a metric that the run left."""
    said = select.get("population", False)
    if not isinstance(said, str):
        return said
    mine = rows.rows("metrics", runs, {"name": said})
    return bool(len(mine)) and bool((mine["value"] == 1).all())


def _frame(rows: Tables, cell: Cell, runs: list[RunSpec], where: str) -> pd.DataFrame:
    table = cell.select.get("table")
    if table not in rows.frames:
        there = ", ".join(sorted(rows.frames))
        raise HarnessError(f"{where}: its runs left no table {table!r}; they left {there}")
    kind = cell.select.get("reduce", "mean")
    if kind == "lowest":
        raise HarnessError(f"{where}: 'lowest' is for a metric, not for a table: use another way to reduce")
    if cell.select.get("pairs") and kind not in OVER_PAIRS:
        raise HarnessError(f"{where}: pairs of runs are compared by {', '.join(OVER_PAIRS)}, not by {kind!r}")
    for key in ("of",) if cell.select.get("pairs") else NEEDS.get(kind, ("of", "against")):
        if key not in cell.select:
            raise HarnessError(f"{where}: to reduce a table by {kind!r} it needs the key {key!r}: add it")
    frame = _narrow(rows, table, runs, cell.select.get("only", {}), where)
    for key in ("of", "against", "given", "drawn"):
        column = cell.select.get(key)
        if column is not None and column not in frame:
            raise HarnessError(
                f"{where}: table {table!r} has no column {column!r}; it has {', '.join(frame)}"
            )
    return frame


def _is_missing(rows: Tables, cell: Cell, runs: list[RunSpec], where: str) -> bool:
    """Whether no run left such rows, or fewer than `k`; a table, column or text that none has is an error."""
    if cell.select.get("table", "metrics") not in rows.frames:
        return False
    table, only = _asked(rows, cell)
    if left := rows.left(table, only, runs):  # fewer architectures than are to remain
        return bool(cell.select.get("k", 0) > min(left.values()))
    # A grid may end earlier at a scale; a name that no run has is a slip of the pen.
    names = {column: value for column, value in only.items() if not is_number(str(value))}
    if rows.left(table, {}, runs) and not rows.left(table, names, runs):
        raise HarnessError(f"{where}: its runs left nothing for {names}, only for other names: mend it")
    return True


def _asked(rows: Tables, cell: Cell) -> tuple[str, dict[str, Any]]:
    """Of which table and which rows of it a cell is made."""
    table = cell.select.get("table", "metrics")
    only = cell.select.get("only", {}) if "table" in cell.select else {"name": cell.select.get("metric")}
    return table, {column: value for column, value in only.items() if column in rows.frames[table]}


def _narrow(rows: Tables, table: str, runs: list[RunSpec], only: dict[str, Any], where: str) -> pd.DataFrame:
    for column, value in only.items():
        if column not in rows.frames[table]:
            raise HarnessError(f"{where}: there is no column {column!r} to choose {value!r} by")
    frame = rows.rows(table, runs, only)
    if frame.empty:
        raise HarnessError(f"{where}: its runs left nothing for {only or 'it'}")
    return frame


def _numbers(column: pd.Series, where: str) -> np.ndarray:
    if column.dtype.kind in "iuf":
        return column.to_numpy(float)
    return np.array([_number(value, where) for value in column])


def _number(value: Any, where: str) -> float:
    """A column that holds one text (or an empty field) comes from the CSV as texts altogether."""
    try:
        return float({"True": 1, "False": 0}.get(value, value))
    except ValueError:
        raise HarnessError(f"{where}: its runs left {value!r} where a number is wanted") from None


def _single(values: pd.Series, where: str) -> Any:
    different = values.unique()
    if len(different) != 1:
        raise HarnessError(
            f"{where}: one value is wanted and its runs left {len(different)}: narrow it with 'only'"
        )
    return different[0]


def to_frame(filled: list[Filled]) -> pd.DataFrame:
    """cells.csv: what rendering, drawing, checking and publishing read, and nothing else."""
    return pd.DataFrame([f.line() for f in filled])
