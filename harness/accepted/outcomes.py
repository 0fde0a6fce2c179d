"""What was accepted in published/, artefact by artefact: read back, counted and named."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from harness.base.files import ROOT
from harness.base.layout import SCALES, Layout, artefact_file, scale_rank
from harness.numbers import cellfile
from harness.numbers.claim_record import Claim
from harness.numbers.verdict_words import HOLDS, JUDGED, VERDICTS
from harness.runs.stale import is_code_of
from harness.spec import artefacts, fingerprint
from harness.spec.artefacts import Artefact

SMALL, OLD = "°", "†"  # behind the name of an artefact: so far at the smallest scale; to be accepted anew

# How verdicts are counted: those that hold, each other word that is a judgement, and what was not judged.
_GROUPS = {"holds": HOLDS} | {word: (word,) for word in JUDGED if word not in HOLDS}
_GROUPS["not judged"] = tuple(word for word in VERDICTS if word not in JUDGED)
_MANY = {"holds": "hold", "differs": "differ", "contradicts": "contradict", "paper issue": "paper issues"}


@dataclass(frozen=True)
class Outcome:
    """An artefact as it was accepted at the largest scale that there is."""

    artefact: Artefact
    scale: str
    cells: list[dict[str, Any]]
    claims: list[Claim]
    page: str  # its Markdown, seen from the root
    old: str = ""  # why it is to be accepted anew
    seconds: float = 0.0  # that a run of it took

    @property
    def name(self) -> str:
        return self.artefact.label

    def scale_of(self, one: dict[str, Any] | Claim) -> str:
        """Of a cell or claim: that of the whole, or the smaller one that it is of."""
        return (one.scale if isinstance(one, Claim) else one.get("scale")) or self.scale

    @property
    def scales(self) -> list[str]:
        """Its own and, if it has holes, the smaller ones that filled these."""
        found = {self.scale, *map(self.scale_of, self.cells), *map(self.scale_of, self.claims)}
        return sorted(found, key=scale_rank, reverse=True)

    @property
    def printed(self) -> list[dict[str, Any]]:
        """Our numbers where the paper prints one."""
        return [cell for cell in self.cells if cell["reported"]]

    @property
    def small(self) -> bool:
        """Accepted at the smallest scale only, where what is trained or queried is not judged."""
        return self.scale == SCALES[0]


def of_paper(paper: str, root: Path = ROOT, soon: Layout | None = None) -> list[Outcome]:
    """What was accepted of a paper, in its order; then what is not in the paper."""
    mine = sorted((a for a in artefacts.artefacts(root) if a.paper == paper), key=lambda a: not a.in_paper)
    return [found for artefact in mine if (found := accepted(artefact, root, soon=soon))]


def accepted(
    artefact: Artefact, root: Path = ROOT, scales: Sequence[str] = SCALES, soon: Layout | None = None
) -> Outcome | None:
    """At the largest scale at which it was; or will be, once what is `soon` is published."""
    for layout in (Layout(scale, root) for scale in reversed(scales)):
        found = _read(artefact, soon, soon.results) if soon and soon.scale == layout.scale else None
        if found := found or _read(artefact, layout, layout.published):
            return found
    return None


def as_accepted(artefact: Artefact, layout: Layout) -> Artefact:
    """With the holes with which it was accepted at this scale."""
    told = artefact_file(layout.published, artefact.name, ".provenance.json")
    return fingerprint.as_noted(artefact, cellfile.provenance(told))


def made(artefact: Artefact, layout: Layout) -> Outcome | None:
    """As it was made here."""
    return _read(artefact, layout, layout.results)


def _read(artefact: Artefact, layout: Layout, base: Path) -> Outcome | None:
    cells, claims, told = (
        artefact_file(base, artefact.name, suffix)
        for suffix in (".cells.csv", ".claims.csv", ".provenance.json")
    )
    if not cells.is_file():
        return None
    noted = cellfile.provenance(told)
    old = _why_old(noted, artefact, layout.scale, layout.root) if told.is_file() else ""
    read = cellfile.cells(cells), cellfile.judged(claims)
    took = [run["seconds"] for run in noted["runs"] if run.get("seconds")]
    usual = median(took) if took else 0.0
    under = None
    if noted.get("holes", {}).get("filled"):
        under = accepted(artefact, layout.root, SCALES[: scale_rank(layout.scale)])
    if under and under.old and not old:
        old = f"filled from scale {under.scale}, {under.old}"
    page = artefact_file(layout.published, artefact.name, ".md").relative_to(layout.root).as_posix()
    return Outcome(artefact, layout.scale, *read, page, old, usual)


def _why_old(noted: dict[str, Any], artefact: Artefact, scale: str, root: Path) -> str:
    if told := fingerprint.outdated(artefact, noted, scale, root):
        return told.removeprefix("was ")
    if noted.get("cells") != fingerprint.of_cells(artefact):
        return "accepted before today's cells were asked for"
    if noted.get("rule") != fingerprint.RULE:
        return "judged by an earlier rule of verdicts"
    return "accepted from runs of older code" if older_code(artefact, noted, scale, root) else ""


def older_code(artefact: Artefact, noted: dict[str, Any], scale: str, root: Path) -> list[str]:
    """The runs that it was accepted from whose code is neither today's nor vouched for."""
    modules = {run.id: run.module for run in artefact.runs(scale, root)}
    ran = {run["run"]: run["code"] for run in noted["runs"] if run["run"] in modules and "code" in run}
    counted: dict[tuple[str, str], bool] = {}
    for run, code in ran.items():
        if (key := (modules[run], code)) not in counted:
            counted[key] = is_code_of(*key, root)
    return [run for run, code in ran.items() if not counted[modules[run], code]]


