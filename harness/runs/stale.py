"""Whether a record is the run that is asked for now: its config, threads, code and data."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import Layout
from harness.code.code_id import code_id
from harness.code.ledger import counts
from harness.code.syntax import path_of
from harness.runs.record import read_record
from harness.spec.experiments import RunSpec


def identity(spec: RunSpec, root: Path = ROOT, threads: int | None = None) -> dict[str, Any]:
    """What decides a run's numbers, as it stands now: records and checkpoints note it."""
    return {
        "config": json.loads(json.dumps(spec.config)),
        "threads": threads or spec.resources["threads"],
        "code": code_id(spec.module, root),
        "data": data_of(spec),
    }


def why_stale(spec: RunSpec, record: Mapping[str, Any], layout: Layout) -> str:
    """Why a record is not the run that is asked for, or '' if it is."""
    return why_other(spec, record, layout.root)


def why_other(spec: RunSpec, noted: Mapping[str, Any], root: Path = ROOT, threads: int | None = None) -> str:
    """Why what was noted is not this run's identity, or '' if it is: this is decided here alone.

    Versions of Python and its libraries are no reason: `check` tells of records that other ones made.
    """
    if noted["config"] != json.loads(json.dumps(spec.config)):
        return "its config has changed"
    if noted["threads"] != (threads := threads or spec.resources["threads"]):
        return f"it ran with {noted['threads']} threads instead of {threads}"
    if not is_code_of(spec.module, noted["code"], root):
        return "its code has changed"
    if then := noted.get("data"):  # older records note none
        now = data_of(spec)
        if other := [file for file in sorted(then.keys() & now.keys()) if then[file] != now[file]]:
            return f"its data has changed ({other[0]})"
    return ""


def data_of(spec: RunSpec) -> dict[str, str]:
    """The benchmark's files, and images if the run trains, that it would read here now, each with a stamp.

    With `source` a run asks the benchmark alone. Files that are not here, or in another form, say nothing.
    """
    config, found = spec.config, {}
    source = config.get("source", config.get("truth_source"))
    if isinstance(source, str):
        found |= _of_sources(source, config)
    dataset = config.get("dataset")
    if isinstance(dataset, str) and not isinstance(config.get("source"), str):
        from harness.data.images import stamp as images

        found |= {f"{dataset}:{file}": size for file, size in _pairs(images(dataset))}
    return found


def _of_sources(source: str, config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A carried table answers as the full file does, and counts as that."""
    from harness.bench.carried import SAME, found_as
    from harness.bench.catalogue import stamp

    same = {carried[:16]: full[:16] for carried, full in SAME.items()}
    with found_as("packed"):
        for name in asked_first(config.get("space")) if source == "best" else [source]:
            yield from ((file, same.get(sha, sha)) for file, sha in _pairs(stamp(name)))


def _pairs(stamps: str) -> Iterator[tuple[str, str]]:
    for one in stamps.split():
        name, _, stamp = one.rpartition("=")
        yield name, stamp


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


def is_code_of(module: str, code: str, root: Path) -> bool:
    """Today's code of this experiment, or vouched for as such; of a project without code any is."""
    return path_of(module, root) is None or counts(module, code, code_id(module, root), root)


def is_there(spec: RunSpec, layout: Layout, tables: bool = False) -> bool:
    """A whole record of this run as it is asked for; `tables`: with its tables read through."""
    try:
        record = read_record(layout.run_folder(spec.id), tables=tables)
    except HarnessError:
        return False
    return not why_stale(spec, record, layout)
