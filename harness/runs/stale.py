"""Whether a record is the run that is asked for now: its code, config, threads and data."""

import json
from pathlib import Path
from typing import Any

from harness.base.errors import HarnessError
from harness.base.layout import Layout
from harness.code.code_id import code_id
from harness.code.ledger import counts
from harness.code.syntax import path_of
from harness.runs.record import read_record
from harness.spec.experiments import RunSpec


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
        from harness.bench.carried import found_as
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
    """Why a record is not the run that is asked for, or '' where it is: this is decided here alone.

    Versions of Python and its libraries are no reason: `check` tells of records that other ones made.
    """
    if record["config"] != json.loads(json.dumps(spec.config)):
        return "its config has changed"
    if record["threads"] != spec.resources["threads"]:
        return f"it ran with {record['threads']} threads instead of {spec.resources['threads']}"
    if not is_code_of(spec.module, record["code"], layout.root):
        return "its code has changed"
    return ""


def is_code_of(module: str, code: str, root: Path) -> bool:
    """Today's code of this experiment, or vouched for as such; of a project without code any is."""
    return path_of(module, root) is None or counts(module, code, code_id(module, root), root)


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