def kind_of(cell: dict[str, Any]) -> str:
    """What stands behind our number: a setting read back, a count or a look-up, or a measurement."""
    if cell["n"] == 0 and not cell["text"]:
        return "not run"
    if cell["text"] and math.isnan(cell["value"]):
        return "settings"
    return "counted or looked up" if cell["spread_kind"] == "exact" else "measured"


def of_numbers(found: Iterable[Outcome], scale: str = "") -> Counter[str]:
    """How many of the numbers that the paper prints have which verdict; those of one scale, or of all."""
    return Counter(c["verdict"] for o in found for c in o.printed if scale in ("", o.scale_of(c)))


def of_claims(found: Iterable[Outcome], scale: str = "") -> Counter[str]:
    """The same of claims, ours among them."""
    return Counter(c.verdict for o in found for c in o.claims if scale in ("", o.scale_of(c)))


def of_consistency(found: Iterable[Outcome]) -> Counter[str]:
    """The same of what has to fit together on the paper's own pages."""
    every = [one for o in found for one in o.artefact.data["consistency"]]
    return Counter("paper issue" if one.wrong else "match" for one in every)


def grouped(counts: Counter[str]) -> dict[str, int]:
    """How many hold, differ, …, and are not judged, of the groups that there are."""
    told = {name: sum(counts[word] for word in words) for name, words in _GROUPS.items()}
    return {name: n for name, n in told.items() if n}


def in_words(counts: Counter[str]) -> str:
    """`69 hold, 1 differs, 30 not judged`."""
    told = grouped(counts).items()
    return ", ".join(f"{n} {name if n == 1 else _MANY.get(name, name)}" for name, n in told)


def lines(artefact: Artefact, layout: Layout) -> list[str]:
    """In a line each: as made here at this scale, and as accepted at the largest."""
    here, there = made(artefact, layout), accepted(artefact, layout.root)
    told = (
        [f"{_fared(here)}; made at scale {here.scale}"] if here else [f"never made at scale {layout.scale}"]
    )
    return told + ([f"{_fared(there)}; accepted at scale {there.scale}, {there.page}"] if there else [])


def _fared(outcome: Outcome) -> str:
    told = []
    for scale in outcome.scales:
        numbers = in_words(of_numbers([outcome], scale)) or "none is printed"
        claims = in_words(of_claims([outcome], scale)) or "none"
        of = f"scale {scale}, " * bool(outcome.scales[1:])
        told.append(f"{of}numbers: {numbers}; claims: {claims}")
    return "; ".join(told)


def in_groups(made: list[Claim]) -> str:
    """`NB101-1 (SPOS, Reptile), DARTS (SPOS)`; a setting of one word as it is."""
    groups: dict[str, list[str]] = {}
    for claim in made:
        first, _, rest = claim.setting.partition(", ")
        groups.setdefault(first, []).append(rest)
    return ", ".join(f"{first} ({', '.join(rest)})" if any(rest) else first for first, rest in groups.items())


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
