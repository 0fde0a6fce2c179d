"""An artefact's YAML: what one printed table or figure shows, what the paper prints, what it claims."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import KINDS
from harness.base.yamlfile import Lines, line_of, nearest, read_with_lines, validate
from harness.spec import consistency
from harness.spec.expand import expanded, merged, points, replaced, sides_of
from harness.spec.experiments import Absence, RunSpec, paper
from harness.spec.printed import numbers
from harness.spec.slips import refuse

NO_SELECT = {"name", "columns", "format", "words"}  # keys of a line that choose no number


@dataclass(frozen=True)
class Cell:
    """One number of an artefact: where it stands, which runs it is made of, what the paper prints there."""

    row: str
    column: str
    select: dict[str, Any]
    reported: str | None


@dataclass(frozen=True)
class Artefact:
    """One printed table or figure."""

    name: str  # sotl/table_4_1
    kind: str  # table or figure
    path: Path
    data: dict[str, Any]
    cells: tuple[Cell, ...]
    lacking: frozenset[str] = frozenset()  # runs that it is made without: it has holes there

    @property
    def paper(self) -> str:
        return self.name.split("/")[0]

    @property
    def in_paper(self) -> bool:
        return bool(re.match(r"(table|figure|section|appendix)\b", self.data["where"], re.I))

    @property
    def label(self) -> str:
        """`Table 4.1`; where the paper has no such thing, the name of its file."""
        if self.in_paper:
            place = self.data["where"].partition(",")[0]
            return place[0].upper() + place[1:]
        kind, _, what = self.name.split("/")[1].partition("_")
        return f"{kind.capitalize()} of {what.replace('_', ' ')}"

    @property
    def target(self) -> str:
        """The Snakemake alias: sotl_table_4_1."""
        return self.name.replace("/", "_")

    @property
    def drawing(self) -> Path:
        """The module that draws a figure."""
        return self.path.with_suffix(".py")

    def differs(self, scale: str) -> list[str]:
        """The deviations that say how its experiments differ at this scale from the published set-up."""
        experiments = paper(self.paper, self.path.parents[2]).experiments
        names = {cell.select["experiment"] for cell in self.cells if "experiment" in cell.select}
        told = {deviation for name in names for deviation in experiments[name].differs(scale)}
        return sorted(told, key=lambda deviation: int(deviation[1:]))

    def runs(self, scale: str, root: Path = ROOT) -> list[RunSpec]:
        """The runs that its cells are made of, each once."""
        found: dict[str, RunSpec] = {}
        for cell in self.cells:
            for run in [*self.runs_of(cell, scale, root), *self.truth_runs(cell, scale, root)]:
                found[run.id] = run
        return list(found.values())

    def runs_of(self, cell: Cell, scale: str, root: Path = ROOT) -> list[RunSpec]:
        """Those of one of its cells."""
        return [run for run in runs_of(cell, self.paper, scale, root) if run.id not in self.lacking]

    def truth_runs(self, cell: Cell, scale: str, root: Path = ROOT) -> list[RunSpec]:
        """Those that found the truth of a cell's predictions, where others did (`truth:`)."""
        there = "truth" in cell.select and self.runs_of(cell, scale, root)
        return self.runs_of(truth_of(cell), scale, root) if there else []

    def without(self, runs: Iterable[str]) -> "Artefact":
        """With holes where these would be."""
        return replace(self, lacking=frozenset(runs))

    def absences(self, scale: str, root: Path = ROOT) -> list[Absence]:
        """Why its cells, or their truths, have no run: of each that has none."""
        found = []
        for cell in self.cells:
            if not self.runs_of(cell, scale, root):
                found.append(absence(cell, self.paper, scale, root))
            elif "truth" in cell.select and not self.truth_runs(cell, scale, root):
                found.append(absence(truth_of(cell), self.paper, scale, root))
        return found


def runs_of(cell: Cell, paper_name: str, scale: str, root: Path = ROOT) -> list[RunSpec]:
    """The runs of one cell: its experiment, narrowed to its method and setting."""
    select = cell.select
    if "absent" in select or "experiment" not in select:
        return []
    runs = _runs(paper_name, select["experiment"], scale, root)
    asked = {key: select[key] for key in ("method", "setting", "seed") if key in select}
    return [run for run in runs if all(getattr(run, key) == name for key, name in asked.items())]


