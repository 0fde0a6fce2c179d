"""One accepted artefact under the check: what it follows from, and what today's runs make of it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from harness.accepted import differences
from harness.accepted.accept import left_by
from harness.accepted.differences import Change
from harness.base.errors import HarnessError, reading
from harness.base.layout import SCALES, Layout, artefact_file
from harness.bench.carried import alike
from harness.make.fresh import as_made, command, remake, require_fresh
from harness.make.make import Made, computed, texts
from harness.numbers import cellfile
from harness.runs import archives
from harness.spec import fingerprint
from harness.spec.artefacts import Artefact

KEPT, SEALED = "follow from kept records", "rest on their digests alone"
HERE = "were compared with runs made here"
TIMES, ELSEWHERE = "measured times", "numbers of runs on another processor or with other versions"
COMPUTES = ("processor", "numpy", "scipy", "torch", "blas", "onednn")


@dataclass(frozen=True)
class Picture:
    """An accepted one, what drew it, and whether equal cells are drawn so here (None: there are none)."""

    artefact: str
    file: str
    drawn: str
    same: bool | None


@dataclass
class Checked:
    """What changed, and how many numbers and verdicts were looked at in which way."""

    changes: list[Change] = field(default_factory=list)
    looked: Counter[str] = field(default_factory=Counter)
    loosely: Counter[str] = field(default_factory=Counter)
    pictures: list[Picture] = field(default_factory=list)


def of_artefact(
    artefact: Artefact, layout: Layout, apart: Layout, root: Path, here: bool, found: Checked
) -> list[Change]:
    """What is not as it was accepted. Kept records are laid out `apart`; `here`: today's runs count, too."""
    accepted = artefact_file(layout.published, artefact.name, ".cells.csv")
    ours = artefact_file(layout.results, artefact.name, ".cells.csv")
    if not accepted.is_file():
        accept = f"python -m harness accept {artefact.name} --scale {layout.scale} --reason …"
        due = layout.scale != SCALES[-1] and artefact.runs(layout.scale, root)  # there runs come one by one
        never = ours.is_file() or due
        return [Change(artefact.name, "", "was never accepted", accept)] if never else []
    if broken := _broken(artefact, layout):
        return broken
    one = _One(artefact, layout, apart, root)
    found.pictures += one.picture(here)
    told = (
        one.misplaced() + one.unfounded() + one.from_kept(found) + (one.outdated() or one.otherwise_shown())
    )
    if here and ours.is_file():
        told += one.from_here(found)
    elif here:
        told.append(one.told("has no cells at this scale", one.rerun))
    return list(dict.fromkeys(told)) or one.otherwise()


def _broken(artefact: Artefact, layout: Layout) -> list[Change]:
    """Files of either side that are cut short, with the command that brings each back."""
    found = []
    for base, suffix, read in (
        (layout.published, ".cells.csv", cellfile.cells),
        (layout.published, ".claims.csv", cellfile.claims),
        (layout.published, ".provenance.json", cellfile.provenance),
        (layout.results, ".cells.csv", cellfile.cells),
        (layout.results, ".claims.csv", cellfile.claims),
    ):
        path = artefact_file(base, artefact.name, suffix)
        file = path.relative_to(layout.root).as_posix()
        try:
            if path.is_file():
                read(path)
            elif read == cellfile.provenance:
                found.append(Change(artefact.name, "", f"{file} is missing", f"git checkout -- {file}"))
        except HarnessError as error:
            again = remake(as_made(artefact, layout), layout.scale)
            look = again if base == layout.results else f"git checkout -- {file}"
            how = error.how if isinstance(error, cellfile.Damaged) else "it is no provenance"
            found.append(Change(artefact.name, "", f"{file} is cut short or was damaged ({how})", look))
    return found


