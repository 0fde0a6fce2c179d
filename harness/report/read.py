"""What artefacts and their runs left, as the page shows it; what cannot be read becomes a sentence."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.accepted import history, outcomes
from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import Layout, artefact_file, scale_rank
from harness.make import fresh, make, render
from harness.numbers import cellfile
from harness.report.numbers import Number, number
from harness.report.picture import picture
from harness.report.verdicts import BY_WORD
from harness.runs.record import machine, read_record
from harness.spec import artefacts, experiments
from harness.spec.artefacts import Artefact

Records = dict[str, dict[str, Any]]

# What of a machine may move a number, and how it is called.
_VERSIONS = {"processor": "processor", "blas": "BLAS", "python": "Python"}
_VERSIONS |= {name: name for name in ("numpy", "scipy", "torch")}


@dataclass
class Section:
    """One artefact."""

    artefact: Artefact
    command: str
    notes: dict[str, str]  # its deviations
    caption: str = ""
    table: str = ""  # HTML in the paper's layout, escaped
    picture: str = ""  # the address of an image
    numbers: list[Number] = field(default_factory=list)
    claims: list[dict[str, Any]] = field(default_factory=list)
    truths: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # what a reader should know of its numbers
    problems: list[str] = field(default_factory=list)  # what of it is not shown, and what to do

    @property
    def verdicts(self) -> Counter[str]:
        return Counter([number.verdict for number in self.numbers] + [c["verdict"] for c in self.claims])


@dataclass
class Paper:
    """A paper, its artefacts, and the records behind their numbers by name."""

    spec: experiments.Paper
    sections: list[Section]
    runs: Records

    @property
    def numbers(self) -> Counter[str]:
        return Counter(number.verdict for section in self.sections for number in section.numbers)

    @property
    def claims(self) -> Counter[str]:
        return Counter(claim["verdict"] for section in self.sections for claim in section.claims)


def read_papers(layout: Layout, root: Path = ROOT) -> list[Paper]:
    """All papers in the order of their names."""
    papers, first, every = [], 0, artefacts.artefacts(root)
    for name in experiments.paper_names(root):
        paper = Paper(experiments.paper(name, root), [], {})
        for artefact in (a for a in every if a.paper == name):
            paper.sections.append(_section(artefact, layout, root, paper.runs, first))
            first += len(paper.sections[-1].numbers)
        papers.append(paper)
    return papers


def _section(artefact: Artefact, layout: Layout, root: Path, runs: Records, first: int) -> Section:
    """`first` is its first number's place among the page's; records that it needs are added to `runs`."""
    noted = artefacts.notes(artefact.paper, root)
    command = f"snakemake {artefact.target} --config scale={layout.scale}"
    section = Section(artefact, command, {d: noted[d] for d in artefact.data.get("deviations", [])})
    cells, claims, svg, png = (
        artefact_file(layout.results, artefact.name, suffix)
        for suffix in (".cells.csv", ".claims.csv", ".svg", ".png")
    )
    if not cells.is_file() or not claims.is_file():
        section.problems.append(f"{artefact.name} is not made yet: make it with `{command}`")
        return section
    with _told(section):
        judged = _judged(cellfile.claims(claims), claims)
        section.claims = [claim | {"larger": None, "history": []} for claim in judged]
        _add_accepted(section, layout, root)
    records: list[dict[str, Any]] = []
    with _told(section):
        frame = cellfile.read_cells(cells)
        lines = _judged(frame.to_dict("records"), cells)
        named = (name for line in lines for name in line["runs"].split())
        asked = dict.fromkeys([*(spec.id for spec in artefact.runs(layout.scale, root)), *named])
        records = _records(asked, layout, runs, section.problems)
        for place, line in enumerate(lines, first):
            shown = render.ours(line, render.format_of(artefact, line))
            section.numbers.append(number(line, shown, artefact.data.get("unit", ""), place))
        section.caption = make.caption_of(artefact, layout.scale, frame, records)
        section.table = render.html_table(artefact, frame) if artefact.kind == "table" else ""
        section.truths = list(dict.fromkeys(make.truth_line(t) for r in records for t in r["truths"]))
        section.files = [layout.relative(f) for f in fresh.outputs(artefact, layout.results) if f.is_file()]
    with _told(section):
        section.picture = picture(svg, png) if artefact.kind == "figure" else ""
    with _told(section):
        section.warnings += _warnings(artefact, records, root)
    return section


def _add_accepted(section: Section, layout: Layout, root: Path) -> None:
    """Beside each claim how it fares at a larger scale, if it was accepted there, and how it once fared."""
    found = outcomes.accepted(section.artefact, root)
    larger = found if found and scale_rank(found.scale) > scale_rank(layout.scale) else None
    known = {claim.id: claim for claim in larger.claims} if larger else {}
    past = history.read(Layout(larger.scale if larger else layout.scale, root))
    mine = [change for change in past if change.artefact == section.artefact.name]
    for claim in section.claims:
        claim["larger"] = (larger.scale, known[claim["id"]]) if claim["id"] in known else None
        claim["history"] = [change.sentence for change in mine if change.claim == claim["id"]]


@contextmanager
def _told(section: Section) -> Iterator[None]:
    """One part that is damaged takes nothing else from the page."""
    try:
        yield
    except HarnessError as error:
        if str(error) not in section.problems:  # what is read for several parts is told once
            section.problems.append(str(error))


def _judged(lines: list[dict[str, Any]], path: Path) -> list[dict[str, Any]]:
    for line in lines:
        if line["verdict"] not in BY_WORD:
            raise HarnessError(f"{path} has the unknown verdict {line['verdict']!r}: make it again")
    return lines


def _records(
    names: Iterable[str], layout: Layout, known: Records, problems: list[str]
) -> list[dict[str, Any]]:
    """Those that are whole; the others are one sentence."""
    found, broken, gone = [], [], 0
    for name in names:
        if layout.elsewhere and not layout.run_folder(name).is_dir():
            gone += 1  # of what was accepted before records were kept
            continue
        try:
            known[name] = known.get(name) or read_record(layout.run_folder(name), tables=False)
            found.append(known[name])
        except HarnessError as error:
            broken.append(str(error))
    more = f"; and so for {len(broken) - 1} more of its runs" if broken[1:] else ""
    problems += [f"{first}{more}" for first in broken[:1]]
    problems += [f"no record is kept of {gone} of its runs: it is shown as it was accepted"] * (gone > 0)
    return found


def _warnings(artefact: Artefact, records: list[dict[str, Any]], root: Path) -> Iterator[str]:
    """Accepted from what is not of today; made on another machine, or with other versions, than are here."""
    told = _elsewhere(records)
    if told:
        yield f"Its runs were made elsewhere, where digits may differ: {told}."
    accepted = outcomes.accepted(artefact, root)
    if not accepted:
        return
    base = Layout(accepted.scale, root).published
    then = _elsewhere(cellfile.provenance(artefact_file(base, artefact.name, ".provenance.json"))["runs"])
    if accepted.old:
        outcome = f"{outcomes.OLD} Its outcome of scale {accepted.scale} in published/"
        yield f"{outcome} was {accepted.old}, and is to be made again."
    if then not in ("", told):
        yield f"Its accepted outcome of scale {accepted.scale} was made elsewhere: {then}."


def _elsewhere(records: Iterable[dict[str, Any]]) -> str:
    """`torch 2.12.1 (here 2.13.0)`; '' if all that records name is as here."""
    here, found = machine(), []
    for key, word in _VERSIONS.items():
        others = {str(record["machine"][key]) for record in records if key in record["machine"]}
        if key in here and (others := sorted(others - {here[key]})):
            found.append(f"{word} {', '.join(others)} (here {here[key]})")
    return "; ".join(found)
