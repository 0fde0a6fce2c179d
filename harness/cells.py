"""Rows → cells: the one place where numbers are made from numbers."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.artefacts import Artefact, Cell, absence, runs_of
from harness.errors import HarnessError
from harness.expect import Context, Verdict, is_number, judge, judge_text, parse
from harness.experiments import RunSpec
from harness.files import ROOT
from harness.layout import scale_rank
from harness.metrics import ranking
from harness.stats import Estimate, exact, of_population, of_runs, of_units

Rows = dict[str, pd.DataFrame]

# Statistics over architectures; each takes the columns that the cell names.
OVER_UNITS: dict[str, Callable[..., float]] = {
    "spearman": ranking.spearman,
    "kendall": ranking.kendall,
    "pearson": ranking.pearson,
    "partial_spearman": ranking.partial_spearman,
}
# What a way to reduce a table needs; all others need `of` and `against`.
NEEDS = {kind: ("of",) for kind in ("lookup", "text", "total", "mean")}
NEEDS |= {"quantile": ("of", "q"), "partial_spearman": ("of", "against", "given")}
NEEDS |= {kind: ("of", "against", "k") for kind in ("top_k", "improvement", "correlation_after_pruning")}


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


def fill(artefact: Artefact, rows: Rows, scale: str, root: Path = ROOT) -> list[Filled]:
    """Every cell of an artefact at a scale."""
    reported = artefact.data.get("reported", {})
    context = Context(
        reported.get("runs", 1), reported.get("architectures", 0), reported.get("spread", "unknown")
    )
    return [_fill(artefact, cell, rows, scale, context, root) for cell in artefact.cells]


def _fill(artefact: Artefact, cell: Cell, rows: Rows, scale: str, context: Context, root: Path) -> Filled:
    runs = runs_of(cell, artefact.paper, scale, root)
    if not runs:
        gone = absence(cell, artefact.paper, scale, root)
        return Filled(cell.row, cell.column, None, "", cell.reported, Verdict(gone.verdict, gone.reason), ())
    names = tuple(run.id for run in runs)
    select = cell.select
    context = replace(
        context,
        n=select.get("runs", context.n),
        units=select.get("architectures", context.units),
        span=_span(artefact, cell.column),
    )
    where = f"{artefact.name}: {cell.row} / {cell.column}"
    if "missing" in cell.select and _is_missing(rows, cell, runs):
        verdict = Verdict("not run", cell.select["missing"])
        return Filled(cell.row, cell.column, None, "", cell.reported, verdict, ())
    if cell.select.get("reduce") == "text":
        text = str(_single(_column(rows, cell, runs, where), where))
        verdict = judge_text(text, cell.reported) if cell.reported else Verdict("")
        return Filled(cell.row, cell.column, None, text, cell.reported, _excused(cell, text, verdict), names)
    estimate = reduce(rows, cell, runs, context, where)
    verdict = Verdict("")
    if cell.reported is not None:
        verdict = judge(estimate, parse(cell.reported), context)
        needed = select.get("comparable_from", artefact.data.get("comparable_from", "smoke"))
        if scale_rank(scale) < scale_rank(needed):
            reason = f": {select['because']}" if "because" in select else ""
            verdict = Verdict("not comparable", f"judged from scale {needed} on{reason}")
    elif not math.isfinite(estimate.value):
        verdict = Verdict("differs", "our value is not a number")
    drawn = ""
    if "drawn" in cell.select:  # of the first run; a drawing shows one, the number beside it is of all
        drawn = str(_single(_frame(rows, cell, runs[:1], where)[cell.select["drawn"]], where))
    return Filled(
        cell.row, cell.column, estimate, drawn, cell.reported, _excused(cell, estimate, verdict), names
    )


def _span(artefact: Artefact, column: str) -> float:
    """How far the numbers that the paper prints in this column lie apart."""
    printed = [c.reported for c in artefact.cells if c.column == column and c.reported is not None]
    values = [parse(text).value for text in printed if is_number(text)]
    return max(values) - min(values) if len(values) > 1 else 0.0


def _excused(cell: Cell, ours: Estimate | str, verdict: Verdict) -> Verdict:
    """A difference is the paper's issue only where ours is what the numbered deviation results in."""
    select = cell.select
    if verdict.word != "differs" or "paper_issue" not in select:
        return verdict
    gives = str(select.get("gives", ""))
    same = judge_text(ours, gives).word == "match" if isinstance(ours, str) else _gives(ours, gives)
    if not same:
        instead = f"{select['paper_issue']}; that would give {gives or 'nothing that is stated'}"
        return Verdict("differs", f"{verdict.reason}, not explained by {instead}")
    return Verdict("paper issue", f"{select['paper_issue']} ({verdict.reason})")


def _gives(ours: Estimate, gives: str) -> bool:
    return bool(gives) and parse(gives).rounds_to(ours.value)