class _One:
    """An artefact whose accepted files can be read."""

    def __init__(self, artefact: Artefact, layout: Layout, apart: Layout, root: Path) -> None:
        self.layout, self.apart, self.root = layout, apart, root
        cells, claims, noted = (
            artefact_file(layout.published, artefact.name, suffix)
            for suffix in (".cells.csv", ".claims.csv", ".provenance.json")
        )
        self.cells, self.claims = cellfile.cells(cells), cellfile.claims(claims)
        self.noted = cellfile.provenance(noted)
        self.artefact = fingerprint.as_noted(artefact, self.noted)
        self.kept: Made | None = None
        self.much = len(self.cells) + len(self.claims)
        self.rerun = command(self.artefact, layout.scale)
        self.find = f"python -m harness find {artefact.name} --scale {layout.scale}"

    def _file(self, base: Path, suffix: str) -> Path:
        return artefact_file(base, self.artefact.name, suffix)

    def told(self, what: str, look: str = "", place: str = "") -> Change:
        return Change(self.artefact.name, place, what, look or self.find)

    def misplaced(self) -> list[Change]:
        """A provenance of something else, or of other runs than the accepted cells name."""
        mine = {"artefact": self.artefact.name, "scale": self.layout.scale}
        found = [
            self.told(f"its provenance says that its {key} is {self.noted.get(key)!r}")
            for key, value in mine.items()
            if self.noted.get(key) != value
        ]
        noted = {run["run"] for run in self.noted["runs"]}
        named = {run for cell in self.cells for run in cell["runs"].split()}
        if lacking := sorted(named - noted):
            found.append(self.told(f"its provenance lacks {lacking[0]}, of which its cells are made"))
        return found

    def unfounded(self) -> list[Change]:
        """Accepted without a reason, or before a run had ended by more than clocks may differ."""
        found = []
        if len(str(self.noted.get("reason", "")).split()) < 2:
            found.append(self.told("its provenance tells no reason"))
        try:
            latest = datetime.fromisoformat(self.noted["accepted"]) + timedelta(days=1)
            early = [run["run"] for run in self.noted["runs"] if _ended(run) > latest]
        except (LookupError, TypeError, ValueError):
            return [*found, self.told("its provenance tells no date that could be one")]
        return found + [
            self.told(f"its provenance says that it was accepted before {r} ended") for r in early[:1]
        ]

    def picture(self, here: bool) -> list[Picture]:
        """Of a figure, its picture, compared where the very same cells were drawn here."""
        if self.artefact.kind != "figure":
            return []
        accepted, ours = (
            [self._file(base, suffix) for suffix in (".cells.csv", ".png")]
            for base in (self.layout.published, self.layout.results)
        )
        there = here and all(file.is_file() for file in (*accepted, *ours))
        cells, picture = (
            there and one.read_bytes() == other.read_bytes()
            for one, other in zip(accepted, ours, strict=True)
        )
        file = accepted[1].relative_to(self.layout.root).as_posix()
        drawn = str(self.noted.get("drawn", ""))
        return [Picture(self.artefact.name, file, drawn, picture if cells else None)]

    def outdated(self) -> list[Change]:
        """Accepted from runs of another configuration than today's, whatever these would give."""
        what = fingerprint.outdated(self.artefact, self.noted, self.layout.scale, self.root)
        return [self.told(what, self.rerun)] if what else []

    def from_kept(self, found: Checked) -> list[Change]:
        """The accepted cells and claims again, from the very records that they were accepted from."""
        runs = {run.id for run in self.artefact.runs(self.layout.scale, self.root)}
        records = archives.records(runs, self.apart)
        # Outcomes accepted before records were kept with them note no digest of theirs.
        promised = [run["run"] for run in self.noted["runs"] if "digest" in run]
        if lacking := [run for run in promised if run not in records]:
            what = f"the kept record of {lacking[0]}, of which it was accepted, is missing or damaged"
            return [self.told(what)]
        if runs != records.keys():
            found.looked[SEALED] += self.much
            return []
        found.looked[KEPT] += self.much
        for run in self.noted["runs"]:
            record = records.get(run["run"], {})
            if differs := [key for key in archives.NOTED if record.get(key) != run.get(key)]:
                what = f"its provenance and the kept record of {run['run']} differ in {differs[0]}"
                return [self.told(what)]
        try:
            with reading("a record", "is none that runs leave", "bring published/ back with git"):
                self.kept = computed(self.artefact, self.apart, self.root)
        except HarnessError as error:
            return [self.told(f"cannot be made from its kept records: {error}")]
        return self._places(self.kept, True)

    def otherwise_shown(self) -> list[Change]:
        """Its page and its LaTeX say what its cells say; a picture is held by its digest."""
        frame = cellfile.read_cells(self._file(self.layout.published, ".cells.csv"))
        try:
            with reading("its provenance", "names what no page can show"):
                shown = texts(self.artefact, self.layout.scale, frame, self.noted["runs"])
        except HarnessError as error:
            return [self.told(str(error).removesuffix(": get it again"))]
        found = []
        for path in left_by(self.artefact, self.layout):
            file, text = path.relative_to(self.layout.root).as_posix(), shown.get(path.suffix)
            if not path.is_file():
                found.append(self.told(f"{file} is missing", f"git checkout -- {file}"))
            elif text is not None and path.read_bytes() != text.encode():
                found.append(self.told(f"{file} does not show its accepted cells", self.rerun))
        return found

    def from_here(self, found: Checked) -> list[Change]:
        """What was made here: of today's code, as its records give it, and as it was accepted."""
        if lacking := as_made(self.artefact.without(()), self.layout).lacking ^ self.artefact.lacking:
            accept = f"python -m harness accept {self.artefact.name} --scale {self.layout.scale} --reason …"
            what = f"was made here with or without {min(lacking)}, and accepted the other way"
            return [self.told(what, accept)]
        try:
            # First: a copied record is told as one. And what equal records give is not computed twice.
            made = computed(self.artefact, self.layout, self.root, self.kept)
            records = require_fresh(self.artefact, self.layout, self.root)
        except HarnessError as error:
            what = str(error).split(": make it again")[0].removeprefix(f"{self.artefact.name} ")
            return [self.told(what, self.rerun)]
        told = []
        for suffix, text in ((".cells.csv", made.cells), (".claims.csv", made.claims)):
            path = self._file(self.layout.results, suffix)
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                file = path.relative_to(self.layout.root).as_posix()
                again = remake(self.artefact, self.layout.scale)
                told.append(self.told(f"{file} is not what its records give", again))
        clocks = frozenset((c.row, c.column) for c in self.artefact.cells if c.select.get("clock"))
        alike = _alike(self.noted["runs"], records.values())
        # Training amplifies the last digit, in which processors differ: a single run has no value to hold.
        free = clocks if alike else frozenset((c.row, c.column) for c in self.artefact.cells)
        found.looked[HERE] += self.much
        found.loosely[TIMES] += len(clocks)
        found.loosely[ELSEWHERE] += len(free - clocks)
        told += self._places(made, False, free=free, clocks=clocks)
        return told + self._otherwise_run(records, alike)

    def _places(self, made: Made, exact: bool, **how: Any) -> list[Change]:
        """What changed from the accepted cells and claims to these."""
        cells, claims = cellfile.cells_in(made.cells), cellfile.claims_in(made.claims)
        of_cells = differences.of_cells(self.cells, cells, exact=exact, **how)
        of_claims = differences.of_claims(self.claims, claims, exact=exact)
        tests = fingerprint.of_claims(self.artefact, self.layout.scale)
        for claim in self.claims:
            if self.noted.get("claims", {}).get(claim["id"]) != tests.get(claim["id"]):
                of_claims.setdefault(claim["id"], "is tested otherwise than when its verdict was accepted")
        look = {"is gone": self.rerun}
        found = [self.told(what, look.get(what, ""), place) for place, what in of_cells.items()]
        return found + [self.told(what, "", f"claim {name}") for name, what in of_claims.items()]

    def _otherwise_run(self, records: dict[str, dict[str, Any]], same_processor: bool) -> list[Change]:
        """A run that asked another truth than when it was accepted, or ended otherwise."""
        asked = ("status", "truths") if same_processor else ("truths",)
        return [
            self.told(f"{run['run']} has other {key} than when it was accepted")
            for run in self.noted["runs"]
            for key in asked
            if run["run"] in records and key in run and not _same(key, records[run["run"]][key], run[key])
        ]

    def otherwise(self) -> list[Change]:
        """Equal numbers and verdicts that came about in another way."""
        for key, now, what in (
            (
                "cells",
                fingerprint.of_cells(self.artefact),
                "was accepted with other cells or printed numbers",
            ),
            ("rule", fingerprint.RULE, "was accepted by an earlier rule of verdicts"),
        ):
            if self.noted.get(key) != now:
                return [self.told(what)]
        return []


def _alike(*both: Iterable[dict[str, Any]]) -> bool:
    """Made on the same kinds of machine, with the same versions as far as both name them."""
    then, now = ([run["machine"] for run in runs] for runs in both)
    named = [key for key in COMPUTES if all(key in machine for machine in [*then, *now])]
    return len({frozenset(tuple(each[key] for key in named) for each in side) for side in (then, now)}) == 1


def _same(key: str, one: Any, other: Any) -> bool:
    return alike(one) == alike(other) if key == "truths" else one == other


def _ended(run: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(run["started"]) + timedelta(seconds=run["seconds"])
