"""What artefacts and their runs left, as the page shows it; what cannot be read becomes a sentence."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.accepted import headline, history, outcomes
from harness.accepted.headline import class_of, class_of_claims, sentences
from harness.accepted.outcomes import kind_of
from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import Layout, artefact_file, scale_rank
from harness.make import fresh, make, render
from harness.numbers import cellfile
from harness.numbers.claim_record import Claim
from harness.numbers.claims import cells_of
from harness.report.lacking import Lacking, lacking
from harness.report.numbers import Number, number
from harness.report.picture import picture
from harness.report.verdicts import BY_WORD
from harness.runs.record import machine, read_record
from harness.spec import artefacts, experiments
from harness.spec.artefacts import Artefact
from harness.spec.fingerprint import claims_at

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
    sentences: list[tuple[str, list[Claim]]] = field(default_factory=list)  # its claims, by class
    truths: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # what a reader should know of its numbers
    lacking: Lacking = field(default_factory=Lacking)  # runs that are not there, and what their logs say
    place: int = 0  # behind those of its numbers and claims: where the page finds all of its runs
    problems: list[str] = field(default_factory=list)  # what of it is not shown, and what to do

    @property
    def printed(self) -> list[Number]:
        return [number for number in self.numbers if number.reported]

    @property
    def theirs(self) -> list[dict[str, Any]]:
        """The claims of the paper."""
        return [claim for claim in self.claims if not claim["ours"]]

    @property
    def ours(self) -> list[dict[str, Any]]:
        return [claim for claim in self.claims if claim["ours"]]

    @property
    def verdicts(self) -> Counter[str]:
        """On what the paper prints and says: a claim of ours says nothing of the paper."""
        return Counter([number.verdict for number in self.printed] + [c["verdict"] for c in self.theirs])

    @property
    def behind(self) -> list[tuple[str, ...]]:
        """The runs of each number, of each claim, and of the whole, in the order of their places."""
        of_numbers = [number.runs for number in self.numbers]
        of_claims = [claim["runs"] for claim in self.claims]
        every = dict.fromkeys(run for runs in of_numbers for run in runs)
        return [*of_numbers, *of_claims, tuple(every)]


@dataclass
class Paper:
    """A paper, its artefacts, and the records behind their numbers by name."""

    spec: experiments.Paper
    sections: list[Section]
    runs: Records

    @property
    def classes(self) -> dict[str, Counter[str]]:
        """Verdicts by class: the paper's numbers and claims, then claims of ours."""
        numbers = ((one.kind, one.verdict) for section in self.sections for one in section.printed)
        told = headline.tally(numbers, self._sentences())
        return {name: counts for name, counts in told.items() if counts}

    @property
    def earlier(self) -> Counter[str]:
        """How many sentences an earlier rule judged setting by setting."""
        return headline.earlier(self._sentences())

    def _sentences(self) -> Iterator[tuple[str, list[Claim]]]:
        return (sentence for section in self.sections for sentence in section.sentences)

    @property
    def counts(self) -> Counter[str]:
        """Of all that the paper prints and says."""
        return sum((section.verdicts for section in self.sections), Counter())


def read_papers(layout: Layout, root: Path = ROOT, only: str = "") -> list[Paper]:
    """All papers in the order of their names, or one of them."""
    papers, first, every = [], 0, artefacts.artefacts(root)
    for name in [only] if only else experiments.paper_names(root):
        paper = Paper(experiments.paper(name, root), [], {})
        for artefact in (a for a in every if a.paper == name):
            paper.sections.append(_section(artefact, layout, root, paper.runs, first))
            first += len(paper.sections[-1].behind)
        papers.append(paper)
    return papers


