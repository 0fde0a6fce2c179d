"""Take today's outcome of an artefact as the accepted one: published/<scale>/, with provenance and reason."""

import json
import shutil
from pathlib import Path

from harness.artefacts import Artefact
from harness.errors import HarnessError
from harness.files import ROOT, write_atomic
from harness.layout import Layout, artefact_file
from harness.make import outputs
from harness.record import now, read_record


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
    runs = []
    for spec in artefact.runs(layout.scale, root):
        record = read_record(layout.run_folder(spec.id))
        kept = (
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
        runs.append(
            {**{key: record[key] for key in kept}, "truths": record["truths"], "tables": record["tables"]}
        )
    provenance = {
        "artefact": artefact.name,
        "scale": layout.scale,
        "accepted": now(),
        "reason": reason,
        "runs": runs,
    }
    for path in made:
        target = layout.published / path.relative_to(layout.results)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    to = artefact_file(layout.published, artefact.name, ".provenance.json")
    write_atomic(to, json.dumps(provenance, indent=1) + "\n")
    return to