def reduce(rows: Rows, cell: Cell, runs: list[RunSpec], context: Context, where: str) -> Estimate:
    """The cell's number from the rows of its runs, as its YAML says."""
    select = cell.select
    if "metric" in select:
        frame = _narrow(rows["metrics"], runs, {"name": select["metric"]}, where)
        per_run = frame.groupby("run", sort=True)["value"].mean(skipna=False)
        return exact(_single(per_run, where)) if select.get("exact") else of_runs(per_run.to_numpy())
    kind = select.get("reduce", "mean")
    frame = _frame(rows, cell, runs, where)
    if kind == "lookup":
        value = _number(_single(frame[select["of"]], where), where)
        return exact(value) if select.get("exact", True) else of_runs([value])
    names = [select[key] for key in ("of", "against", "given") if key in select]
    arrays = [
        tuple(np.array([_number(value, where) for value in part[name]]) for name in names)
        for _, part in frame.groupby("run", sort=True)
    ]
    if kind == "total":
        return exact(_single(pd.Series([column.sum() for column, *_ in arrays]), where))
    if kind == "mean":  # of the runs' means; the repeats of a single run stand for runs
        means = [column.mean() for column, *_ in arrays]
        if len(means) > 1:
            return of_runs(means)
        return exact(means[0]) if _is_population(rows, select, runs) else of_runs(arrays[0][0])
    if _is_population(rows, select, runs):
        return of_population(_statistic(select), arrays, context.units or 200)
    return of_units(_statistic(select), arrays)


def _is_population(rows: Rows, select: dict[str, Any], runs: list[RunSpec]) -> bool:
    """Whether the table is the whole space: said by the YAML, or by a metric that the run left."""
    said = select.get("population", False)
    if not isinstance(said, str):
        return said
    metrics = rows["metrics"]
    mine = metrics[metrics["run"].isin([r.id for r in runs]) & (metrics["name"] == said)]
    return bool(len(mine)) and bool((mine["value"] == 1).all())


def _statistic(select: dict[str, Any]) -> Callable[..., float]:
    kind = select["reduce"]
    if kind in OVER_UNITS:
        return OVER_UNITS[kind]
    if kind == "quantile":
        return lambda values: float(np.quantile(values, select["q"]))
    if kind == "top_k":
        return lambda prediction, truth: ranking.top_k(prediction, truth, select["k"])
    if kind == "improvement":
        normalised = select.get("normalised", True)
        return lambda prediction, truth: ranking.improvement(prediction, truth, select["k"], normalised)
    return lambda prediction, truth: ranking.correlation_after_pruning(prediction, truth, select["k"])


def _frame(rows: Rows, cell: Cell, runs: list[RunSpec], where: str) -> pd.DataFrame:
    table = cell.select.get("table")
    if table not in rows:
        raise HarnessError(f"{where}: its runs left no table {table!r}; they left {', '.join(sorted(rows))}")
    kind = cell.select.get("reduce", "mean")
    for key in NEEDS.get(kind, ("of", "against")):
        if key not in cell.select:
            raise HarnessError(f"{where}: to reduce a table by {kind!r} it needs the key {key!r}: add it")
    frame = _narrow(rows[table], runs, cell.select.get("only", {}), where)
    for key in ("of", "against", "given", "drawn"):
        column = cell.select.get(key)
        if column is not None and column not in frame:
            raise HarnessError(
                f"{where}: table {table!r} has no column {column!r}; it has {', '.join(frame)}"
            )
    return frame


def _is_missing(rows: Rows, cell: Cell, runs: list[RunSpec]) -> bool:
    """Whether none of the runs left such rows; a table or column that does not exist is still an error."""
    frame = rows.get(cell.select.get("table", "metrics"))
    if frame is None:
        return False
    only = cell.select.get("only", {}) if "table" in cell.select else {"name": cell.select.get("metric")}
    keep = frame["run"].isin([run.id for run in runs])
    for column, value in only.items():
        keep &= frame[column].astype(str) == str(value) if column in frame else True
    return not keep.any()


def _column(rows: Rows, cell: Cell, runs: list[RunSpec], where: str) -> pd.Series:
    return _frame(rows, cell, runs, where)[cell.select["of"]]


def _narrow(frame: pd.DataFrame, runs: list[RunSpec], only: dict[str, Any], where: str) -> pd.DataFrame:
    frame = frame[frame["run"].isin([run.id for run in runs])]
    for column, value in only.items():
        if column not in frame:
            raise HarnessError(f"{where}: there is no column {column!r} to choose {value!r} by")
        frame = frame[frame[column].astype(str) == str(value)]
    if frame.empty:
        raise HarnessError(f"{where}: its runs left nothing for {only or 'it'}")
    return frame


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
    lines = []
    for f in filled:
        e = f.estimate
        lines.append(
            {
                "row": f.row,
                "column": f.column,
                "value": e.value if e else math.nan,
                "text": f.text,
                "n": e.n if e else 0,
                "architectures": e.units if e else 0,
                "spread": e.spread if e and e.spread is not None else math.nan,
                "spread_kind": e.spread_kind if e else "",
                "lo": e.lo if e and math.isfinite(e.se) else math.nan,
                "hi": e.hi if e and math.isfinite(e.se) else math.nan,
                "reported": f.reported or "",
                "verdict": f.verdict.word,
                "reason": f.verdict.reason,
                "runs": " ".join(f.runs),
            }
        )
    return pd.DataFrame(lines)