def _section(artefact: Artefact, layout: Layout, root: Path, runs: Records, first: int) -> Section:
    """`first` is its first number's place among the page's; records that it needs are added to `runs`."""
    noted = artefacts.notes(artefact.paper, root)
    command = fresh.command(artefact, layout.scale)
    section = Section(artefact, command, {d: noted[d] for d in artefact.data.get("deviations", [])})
    base = _base(section, layout)
    cells, claims, svg, png = (
        artefact_file(base, artefact.name, suffix) for suffix in (".cells.csv", ".claims.csv", ".svg", ".png")
    )
    section.place = first
    if not cells.is_file() or not claims.is_file():
        return section
    with _told(section):
        judged = _judged(cellfile.claims(claims), claims)
        each = sentences(cellfile.judged(claims))
        section.sentences = [(class_of_claims(several, artefact, layout.scale), several) for several in each]
        known = {
            one.id: (one, "" if several[1:] else kind)
            for kind, several in section.sentences
            for one in several
        }
        section.claims = [
            c
            | {"larger": None, "history": [], "runs": (), "ours": known[c["id"]][0].ours}
            | {"kind": known[c["id"]][1], "scale": c.get("scale", "")}
            for c in judged
        ]
        _add_accepted(section, layout, root)
    records: list[dict[str, Any]] = []
    with _told(section):
        frame = cellfile.read_cells(cells)
        artefact = _with_holes(artefact, layout, base)
        lines = _judged(frame.to_dict("records"), cells)
        named = (name for line in lines for name in line["runs"].split())
        asked = dict.fromkeys([*(spec.id for spec in artefact.runs(layout.scale, root)), *named])
        kept = layout.elsewhere is not None or base != layout.results
        records = _records(asked, layout, runs, section.problems, kept)
        for place, line in enumerate(lines, first):
            shown, kind = (
                render.shown(line, render.format_of(artefact, line)),
                class_of(kind_of(line), artefact, line.get("scale") or layout.scale),
            )
            section.numbers.append(number(line, shown, artefact.data.get("unit", ""), place, kind))
        _add_runs(section, first, layout.scale)
        section.caption = make.caption_of(artefact, layout.scale, frame, records)
        section.table = render.html_table(artefact, frame) if artefact.kind == "table" else ""
        section.truths = list(dict.fromkeys(make.truth_line(t) for r in records for t in r["truths"]))
        section.files = [layout.relative(f) for f in fresh.outputs(artefact, layout.results) if f.is_file()]
    with _told(section):
        section.picture = picture(svg, png) if artefact.kind == "figure" else ""
    with _told(section):
        section.warnings += _warnings(artefact, records, root)
    return section


def _base(section: Section, layout: Layout) -> Path:
    """Where its files are: among the results or, if it was not made here, as it was once accepted."""
    name = section.artefact.name
    if not layout.elsewhere:
        section.lacking = lacking(section.artefact, layout)
    made = all(artefact_file(layout.results, name, s).is_file() for s in (".cells.csv", ".claims.csv"))
    there = artefact_file(layout.published, name, ".cells.csv").is_file() and not layout.elsewhere
    base = layout.published if there and not made else layout.results
    with _told(section):
        section.command = fresh.command(_with_holes(section.artefact, layout, base), layout.scale)
    if there and not made and not section.lacking.failed:
        section.warnings.append(f"Not made here; shown as it was accepted. To make it: {section.command}")
    elif not made:
        shown = "; what follows was accepted earlier" if there else ""
        section.problems.append(f"{name} is not made yet: make it with `{section.command}`{shown}")
    return base


def _with_holes(artefact: Artefact, layout: Layout, base: Path) -> Artefact:
    """Those of the files that are shown."""
    return (fresh.as_made if base == layout.results else outcomes.as_accepted)(artefact, layout)


def _add_runs(section: Section, first: int, scale: str) -> None:
    """To each claim the runs of the cells that it compares."""
    runs = {(number.row, number.column): number.runs for number in section.numbers}
    cells = {claim["id"]: cells_of(claim) for claim in claims_at(section.artefact, scale)}
    for place, claim in enumerate(section.claims, first + len(section.numbers)):
        mine = [] if claim["scale"] else sorted(cells.get(claim["id"], ()))  # nor has one that is gone
        claim["place"] = place
        claim["runs"] = tuple(dict.fromkeys(run for cell in mine for run in runs.get(cell, ())))
    section.place = first + len(section.numbers) + len(section.claims)


def _add_accepted(section: Section, layout: Layout, root: Path) -> None:
    """Beside each claim how it fares at a larger scale, if it was accepted there, and how it once fared."""
    found = outcomes.accepted(section.artefact, root)
    larger = found if found and scale_rank(found.scale) > scale_rank(layout.scale) else None
    known = {claim.id: claim for claim in larger.claims if not claim.scale} if larger else {}
    scales = {layout.scale, larger.scale} if larger else {layout.scale}
    past = {scale: history.read(Layout(scale, root)) for scale in scales}
    for claim in section.claims:
        mine = section.artefact.name, claim["id"]
        claim["larger"] = (larger.scale, known[claim["id"]]) if claim["id"] in known else None
        scale = larger.scale if claim["larger"] else layout.scale
        claim["history"] = [each.sentence for each in past[scale] if (each.artefact, each.claim) == mine]


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
    names: Iterable[str], layout: Layout, known: Records, problems: list[str], kept: bool
) -> list[dict[str, Any]]:
    """Those that are whole; the others are one sentence. `kept`: shown from what was accepted."""
    found, broken, gone = [], [], 0
    for name in names:
        if kept and not layout.run_folder(name).is_dir():
            gone += 1  # of what was accepted before records were kept
            continue
        try:
            known[name] = known.get(name) or read_record(layout.run_folder(name), tables=False)
            found.append(known[name])
        except HarnessError as error:
            broken.append(str(error))
    more = f"; and so for {len(broken) - 1} more of its runs" if broken[1:] else ""
    problems += [f"{first}{more}" for first in broken[:1]]
    if layout.elsewhere:
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
