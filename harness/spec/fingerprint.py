"""What of an artefact's YAML decides its numbers and verdicts, as hashes; its words decide nothing."""

import hashlib
import json
from pathlib import Path
from typing import Any

from harness.base.files import ROOT, sha256_of
from harness.base.layout import SCALES, Layout, artefact_file, scale_rank
from harness.spec.artefacts import Artefact
from harness.spec.expand import each, lines_of

RULE = 3  # of verdicts; raise it with each change by which an accepted verdict might have been another
DECIDE = ("comparable_from", "paired_by_seed", "unit")


def of_cells(artefact: Artefact) -> str:
    """Of what each cell is made of and of the printed numbers, in whatever way and order they are written."""
    data = artefact.data
    printed = {key: value for key, value in data.get("reported", {}).items() if key != "numbers"}
    cells = sorted(([c.row, c.column, c.reported, _chosen(c.select)] for c in artefact.cells), key=_place)
    return _hash([{key: data[key] for key in DECIDE if key in data}, printed, cells])


def _place(cell: list[Any]) -> list[Any]:
    return cell[:2]


def _chosen(select: dict[str, Any]) -> dict[str, Any]:
    """Without words; values of a table's columns are compared as texts."""
    rest = {key: value for key, value in select.items() if key != "why"}
    return rest | {"only": {key: str(value) for key, value in select["only"].items()}}


def of_claims(artefact: Artefact, scale: str) -> dict[str, str]:
    """By claim that this scale tests: of its tests, as they are judged."""
    claims = [claim for claim in claims_at(artefact, scale) if not waits(claim, scale)]
    by_seed = artefact.data.get("paired_by_seed", False)
    return {
        claim["id"]: _hash([by_seed, claim.get("quantifier"), *map(_test, claim["tests"])])
        for claim in claims
    }


def outdated(artefact: Artefact, noted: dict[str, Any], scale: str, root: Path = ROOT) -> str:
    """Which other runs, or which other configuration of them, it was accepted from; '' if today's."""
    artefact, holes = as_noted(artefact, noted), noted.get("holes")
    today = {run.id: json.loads(json.dumps(run.config)) for run in artefact.runs(scale, root)}
    then = {run["run"]: run["config"] for run in noted["runs"]}
    if today.keys() != then.keys():
        named = min(today.keys() ^ then.keys())
        return f"was accepted {'with' if named in then else 'without'} {named}"
    if holes and holes.get("filled") != filled_from(artefact, scale, root):
        return "was accepted with holes that another outcome of a smaller scale filled"
    other = {run: _other_keys(then[run], today[run]) for run in then if then[run] != today[run]}
    if not other:
        return ""
    keys = ", ".join(sorted({key for keys in other.values() for key in keys}))
    return f"was accepted from runs of another configuration than today's ({keys})"


def as_noted(artefact: Artefact, noted: dict[str, Any]) -> Artefact:
    """With the holes that its provenance, or the note of its making, tells of; or already has."""
    holes = noted.get("holes")
    lacking = holes.get("lacking") if isinstance(holes, dict) else None
    return artefact.without(map(str, lacking)) if isinstance(lacking, list) else artefact


def holes_of(artefact: Artefact, scale: str, root: Path = ROOT) -> dict[str, Any]:
    """What is noted of an artefact with holes; nothing of another."""
    if not artefact.lacking:
        return {}
    return {"holes": {"lacking": sorted(artefact.lacking), "filled": filled_from(artefact, scale, root)}}


def below(artefact: Artefact, scale: str, root: Path = ROOT) -> Layout | None:
    """Where it was accepted at the largest smaller scale: what fills its holes."""
    for smaller in reversed(SCALES[: scale_rank(scale)]):
        layout = Layout(smaller, root)
        if artefact_file(layout.published, artefact.name, ".cells.csv").is_file():
            return layout
    return None


def filled_from(artefact: Artefact, scale: str, root: Path = ROOT) -> dict[str, str]:
    """By file the digests of that outcome."""
    layout = below(artefact, scale, root)
    suffixes = (".cells.csv", ".claims.csv") if layout else ()
    files = [artefact_file(layout.published, artefact.name, suffix) for suffix in suffixes]
    return {file.relative_to(root).as_posix(): sha256_of(file) for file in files if file.is_file()}


def _other_keys(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    return [key for key in one.keys() | other.keys() if one.get(key) != other.get(key)]


def claims_at(artefact: Artefact, scale: str) -> list[dict[str, Any]]:
    """Its claims at a scale: one that hangs on how the scale differs from the paper is told as ours, too."""
    found, differs = [], artefact.differs(scale)
    for claim in artefact.data.get("claims", []):
        hangs = " and ".join(deviation for deviation in claim.get("hangs_on", []) if deviation in differs)
        if not hangs or claim["ours"]:
            found.append(claim)
            continue
        later = f"scale {scale} changes what it is about ({hangs}); its test is told as ours"
        text = f"(ours) At scale {scale} ({hangs}): {claim['text']}"
        found += [claim | {"later": later}, claim | {"id": f"{claim['id']}-here", "text": text, "ours": True}]
    return found


def waits(claim: dict[str, Any], scale: str) -> str:
    """Why a claim is not judged at this scale; empty where it is."""
    if "later" in claim:
        return claim["later"]
    if scale_rank(scale) < scale_rank(claim.get("from", "smoke")):
        return f"judged from scale {claim['from']} on"
    return f"judged at scale {claim['at']} only" if claim.get("at", scale) != scale else ""


def _test(test: dict[str, Any]) -> list[Any]:
    """Its parts in their order, and what a trend runs over."""
    lines = lines_of(test)
    return [[_plain(one) for one in each(test)], _plain(lines if len(lines) > 1 else sum(lines, []))]


def _plain(value: Any) -> Any:
    """1 and 1.0 are one margin, 1 and "1" one row."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        point = all(isinstance(each, str | int | float) for each in value)
        return [str(each) if point else _plain(each) for each in value]
    return float(value) if isinstance(value, int | float) else value


def _hash(data: Any) -> str:
    """Keys in their order as text: YAML's may be numbers."""
    return hashlib.sha256(json.dumps(_text_keys(data), sort_keys=True).encode()).hexdigest()[:16]


def _text_keys(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _text_keys(value) for key, value in data.items()}
    return [_text_keys(each) for each in data] if isinstance(data, list) else data
