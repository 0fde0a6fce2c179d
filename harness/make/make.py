"""One artefact from its runs: rows, cells, claims, renderings."""

import importlib.util
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from harness.base.errors import HarnessError
from harness.base.files import ROOT, write_atomic
from harness.base.layout import Layout, artefact_file
from harness.make import fresh, render
from harness.numbers import cells, claims, holes, rows
from harness.numbers.cellfile import read_cells
from harness.spec import fingerprint
from harness.spec.artefacts import Artefact


@dataclass(frozen=True)
class Made:
    """What records come to, before anything is written or drawn."""

    rows: dict[str, pd.DataFrame]
    records: dict[str, dict[str, Any]]
    cells: str  # cells.csv and claims.csv as they are written
    claims: str


def computed(artefact: Artefact, layout: Layout, root: Path = ROOT, known: Made | None = None) -> Made:
    """Runs → rows → cells → verdicts; where the rows are those of `known`, so are the rest."""
    stacked, records = rows.collect(artefact.runs(layout.scale, root), layout, artefact.cells)
    if known and rows.equal(stacked, known.rows):
        return replace(known, records=records)
    filled = cells.fill(artefact, stacked, layout.scale, root)
    if artefact.lacking:
        frame, tested = holes.judged(artefact, filled, layout.scale, root)
    else:
        frame, tested = cells.to_frame(filled), claims.judge_claims(artefact, filled, layout.scale)
    csv = frame.to_csv(index=False, lineterminator="\n", float_format=_digits)
    return Made(stacked, records, csv, claims.to_frame(tested).to_csv(index=False, lineterminator="\n"))


def make(artefact: Artefact, layout: Layout, root: Path = ROOT) -> None:
    """Runs → rows → cells → verdicts → files."""
    made = computed(artefact, layout, root)
    rows.write(made.rows, layout.rows(artefact.name))
    fresh.forget_made(artefact, layout)  # until all of it is made of these cells
    write_atomic(artefact_file(layout.results, artefact.name, ".cells.csv"), made.cells)
    write_atomic(artefact_file(layout.results, artefact.name, ".claims.csv"), made.claims)
    render_made(artefact, layout, list(made.records.values()))
    fresh.note_made(artefact, made.records, layout, root)


def render_made(artefact: Artefact, layout: Layout, records: list[dict[str, Any]]) -> None:
    """The files that show the cells which stand in results/: these read the CSV and nothing else."""
    frame = read_cells(artefact_file(layout.results, artefact.name, ".cells.csv"))
    render_all(artefact, layout.scale, frame, records, layout.results)


def render_all(
    artefact: Artefact, scale: str, frame: pd.DataFrame, records: list[dict[str, Any]], base: Path
) -> None:
    """Cells → the files that show them, below `base`."""
    for suffix, text in texts(artefact, scale, frame, records).items():
        write_atomic(artefact_file(base, artefact.name, suffix), text)
    if artefact.kind == "figure":
        from harness.drawing import style

        picture = artefact_file(base, artefact.name, ".png").with_suffix("")
        try:
            style.save(_drawing(artefact), render.of_own_scale(frame), picture)
        except (LookupError, ValueError, TypeError, AttributeError) as error:
            raise HarnessError(_where_drawing_fails(artefact, error)) from error


def texts(
    artefact: Artefact, scale: str, frame: pd.DataFrame, records: list[dict[str, Any]]
) -> dict[str, str]:
    """By suffix what is written of cells."""
    outdated = fingerprint.outdated(artefact, {"runs": records}, scale, artefact.path.parents[2])
    caption = caption_of(artefact, scale, frame, records, outdated)
    found = {".md": render.markdown(artefact, frame, caption)}
    if artefact.kind == "table":
        found[".tex"] = render.latex(artefact, frame, caption)
        found[".html"] = render.html_table(artefact, frame)
    return found


def caption_of(
    artefact: Artefact, scale: str, frame: pd.DataFrame, records: list[dict[str, Any]], outdated: str = ""
) -> str:
    """The one caption of its files and of the report; of the records only truths are told."""
    truths = list(dict.fromkeys(truth_name(t) for record in records for t in record["truths"]))
    return render.caption(artefact, scale, frame, truths, outdated)


def _digits(value: float) -> str:
    """Whole numbers in full, others to ten digits: what differs behind them is the machine's."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.10g}"


def truth_name(truth: dict[str, object]) -> str:
    """`nb201 cifar10 test at 200 epochs (nb201-table)`, for a caption."""
    t = truth
    return f"{t['space']} {t['dataset']} {t['split']} at {t['epochs']} epochs ({t['source']})"


def truth_line(truth: dict[str, object]) -> str:
    """The same with its policy and its file's hash, for the report."""
    file = f"{truth['file']}, sha256 {str(truth['sha256'])[:12]}"
    return f"{truth_name(truth)}: {truth['policy']}; {file}"


def _drawing(artefact: Artefact) -> Callable[..., None]:
    """`draw(cells, figure)` of the module beside the figure's YAML; it sees the cells and nothing else."""
    from harness.drawing import style

    style.use_colours(artefact.drawing.with_name("colours.yaml"))
    module = _load(artefact.drawing)
    if not hasattr(module, "draw"):
        raise HarnessError(f"{artefact.drawing} has no function draw(cells, figure): write it")
    return module.draw


def _where_drawing_fails(artefact: Artefact, error: Exception) -> str:
    """Its line and what Python says there: mostly a row or column that the YAML calls otherwise."""
    place = artefact.drawing.name
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == str(artefact.drawing):
            place = f"{artefact.drawing}, line {frame.lineno}"
    said = " ".join(str(error).split())[:200]
    return (
        f"{place}: cannot draw these cells ({type(error).__name__}: {said}): mend it or {artefact.path.name}"
    )


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"figure_{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
