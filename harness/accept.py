"""Take today's outcome of an artefact as the accepted one: published/<scale>/, with provenance and reason."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness import judged, reproduced
from harness.artefacts import Artefact
from harness.errors import HarnessError
from harness.files import ROOT, write_atomic
from harness.fresh import require_fresh
from harness.layout import Layout, artefact_file
from harness.make import outputs
from harness.record import now

KEPT = (
    "run",
    "seed",
    "config",
    "code",
    "commit",
    "device",
    "threads",
    "machine",
    "started",
    "seconds",
    "status",
    "truths",
    "tables",
)

REMADE = (".svg", ".pdf", ".html")  # made again from the cells in a second; git need not carry them


def require_reason(command: str, reason: str, asked: str) -> None:
    if len(reason.split()) < 2:
        raise HarnessError(f"{command} needs --reason with at least a few words: {asked}")


def accept(artefact: Artefact, layout: Layout, reason: str, root: Path = ROOT) -> Path:
    """One artefact; its provenance's path."""
    (provenance,) = accept_all([artefact], layout, reason, root)
    return provenance


def accept_all(chosen: Iterable[Artefact], layout: Layout, reason: str, root: Path = ROOT) -> Iterator[Path]:
    """One after the other; what they come to is put into words once, also where one of them is refused."""
    done = 0
    try:
        for artefact in chosen:
            provenance = _accept(artefact, layout, reason, root)
            done += 1
            yield provenance
    finally:
        if done:
            reproduced.write(root)


def _accept(artefact: Artefact, layout: Layout, reason: str, root: Path) -> Path:
    """Copy cells, claims and renderings; write from which runs they came and why they were accepted."""
    require_reason("accept", reason, "why is this outcome right?")
    made = outputs(artefact, layout.results)
    missing = [path.name for path in made if not path.is_file()]
    if missing:
        command = f"snakemake {artefact.target} --config scale={layout.scale}"
        raise HarnessError(
            f"{artefact.name} has no {missing[0]} at scale {layout.scale}: make it with `{command}`"
        )
    runs = []
    for run, record in require_fresh(artefact, layout, root).items():
        size = sum(file.stat().st_size for file in layout.run_folder(run).iterdir() if file.is_file())
        runs.append({**{key: record[key] for key in KEPT}, "bytes": size})
    provenance = {
        "artefact": artefact.name,
        "scale": layout.scale,
        "accepted": now(),
        "reason": reason,
        "rule": judged.RULE,
        "cells": judged.of_cells(artefact),
        "claims": judged.of_claims(artefact, layout.scale),
        "runs": runs,
    }
    for path in made:
        if path.suffix in REMADE:
            continue
        write_atomic(layout.published / path.relative_to(layout.results), path.read_bytes())
    to = artefact_file(layout.published, artefact.name, ".provenance.json")
    write_atomic(to, json.dumps(provenance, indent=1) + "\n")
    return to
