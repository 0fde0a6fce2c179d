"""Run records by hand: sealed as a finished run seals them, but with the numbers that a test wants."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.base.files import sha256_of
from harness.base.layout import Layout
from harness.runs.record import FORMAT, digest
from harness.spec.experiments import find_run

Tables = Mapping[str, Mapping[str, Sequence[Any]]]


def seal(
    layout: Layout,
    run: str,
    metrics: Mapping[str, float] | None = None,
    tables: Tables | None = None,
    truths: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """The folder of a finished run: run.json and its tables, with nothing of this machine in them."""
    spec = find_run(run, layout.scale, layout.root)
    folder = layout.run_folder(run)
    folder.mkdir(parents=True, exist_ok=True)
    hashes = {}
    for name, columns in (tables or {}).items():
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        (folder / f"{name}.csv").write_text(text.getvalue(), encoding="utf-8")
        hashes[f"{name}.csv"] = sha256_of(folder / f"{name}.csv")
    record = {
        "format": FORMAT,
        "run": run,
        "scale": layout.scale,
        "status": "done",
        "seed": spec.seed,
        "config": spec.config,
        "code": "0123456789abcdef",
        "commit": "0123456789ab",
        "threads": 1,
        "device": "cpu",
        "machine": {"processor": "a processor", "cores": 2, "system": "Linux"},
        "started": "2021-01-01T00:00:00+00:00",
        "ended": "2021-01-01T00:00:36+00:00",
        "seconds": 36.0,
        "metrics": [{"name": n, "value": v, "unit": ""} for n, v in (metrics or {}).items()],
        "tables": hashes,
        "truths": [dict(truth) for truth in truths],
    }
    text = json.dumps({**record, "digest": digest(record)}, indent=1)
    (folder / "run.json").write_text(text + "\n", encoding="utf-8")
    return folder


def edit_record(folder: Path, reseal: bool = False, **changed: Any) -> None:
    """Change keys of a run.json; with `reseal` as a run that came out so, without as a hand would do it."""
    path = folder / "run.json"
    record = {**json.loads(path.read_text(encoding="utf-8")), **changed}
    if reseal:
        record["digest"] = digest(record)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