def truth_of(cell: Cell) -> Cell:
    return replace(cell, select=cell.select["truth"])


@cache
def _runs(paper_name: str, experiment: str, scale: str, root: Path) -> tuple[RunSpec, ...]:
    """Asked for once per cell."""
    return tuple(paper(paper_name, root).experiments[experiment].runs(scale))


def absence(cell: Cell, paper_name: str, scale: str, root: Path = ROOT) -> Absence:
    """Why a cell without runs has none."""
    select = cell.select
    if "absent" in select:
        return Absence("not run", select["absent"])
    experiment = paper(paper_name, root).experiments[select["experiment"]]
    found = experiment.absence(scale, select.get("method"), select.get("setting"))
    if found is None and "seed" in select and not runs_of(cell, paper_name, scale, root):
        others = replace(cell, select={key: value for key, value in select.items() if key != "seed"})
        if runs_of(others, paper_name, scale, root):
            return Absence("not run", f"seed {select['seed']} is not run at scale {scale}")
    return found or Absence("not run", f"none of its runs at scale {scale} is there yet")


def needed_runs(scale: str, root: Path = ROOT) -> list[RunSpec]:
    """The runs that some artefact is made of, each once: what a campaign of this scale does."""
    return list({run.id: run for a in artefacts(root) for run in a.runs(scale, root)}.values())


def paths(root: Path = ROOT) -> list[Path]:
    """Paper by paper, tables, then figures, by their numbers: Figure 10 after Figure 9."""

    def order(path: Path) -> tuple[str, bool, list[tuple[bool, int, str]]]:
        parts = re.findall(r"\d+|\D+", path.stem)
        natural = [(not p.isdigit(), int(p) if p.isdigit() else 0, p) for p in parts]
        return path.parent.name, path.parent.parent.name != KINDS["table"], natural

    every = (p for folder in KINDS.values() for p in (root / folder).glob("*/*.yaml"))
    return sorted((p for p in every if p.name != "colours.yaml"), key=order)


def names(root: Path = ROOT) -> list[str]:
    return [f"{p.parent.name}/{p.stem}" for p in paths(root)]


def artefacts(root: Path = ROOT) -> list[Artefact]:
    return [load(path, root) for path in paths(root)]


def find(name: str, root: Path = ROOT) -> Artefact:
    """By `sotl/table_4_1` or by its Snakemake alias `sotl_table_4_1`."""
    for path in paths(root):
        full = f"{path.parent.name}/{path.stem}"
        if name in (full, full.replace("/", "_")):
            return load(path, root)
    raise HarnessError(f"artefact {name!r} does not exist: {nearest(name, names(root))}")


def chosen(names: list[str]) -> list[Artefact]:
    """Artefacts by name, all of a paper by its; all where none is named."""
    every, found = artefacts(), []
    for name in names:
        found += [artefact for artefact in every if artefact.paper == name] or [find(name)]
    return found if names else every


@cache
def load(path: Path, root: Path = ROOT) -> Artefact:
    """Read and check one artefact's YAML."""
    data, lines = read_with_lines(path)
    validate(data, lines, "artefact", path)
    data, lines = expanded(data, lines, path)
    if "printed" in data:
        data["reported"] = {**data.get("reported", {}), "numbers": numbers(data, lines, path)}
    refuse(data, lines, path)
    data["consistency"] = consistency.statements(data, lines, path)
    full = f"{path.parent.name}/{path.stem}"
    if data["artefact"] != full:
        raise HarnessError(
            f"{path}, line {line_of(lines, ('artefact',))}: artefact must be {full!r}, the file's name"
        )
    kind = next(kind for kind, folder in KINDS.items() if path.parent.parent.name == folder)
    if not path.stem.startswith(f"{kind}_"):
        raise HarnessError(f"{path}: the name of a {kind}'s file begins with '{kind}_': rename it")
    if kind == "figure" and ("figure" not in data or not path.with_suffix(".py").is_file()):
        raise HarnessError(
            f"{path}: a figure needs the key 'figure' and {path.stem}.py beside it that draws it"
        )
    artefact = Artefact(full, kind, path, data, tuple(_cells(data)))
    _check_names(artefact, lines, root)
    return artefact


