"""Whether what is there was made from what is there now: code, configs, data, YAML."""

import hashlib
import json
from pathlib import Path
from typing import Any

from harness.artefacts import Artefact
from harness.carried import found_as
from harness.code_id import code_id, drawing_id, has_code
from harness.errors import HarnessError
from harness.experiments import RunSpec
from harness.files import ROOT, sha256_of, write_atomic
from harness.layout import Layout
from harness.ledger import counts
from harness.record import read_record


def inputs_of(spec: RunSpec) -> str:
    """What besides code and config decides a run's numbers: threads, and the data that it would read now.

    What a run `needs` is fetched by its own job, whose note is an input of the run.
    """
    return f"threads={spec.resources['threads']} data={'' if spec.needs else _data(spec)}"


def _data(spec: RunSpec) -> str:
    """The benchmark's files, and images where a run trains; with `source` it asks the benchmark alone."""
    config, found = spec.config, []
    source = config.get("source", config.get("truth_source"))
    if isinstance(source, str):
        from harness.bench.catalogue import stamp

        with found_as("packed"):
            names = asked_first(config.get("space")) if source == "best" else [source]
            found += filter(None, map(stamp, names))
    dataset = config.get("dataset")
    if isinstance(dataset, str) and not isinstance(config.get("source"), str):
        from harness.data.images import stamp as images

        found.append(images(dataset))
    return " ".join(found)


def asked_first(space: Any) -> list[str]:
    """The sources that can answer "best" for a space (or for any), nearest first.

    What is one file is whole and hides the sources behind it: fetching a registry's copy beside a compiled
    table changes no answer. A folder may hold a part.
    """
    from harness.bench.catalogue import find, sources

    every = {name for source in sources() for name in source.spaces}
    names: list[str] = []
    for mine in [space] if space in every else sorted(every):
        for source in (source for source in sources() if mine in source.spaces):
            there = find(source)
            names += [source.name] if there and source.name not in names else []
            if there and all(path.is_file() for path in there[1]):
                break
    return names


def why_stale(spec: RunSpec, record: dict[str, Any], layout: Layout) -> str:
    """Why a record is not the run that is asked for, or '' where it is: this is decided here alone."""
    if record["config"] != json.loads(json.dumps(spec.config)):
        return "its config has changed"
    root, module = layout.root, spec.module
    if has_code(module, root) and not counts(module, record["code"], code_id(module, root), root):
        return "its code has changed"
    return ""


def code_asked(spec: RunSpec, layout: Layout) -> str:
    """Today's code id; where the record that is there counts, its own, with which Snakemake noted its run."""
    try:
        record = read_record(layout.run_folder(spec.id), tables=False)
    except HarnessError:
        record = None
    counted = record is not None and not why_stale(spec, record, layout)
    return record["code"] if counted else code_id(spec.module, layout.root)


def is_there(spec: RunSpec, layout: Layout, tables: bool = False) -> bool:
    """A whole record of this code and config; `tables`: with its tables read through."""
    try:
        record = read_record(layout.run_folder(spec.id), tables=tables)
    except HarnessError:
        return False
    return not why_stale(spec, record, layout)


def decided_by(artefact: Artefact, scale: str, root: Path = ROOT) -> dict[str, str]:
    """What besides its records decides an artefact, by content: an edited file may keep its old date.

    Of experiments.yaml that is what no record holds: why cells have no run, and what differs.
    """
    found = {
        "YAML": sha256_of(artefact.path),
        "experiments": _hash(repr((artefact.differs(scale), artefact.absences(scale, root)))),
        "code": code_id("harness.make"),
    }
    if artefact.kind == "figure":
        found["drawing"] = drawing_id(artefact.drawing)
    return found


def forget_made(artefact: Artefact, layout: Layout) -> None:
    """What is made in part is not fresh."""
    _note(artefact.name, layout).unlink(missing_ok=True)


def note_made(
    artefact: Artefact, records: dict[str, dict[str, Any]], layout: Layout, root: Path = ROOT
) -> None:
    """From which YAML and which records an artefact was made."""
    sources = _sources(artefact, records, layout.scale, root)
    write_atomic(_note(artefact.name, layout), json.dumps(sources, indent=1) + "\n")


def require_fresh(artefact: Artefact, layout: Layout, root: Path = ROOT) -> dict[str, dict[str, Any]]:
    """The records that it stands on; an error where its YAML, drawing, runs or their code changed since."""
    again = f"make it again with `snakemake {artefact.target} --config scale={layout.scale}`"
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
