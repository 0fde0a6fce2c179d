"""What was accepted in published/, artefact by artefact: read back, counted and named."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import artefacts, cellfile
from harness.artefacts import Artefact
from harness.expect import VERDICTS
from harness.files import ROOT
from harness.layout import SCALES, Layout, artefact_file
from harness.marks import HOLDS, JUDGED

OURS = "(ours) "  # how the text of a claim begins that is not the paper's

_ONE = {"hold": "holds"}
_MANY = {"differs": "differ", "contradicts": "contradict", "paper issue": "paper issues"}


@dataclass(frozen=True)
class Outcome:
    """An artefact as it was accepted at the largest scale that there is."""

    artefact: Artefact
    scale: str
    cells: list[dict[str, Any]]
    claims: list[dict[str, str]]
    page: str  # its Markdown, seen from the root

    @property
    def name(self) -> str:
        """`Table 4.1`; where the paper has no such thing, the name of its file."""
        if _in_paper(self.artefact):
            place = self.artefact.data["where"].partition(",")[0]
            return place[0].upper() + place[1:]
        kind, _, what = self.artefact.name.split("/")[1].partition("_")
        return f"{kind.capitalize()} of {what.replace('_', ' ')}"

    @property
    def link(self) -> str:
        return f"[{self.name}]({self.page})"

    @property
    def printed(self) -> list[dict[str, Any]]:
        """Our numbers where the paper prints one."""
        return [cell for cell in self.cells if cell["reported"]]

    @property
    def small(self) -> bool:
        """Accepted at the smallest scale only, where what is trained or queried is not judged."""
        return self.scale == SCALES[0]


def _in_paper(artefact: Artefact) -> bool:
    return bool(re.match(r"(table|figure|section|appendix)\b", artefact.data["where"], re.I))


def of_paper(paper: str, root: Path = ROOT) -> list[Outcome]:
    """What was accepted of a paper: tables, then figures, by their numbers; then what is not in the paper."""

    def order(artefact: Artefact) -> tuple[bool, bool, list[tuple[bool, int, str]]]:
        parts = re.findall(r"\d+|\D+", artefact.name)
        natural = [(not p.isdigit(), int(p) if p.isdigit() else 0, p) for p in parts]
        return not _in_paper(artefact), artefact.kind != "table", natural

    mine = sorted((a for a in artefacts.artefacts(root) if a.paper == paper), key=order)
    return [found for artefact in mine if (found := _accepted(artefact, root))]


def _accepted(artefact: Artefact, root: Path) -> Outcome | None:
    for scale in reversed(SCALES):
        base = Layout(scale, root).published
        cells, claims, page = (
            artefact_file(base, artefact.name, suffix) for suffix in (".cells.csv", ".claims.csv", ".md")
        )
        if cells.is_file():
            read = cellfile.cells(cells), cellfile.claims(claims)
            return Outcome(artefact, scale, *read, page.relative_to(root).as_posix())
    return None


def of_numbers(found: Iterable[Outcome]) -> Counter[str]:
    """How many of the numbers that the paper prints have which verdict."""
    return Counter(cell["verdict"] for o in found for cell in o.printed)


def of_claims(found: Iterable[Outcome], ours: bool | None = None) -> Counter[str]:
    """The same of claims: the paper's, ours, or all."""
    claims = [c for o in found for c in o.claims if ours in (None, c["text"].startswith(OURS))]
    return Counter(claim["verdict"] for claim in claims)


def in_words(counts: Counter[str]) -> str:
    """`69 hold, 1 differs, 30 not judged`."""
    groups = {"hold": HOLDS, **{word: (word,) for word in JUDGED if word not in HOLDS}}
    groups["not judged"] = tuple(word for word in VERDICTS if word not in JUDGED)
    told = {name: sum(counts[word] for word in words) for name, words in groups.items()}
    return ", ".join(f"{n} {(_ONE if n == 1 else _MANY).get(name, name)}" for name, n in told.items() if n)