def _cells(data: dict[str, Any]) -> list[Cell]:
    """Rows × columns: what all cells share, then the column, then the row decide."""
    shared, numbers = data.get("cells", {}), data.get("reported", {}).get("numbers", {})
    printed = {str(row): {str(c): str(t) for c, t in columns.items()} for row, columns in numbers.items()}
    cells = []
    for row in data["rows"]:
        for column in data["columns"]:
            if str(column["name"]) not in row.get("columns", [str(column["name"])]):
                continue
            both = merged(merged({"only": {}, **shared}, column), row)
            select = {k: v for k, v in both.items() if k not in NO_SELECT}
            select = replaced(select, both.get("words", {}))
            for line in (row, column):  # an absent line is absent whatever the other one says
                if "absent" in line:
                    select["absent"] = line["absent"]
            name, heading = str(row["name"]), str(column["name"])
            reported = printed.get(name, {}).get(heading)
            if reported == "-" and select.get("reduce") != "text":
                reported = None  # the paper prints a dash where it has no number; among settings it is one
            if "experiment" in select or reported is not None:
                cells.append(Cell(name, heading, select, reported))
    return cells


def _check_names(artefact: Artefact, lines: Lines, root: Path) -> None:
    """Names that a schema cannot know: rows, columns, experiments, methods, settings, deviations."""
    data, path = artefact.data, artefact.path
    rows = [str(r["name"]) for r in data["rows"]]
    columns = [str(c["name"]) for c in data["columns"]]

    def wrong(at: tuple, what: str, name: str, there: Any) -> HarnessError:
        return HarnessError(
            f"{path}, line {line_of(lines, at)}: {what} {name!r} does not exist: {nearest(name, there)}"
        )

    for key, there in (("rows", rows), ("columns", columns)):
        for i, name in enumerate(there):
            if name in there[:i]:
                line = line_of(lines, (key, i))
                raise HarnessError(f"{path}, line {line}: {key} has {name!r} twice: rename one of the two")
    written = [((key, i), line) for key in ("rows", "columns") for i, line in enumerate(data[key])]
    written.append((("cells",), data.get("cells", {})))
    for cell in artefact.cells:
        if not {"experiment", "absent"} & cell.select.keys():
            line = line_of(lines, ("printed", cell.row, cell.column))
            raise HarnessError(
                f"{path}, line {line}: {cell.row} / {cell.column} is printed and is of no experiment: add"
                " 'experiment', or 'absent' with the reason"
            )
    experiments = paper(artefact.paper, root).experiments
    there = {
        key: {n for e in experiments.values() for n in e.data[f"{key}s"]} for key in ("method", "setting")
    }
    there["experiment"] = set(experiments)
    places = {name: ("rows", i) for i, name in enumerate(rows)}
    made = [(places[cell.row], cell.select) for cell in artefact.cells]
    made += [(at, line["truth"]) for at, line in made if "truth" in line]
    for lot in (written, made):
        for at, line in lot:
            for key in there:  # a name with a {word} is one where row and column meet
                if key in line and line[key] not in there[key] and (lot is made or "{" not in line[key]):
                    raise wrong((*at, key), key, line[key], there[key])
    for i, claim in enumerate(data.get("claims", [])):
        for j, test in enumerate(claim["tests"]):
            at = ("claims", i, "tests", j)
            for row, column in [p for side in sides_of(test) for p in points(side)]:
                if str(row) not in rows:
                    raise wrong(at, "row", str(row), rows)
                if str(column) not in columns:
                    raise wrong(at, "column", str(column), columns)
    noted = notes(artefact.paper, root)
    for i, deviation in enumerate(data.get("deviations", [])):
        if deviation not in noted:
            raise wrong(("deviations", i), "deviation", deviation, noted)


@cache
def notes(paper_name: str, root: Path = ROOT) -> dict[str, str]:
    """The numbered deviations of reproduce/<paper>/NOTES.md: D1 → its title."""
    path = root / "reproduce" / paper_name / "NOTES.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return dict(re.findall(r"^### (D\d+) — (.+)$", text, flags=re.M))
