"""Whether an artefact was made from what is there now: records, YAML, drawing, the code that makes it."""

import hashlib
import json
from pathlib import Path
from typing import Any

from harness.base.errors import HarnessError
from harness.base.files import ROOT, sha256_of, write_atomic
from harness.base.layout import Layout, artefact_file
from harness.code.code_id import drawing_id, step_id
from harness.runs.record import read_record
from harness.runs.stale import is_there, why_stale
from harness.spec import fingerprint
from harness.spec.artefacts import Artefact

SUFFIXES = {"table": (".cells.csv", ".claims.csv", ".md", ".tex", ".html")}
SUFFIXES["figure"] = (".cells.csv", ".claims.csv", ".png", ".svg", ".pdf", ".md")
REMADE = (".svg", ".pdf", ".html")  # made of the cells in a second: git need not carry them


def command(artefact: Artefact, scale: str) -> str:
    """What makes it and, if it has no holes, the runs that it lacks."""
    return f"snakemake {artefact.target} --config scale={scale}{' holes=true' * bool(artefact.lacking)}"


def remake(artefact: Artefact, scale: str) -> str:
    """What makes it of the runs that are there, and starts none."""
    return f"python -m harness make {artefact.name} --scale {scale}{' --holes' * bool(artefact.lacking)}"


def outputs(artefact: Artefact, base: Path) -> list[Path]:
    """The files of an artefact below results/<scale> or published/<scale>."""
    return [artefact_file(base, artefact.name, suffix) for suffix in SUFFIXES[artefact.kind]]


def decided_by(artefact: Artefact, scale: str, root: Path = ROOT) -> dict[str, str]:
    """What besides its records decides an artefact, by content: an edited file may keep its old date.

    Of experiments.yaml that is what no record holds: why cells have no run, and what differs.
    """
    found = {
        "YAML": sha256_of(artefact.path),
        "experiments": _hash(repr((artefact.differs(scale), artefact.absences(scale, root)))),
        "code": step_id("harness.make.make"),
    }
    if artefact.lacking:
        found["smaller scale"] = _hash(repr(fingerprint.filled_from(artefact, scale, root)))
    if artefact.kind == "figure":
        found["drawing"] = drawing_id(artefact.drawing)
    return found


def with_holes(artefact: Artefact, layout: Layout, root: Path = ROOT) -> Artefact:
    """Without the runs that have no record of today; one that has none at all is refused."""
    runs = artefact.runs(layout.scale, root)
    lacking = [run.id for run in runs if not is_there(run, layout, tables=True)]
    if runs and len(lacking) == len(runs):
        raise HarnessError(
            f"{artefact.name} has none of its {len(runs)} runs at scale {layout.scale}, the first is"
            f" `python -m harness run {lacking[0]} --scale {layout.scale}`"
        )
    return artefact.without(lacking)


def as_made(artefact: Artefact, layout: Layout) -> Artefact:
    """With the holes with which it was made in results/."""
    return fingerprint.as_noted(artefact, _noted(artefact.name, layout))


def forget_made(artefact: Artefact, layout: Layout) -> None:
    """What is made in part is not fresh."""
    _note(artefact.name, layout).unlink(missing_ok=True)


def note_made(
    artefact: Artefact, records: dict[str, dict[str, Any]], layout: Layout, root: Path = ROOT
) -> None:
    """From which YAML and which records an artefact was made."""
    sources = _sources(artefact, records, layout.scale, root)
    sources |= fingerprint.holes_of(artefact, layout.scale, root)
    write_atomic(_note(artefact.name, layout), json.dumps(sources, indent=1) + "\n")


def require_fresh(artefact: Artefact, layout: Layout, root: Path = ROOT) -> dict[str, dict[str, Any]]:
    """The records that it stands on; an error where its YAML, drawing, runs or their code changed since."""
    again = f"make it again with `{command(artefact, layout.scale)}`"
    records = {}
    for spec in artefact.runs(layout.scale, root):
        records[spec.id] = read_record(layout.run_folder(spec.id))
        if reason := why_stale(spec, records[spec.id], layout):
            raise HarnessError(f"{artefact.name} stands on {spec.id}, and {reason} since: {again}")
    noted = _noted(artefact.name, layout)
    for what, now in _sources(artefact, records, layout.scale, root).items():
        if noted.get(what) != now:
            raise HarnessError(f"{artefact.name} was made before its {what} changed: {again}")
    return records


def _note(name: str, layout: Layout) -> Path:
    return layout.results / "check" / "made" / f"{name}.json"


def _noted(name: str, layout: Layout) -> dict[str, Any]:
    try:
        noted = json.loads(_note(name, layout).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return noted if isinstance(noted, dict) else {}


def _sources(
    artefact: Artefact, records: dict[str, dict[str, Any]], scale: str, root: Path
) -> dict[str, str]:
    return {**decided_by(artefact, scale, root), "records": _records(records)}


def _records(records: dict[str, dict[str, Any]]) -> str:
    return _hash("\n".join(f"{run} {record['digest']}" for run, record in sorted(records.items())))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
