"""Take today's outcome of an artefact as the accepted one: published/<scale>/, with provenance and reason."""

import json
import tempfile
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from harness.accepted import history, reproduced
from harness.base.errors import HarnessError
from harness.base.files import ROOT, write_atomic
from harness.base.layout import Layout, artefact_file
from harness.make.fresh import REMADE, as_made, outputs, remake, require_fresh
from harness.make.make import computed, render_made
from harness.numbers import cellfile
from harness.published import manifest, publish
from harness.runs import archives
from harness.runs.record import commit, now
from harness.spec import fingerprint
from harness.spec.artefacts import Artefact


def require_reason(command: str, reason: str, asked: str) -> None:
    if len(reason.split()) < 2:
        raise HarnessError(f"{command} needs --reason with at least a few words: {asked}")


def accept(artefact: Artefact, layout: Layout, reason: str, root: Path = ROOT) -> Path:
    """One artefact; its provenance's path."""
    (provenance,) = accept_all([artefact], layout, reason, root)
    return provenance


def accept_all(chosen: Iterable[Artefact], layout: Layout, reason: str, root: Path = ROOT) -> Iterator[Path]:
    """All of them at once; one that is refused keeps no other from it, and is told in the end."""
    require_reason("accept", reason, "why is this outcome right?")
    if commit(root).endswith("+"):
        raise HarnessError(
            "harness/ or reproduce/ has changes that are in no commit, so that nobody could find the code"
            " of what is accepted: commit them first"
        )
    publish.finish(layout)
    files: dict[Path, bytes] = {}
    records: dict[str, Any] = {}
    accepted, refused, changed = [], [], []
    for artefact in chosen:
        artefact = as_made(artefact, layout)
        try:
            found = _accepted(artefact, layout, root)
        except HarnessError as error:
            refused.append(str(error))
            continue
        files |= found
        accepted.append(artefact)
    if accepted:
        for paper in dict.fromkeys(artefact.paper for artefact in accepted):
            mine = [artefact for artefact in accepted if artefact.paper == paper]
            runs = {run.id: None for artefact in mine for run in artefact.runs(layout.scale, root)}
            packed, kept = archives.with_records(paper, runs, layout, root)
            files, records = files | packed, records | kept
        for artefact in accepted:
            noted = _noted(artefact, layout, records, reason, root)
            files[_provenance(artefact, layout)] = (json.dumps(noted, indent=1) + "\n").encode()
            changed += _changed(artefact, layout, files, reason, root)
        files |= history.with_changes(layout, changed)
        specs = [spec for artefact in accepted for spec in manifest.stands_on(artefact)]
        reproduced.require_writable(layout, files, root)
        publish.publish(layout, files, specs)
        reproduced.write(root)
    yield from (_provenance(artefact, layout) for artefact in accepted)
    if refused:
        raise HarnessError("\n".join(refused))


def _changed(
    artefact: Artefact, layout: Layout, files: dict[Path, bytes], reason: str, root: Path
) -> Iterator[history.Change]:
    claims, noted = (
        files[artefact_file(layout.published, artefact.name, suffix)].decode()
        for suffix in (".claims.csv", ".provenance.json")
    )
    when = now()[:10], commit(root)[:7]
    return history.changes(artefact.name, layout, claims, json.loads(noted), *when, reason)


def _provenance(artefact: Artefact, layout: Layout) -> Path:
    return artefact_file(layout.published, artefact.name, ".provenance.json")


def drawn_by(artefact: Artefact) -> dict[str, str]:
    """What drew its picture: another version's bytes are others."""
    return {"drawn": f"matplotlib {version('matplotlib')}"} if artefact.kind == "figure" else {}


def left_by(artefact: Artefact, layout: Layout) -> list[Path]:
    """The files in published/ of an accepted artefact."""
    shown = [path for path in outputs(artefact, layout.published) if path.suffix not in REMADE]
    return [*shown, _provenance(artefact, layout)]


def _accepted(artefact: Artefact, layout: Layout, root: Path) -> dict[Path, bytes]:
    """The files to publish, made again from its records alone."""
    records = require_fresh(artefact, layout, root)
    _require_same_status(artefact, records, cellfile.provenance(_provenance(artefact, layout)))
    return _made_again(artefact, layout, root)


def _noted(
    artefact: Artefact, layout: Layout, records: dict[str, Any], reason: str, root: Path
) -> dict[str, Any]:
    """Its provenance: why, and from which records, as they are kept."""
    runs = []
    for run in (spec.id for spec in artefact.runs(layout.scale, root)):
        size = sum(file.stat().st_size for file in layout.run_folder(run).iterdir() if file.is_file())
        record = records[run]
        runs.append({**{key: record[key] for key in archives.NOTED if key in record}, "bytes": size})
    noted = {
        "artefact": artefact.name,
        "scale": layout.scale,
        "accepted": now(),
        "reason": reason,
        "rule": fingerprint.RULE,
        "cells": fingerprint.of_cells(artefact),
        "claims": fingerprint.of_claims(artefact, layout.scale),
        "runs": runs,
    }
    return noted | fingerprint.holes_of(artefact, layout.scale, root) | drawn_by(artefact)


def _made_again(artefact: Artefact, layout: Layout, root: Path) -> dict[Path, bytes]:
    """Its files by their place in published/; an error where those in results/ are not what its records give.

    What somebody looked at there is then what is accepted, and nothing that was edited there is.
    """
    again = f"make it again with `{remake(artefact, layout.scale)}` and look at it"
    files = {}
    with tempfile.TemporaryDirectory() as folder:
        apart = Layout(layout.scale, layout.root, Path(folder))
        made = computed(artefact, layout, root)
        for suffix, text in ((".cells.csv", made.cells), (".claims.csv", made.claims)):
            write_atomic(artefact_file(apart.results, artefact.name, suffix), text)
        render_made(artefact, apart, list(made.records.values()))
        for path in outputs(artefact, apart.results):
            seen = layout.results / path.relative_to(apart.results)
            if not seen.is_file():
                raise HarnessError(f"{artefact.name} has no {seen.name} at scale {layout.scale}: {again}")
            if seen.read_bytes() != path.read_bytes():
                name = seen.relative_to(layout.root)
                raise HarnessError(f"{name} is not what the records of {artefact.name} give: {again}")
            if path.suffix not in REMADE:
                files[layout.published / path.relative_to(apart.results)] = path.read_bytes()
    return files


def _require_same_status(artefact: Artefact, records: dict[str, dict], before: dict) -> None:
    """The same code with the same config does not end otherwise."""
    for run in before["runs"]:
        today = records.get(run["run"])
        same = today and all(today[key] == run[key] for key in ("code", "config", "machine"))
        if same and today["status"] != run["status"]:
            raise HarnessError(
                f"{artefact.name}: {run['run']} ended as {run['status']!r} when it was accepted and as"
                f" {today['status']!r} now, with the same code and config: delete its folder and run it again"
            )
