"""An artefact some of whose runs are not there: what of it is judged, and what fills its holes.

A hole is a cell that has no run at this scale. It shows what was accepted of it at the largest smaller scale;
so does a sentence that compares it, for two scales together would test neither.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from harness.base.layout import artefact_file
from harness.numbers import cellfile
from harness.numbers.cells import Filled
from harness.numbers.claim_record import Claim
from harness.numbers.claims import cells_of, judge_claims
from harness.numbers.judge import Verdict
from harness.numbers.verdict_words import JUDGED
from harness.spec.artefacts import Artefact, Cell, runs_of, truth_of
from harness.spec.fingerprint import below

Place = tuple[str, str]


def judged(
    artefact: Artefact, filled: list[Filled], scale: str, root: Path
) -> tuple[pd.DataFrame, list[Claim]]:
    """Its cells and its claims; each names its scale in `scale` if that is a smaller one.

    What has a part of its runs is shown and waits for the others: looking at each one as it comes would be
    many chances of a false alarm.
    """
    pairs = list(zip(artefact.cells, filled, strict=True))
    part = {(c.row, c.column): told for c, f in pairs if (told := _partly(artefact, c, f, scale, root))}
    whole = [f for f in filled if (f.row, f.column) not in part]
    mine = {(f.row, f.column) for f in whole if f.estimate or f.text}
    there, said, smaller = _accepted_below(artefact, scale, root)
    lines = []
    for cell, f in pairs:
        place = f.row, f.column
        if place in part and f.verdict.word in JUDGED:
            f = replace(f, verdict=Verdict("unclear", f"{part[place]}: judged when all are"))
        ended = f.verdict.reason == cell.select.get("missing")  # its runs are there, and left no such rows
        other = there.get(place) if f.estimate is None and not f.text and not ended else None
        same = other and other["reported"] == (f.reported or "")
        lines.append(other | {"runs": "", "scale": other.get("scale") or smaller} if same else f.line())
    claims = list(_claims(artefact, judge_claims(artefact, whole, scale), mine, said, smaller))
    return pd.DataFrame(lines).fillna({"scale": ""}), claims


def _partly(artefact: Artefact, cell: Cell, f: Filled, scale: str, root: Path) -> str:
    """`1 of 3 runs is there`, of a number that the others would move."""
    if f.estimate is None or f.estimate.exact:
        return ""
    every = runs_of(cell, artefact.paper, scale, root)
    every += runs_of(truth_of(cell), artefact.paper, scale, root) if "truth" in cell.select else []
    n = sum(run.id not in artefact.lacking for run in every)
    return f"{n} of {len(every)} runs {'is' if n == 1 else 'are'} there" if n < len(every) else ""


def _accepted_below(
    artefact: Artefact, scale: str, root: Path
) -> tuple[dict[Place, dict[str, Any]], dict[str, Claim], str]:
    """The cells that have a number or text, the claims, and the scale; nothing where none was accepted."""
    layout = below(artefact, scale, root)
    if not layout:
        return {}, {}, ""
    files = (artefact_file(layout.published, artefact.name, s) for s in (".cells.csv", ".claims.csv"))
    lines, claims = cellfile.cells(next(files)), cellfile.judged(next(files))
    there = {(line["row"], line["column"]): line for line in lines if line["n"] or line["text"]}
    return there, {claim.id: claim for claim in claims}, layout.scale


def _claims(
    artefact: Artefact, ours: list[Claim], mine: set[Place], said: dict[str, Claim], smaller: str
) -> Iterator[Claim]:
    """Each claim judged of this scale's cells alone, or as it was accepted below."""
    for claim in artefact.data.get("claims", []):
        ids = (claim["id"], f"{claim['id']}-here")  # the second where a scale tests it as ours
        known = [] if cells_of(claim) <= mine else [said[name] for name in ids if name in said]
        yield from (replace(one, scale=one.scale or smaller) for one in known)
        yield from (one for one in ours if one.id in ids and not known)
