"""The lines of REPRODUCED.md on printed numbers, and what lines on claims share with them."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from harness.accepted import runs_needed
from harness.accepted.outcomes import OLD, Outcome, capital, kind_of
from harness.make import render
from harness.numbers.claim_record import Claim
from harness.numbers.verdict_words import HOLDS, OPEN
from harness.runs.forecast import duration

SHOWN = 6  # numbers of an artefact that are listed one by one


def numbers(found: list[Outcome], words: tuple[str, ...]) -> list[str]:
    """What of the printed numbers fared so: counted if they hold, else one by one."""
    if words != HOLDS:
        return [line for word in words if word != "contradicts" for line in one_by_one(found, word)]
    told = {"Settings as printed": _share(found, lambda cell: kind_of(cell) == "settings")}
    told = {"Printed numbers": _share(found, lambda cell: kind_of(cell) != "settings")} | told
    return [f"- {name}: {', '.join(shares)}." for name, shares in told.items() if shares]


def _share(found: list[Outcome], wanted: Callable[[dict[str, Any]], bool]) -> list[str]:
    shares = []
    for o in found:
        cells = [cell for cell in o.printed if wanted(cell)]
        n = sum(cell["verdict"] in HOLDS for cell in cells)
        if n:
            shares.append(
                f"{'all ' if n == len(cells) else ''}{n}{f' of {len(cells)}' * (n < len(cells))} of {link(o)}"
            )
    return shares


def one_by_one(found: list[Outcome], word: str) -> Iterator[str]:
    for o in found:
        cells = [cell for cell in o.printed if cell["verdict"] == word]
        for cell in cells[:SHOWN]:
            ours = render.ours(cell, render.format_of(o.artefact, cell))
            runs = runs_needed.for_number(o.artefact, cell, each(o, cell)) if word in OPEN else ""
            asked = (str(cell["row"]), str(cell["column"]))
            written = [c.select.get("why", "") for c in o.artefact.cells if (c.row, c.column) == asked]
            why = known(o, written[0] if written else "") if word == "differs" else ""
            takes = f" **{capital(runs)}.**" if runs else ""
            ours += f" at scale {cell['scale']}" if cell.get("scale") else ""
            told = f"{ours}, printed {cell['reported']}. *{capital(cell['reason'])}.*"
            yield f"- {cell['row']}, {cell['column']}: {told}{why}{takes} ({link(o)})"
        if cells[SHOWN:]:
            yield f"- {len(cells) - SHOWN} more of the {len(o.printed)} printed numbers of {link(o)}."


def issues(found: list[Outcome]) -> Iterator[str]:
    """By deviation: how many numbers it explains; then what does not fit together on the paper's pages."""
    for o in found:
        explained = {(c["row"], c["column"]) for c in o.printed if c["verdict"] == "paper issue"}
        issues = [c.select.get("paper_issue", "") for c in o.artefact.cells if (c.row, c.column) in explained]
        for issue, n in Counter(filter(None, issues)).items():
            deviation, _, why = issue.partition(": ")
            notes = f"[{deviation}](reproduce/{o.artefact.paper}/NOTES.md)"
            yield f"- {how_many(n, 0)} of {link(o)}: {why} ({notes})."
        yield from (f"- {link(o)}: {one.told}." for one in o.artefact.data["consistency"] if one.wrong)


def how_many(numbers: int, claims: int) -> str:
    parts = [(numbers, "number"), (claims, "claim")]
    return " and ".join(f"{n} {word}{'s' * (n > 1)}" for n, word in parts if n)


def name(o: Outcome) -> str:
    return o.artefact.name.replace("/", "-")


def link(o: Outcome, part: str = "") -> str:
    """The pages that the lines lead to are named once, at the end; `part`: the `a` of Figure 4.4a."""
    return f"[{o.name}{part}][{name(o)}]{OLD * bool(o.old)}"


def known(o: Outcome, why: str) -> str:
    return f" Why: {linked(why, o.artefact.paper)}." if why else ""


def linked(text: str, paper: str) -> str:
    """Its numbered deviations as links."""
    return re.sub(r"\bD\d+\b", rf"[\g<0>](reproduce/{paper}/NOTES.md)", text)


def each(o: Outcome, one: dict[str, Any] | Claim) -> str:
    """How long one of the runs behind a cell or claim took, if these are the outcome's own."""
    return f" ({duration(o.seconds)} each)" if o.seconds and o.scale_of(one) == o.scale else ""
