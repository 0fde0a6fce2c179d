"""Take today's outcome of an artefact as the accepted one: published/<scale>/, with provenance and reason."""

import json
import shutil
from pathlib import Path

from harness import reproduced
from harness.artefacts import Artefact
from harness.errors import HarnessError
from harness.files import ROOT, write_atomic
from harness.fresh import require_fresh
from harness.layout import Layout, artefact_file
from harness.make import outputs
from harness.record import now, read_record

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
)
KEPT += ("truths", "tables")

REMADE = (".svg", ".pdf", ".html")  # made again from the cells in a second; git need not carry them


def accept(artefact: Artefact, layout: Layout, reason: str, root: Path = ROOT) -> Path:
    """Copy cells, claims and renderings; write from which runs they came and why they were accepted."""
    if len(reason.split()) < 2:
        raise HarnessError("accept needs --reason with at least a few words: why is this outcome right?")
    made = outputs(artefact, layout.results)
    missing = [path.name for path in made if not path.is_file()]
    if missing:
        command = f"snakemake {artefact.target} --config scale={layout.scale}"
        raise HarnessError(
            f"{artefact.name} has no {missing[0]} at scale {layout.scale}: make it with `{command}`"
        )
    require_fresh(artefact, layout, root)
    runs = []
    for spec in artefact.runs(layout.scale, root):
        folder = layout.run_folder(spec.id)
        record = read_record(folder)
        size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
        runs.append({**{key: record[key] for key in KEPT}, "bytes": size})
    provenance = {
        "artefact": artefact.name,
        "scale": layout.scale,
        "accepted": now(),
        "reason": reason,
        "runs": runs,
    }
    for path in made:
        if path.suffix in REMADE:
            continue
        target = layout.published / path.relative_to(layout.results)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    to = artefact_file(layout.published, artefact.name, ".provenance.json")
    write_atomic(to, json.dumps(provenance, indent=1) + "\n")
    reproduced.write(root)
    return to
