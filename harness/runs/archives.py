"""Run records that travel with the project: packed into published/, laid out as if they had been run here."""

import hashlib
import io
import json
import lzma
import re
import shutil
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.base.errors import HarnessError, reading
from harness.base.files import ROOT, at_work, read_within, write_atomic
from harness.base.layout import Layout
from harness.published.publish import publish
from harness.runs.record import digest, read_record
from harness.runs.stale import is_there, why_stale
from harness.spec.experiments import RunSpec
from harness.spec.experiments import paper as experiments_of

LIMIT = 40 << 20  # bytes of all archives together: a clone has to carry them for ever
UNPACKED = 256 << 20
MEMBER = re.compile(r"[a-z]+(/(?!\.)[^/\0]+){3}/s\d+/(run\.json|(?!\.)[^/\0]+\.csv)")

# What an acceptance notes of each record that it stands on.
NOTED = (
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
    "data",
    "tables",
    "digest",
)
MADE = ("commit", "started", "ended", "seconds", "digest")  # when a record was made, not what it holds


def archive(paper: str, experiment: str, layout: Layout) -> Path:
    """One per experiment, so that what changes of one leaves the others' bytes alone."""
    return layout.published / "records" / paper / f"{experiment}.tar.xz"


def every_archive(layout: Layout, paper: str = "*") -> list[Path]:
    return sorted((layout.published / "records").glob(f"{paper}/*.tar.xz"))


def keep(paper: str, layout: Layout, root: Path = ROOT) -> tuple[Path, int]:
    """Pack the paper's whole records of today's code and config; those kept before stay while they count."""
    runs, there, files = experiments_of(paper, root).runs(layout.scale), every_archive(layout, paper), {}
    if there:
        lay_out(paper, layout, root)
    before = {run: content for path in there for run, content in unpack(path, layout).items()}
    for spec in runs:
        if is_there(spec, layout, tables=True):
            files |= _files_of(spec.id, layout, before.get(spec.id, {}))
    if not files:
        raise HarnessError(f"no run of {paper} was made at scale {layout.scale}: there is no record to keep")
    packed = _packed(files, layout)
    publish(layout, packed, gone=[path for path in there if path not in packed])
    folder = layout.published / "records" / paper
    return folder, sum(name.endswith("/run.json") for name in files)


def with_records(
    paper: str, runs: Iterable[str], layout: Layout, root: Path = ROOT
) -> tuple[dict[Path, bytes], dict[str, dict[str, Any]]]:
    """The archives of these runs with their records in them, and without those that no experiment names.

    And these records, of which one kept before may be another than the one that is here.
    """
    named = {spec.id for spec in experiments_of(paper, root).runs(layout.scale)}
    files, found, before = {}, {}, {}
    for path in {archive(*run.split("/")[:2], layout) for run in runs}:
        before |= unpack(path, layout) if path.is_file() else {}
    for run in before.keys() - set(runs) & named:
        files |= {f"{run}/{name}": content for name, content in before[run].items()}
    for run in runs:
        files |= (mine := _files_of(run, layout, before.get(run, {})))
        found[run] = json.loads(mine[f"{run}/run.json"])
    return _packed(dict(sorted(files.items())), layout), found


def _packed(files: dict[str, bytes], layout: Layout) -> dict[Path, bytes]:
    """The archives of these files by their places; an error if a clone would have too much to carry."""
    by_place: dict[Path, dict[str, bytes]] = {}
    for name, content in files.items():
        by_place.setdefault(archive(*name.split("/")[:2], layout), {})[name] = content
    packed = {path: pack(content) for path, content in by_place.items()}
    others = layout.root.glob("published/*/records/*/*.tar.xz")
    size = sum(map(len, packed.values())) + sum(p.stat().st_size for p in others if p not in packed)
    if size > LIMIT:
        largest = max(packed, key=lambda path: len(packed[path]))
        raise HarnessError(
            f"all kept records together would take {size / 1e6:.1f} MB, more than {LIMIT / 1e6:.1f} MB:"
            f" let the runs of {largest.parent.name}/{largest.name.partition('.')[0]} leave smaller tables"
        )
    return packed


def _files_of(run: str, layout: Layout, kept: dict[str, bytes]) -> dict[str, bytes]:
    """A whole record as it is packed: the kept one where this one holds the same, made at another time.

    Artefacts that were accepted of the kept one name its commit.
    """
    folder = layout.run_folder(run)
    record = read_record(folder)
    names = ("run.json", *sorted(record["tables"]))
    files = kept if _holds_the_same(kept, record) else {name: (folder / name).read_bytes() for name in names}
    return {f"{run}/{name}": files[name] for name in names}


def _holds_the_same(kept: dict[str, bytes], record: dict[str, Any]) -> bool:
    """Whether a kept record is whole, and differs from this one in when it was made alone."""
    try:
        old = json.loads(kept["run.json"])
        whole = old["digest"] == digest(old)
    except (LookupError, TypeError, ValueError, RecursionError):
        return False
    tables = {
        name: hashlib.sha256(content).hexdigest() for name, content in kept.items() if name != "run.json"
    }
    old, new = ({key: value for key, value in one.items() if key not in MADE} for one in (old, record))
    return whole and old == new and tables == new["tables"]


def unpack(path: Path, layout: Layout) -> dict[str, dict[str, bytes]]:
    """The files of each run; one member that was not packed here, and nothing of it is taken."""
    kept: dict[str, dict[str, bytes]] = {}
    mine, back = f"{path.parent.name}/{path.name.partition('.')[0]}", path.relative_to(layout.root)
    with reading(path, "cannot be read", f"bring it back with `git checkout -- {back}`"):
        with lzma.open(path) as packed:  # unpacked before tarfile looks: a header too can be a bomb
            content = io.BytesIO(read_within(packed, path, UNPACKED))
        with tarfile.open(fileobj=content, mode="r:") as tar:
            for member in tar:
                run, _, file = member.name.rpartition("/")
                ours = member.isreg() and MEMBER.fullmatch(member.name) and run.startswith(f"{mine}/")
                if not ours or file in kept.get(run, ()):
                    raise ValueError(f"{member.name[:80]!r} is no file of a run of {mine}, or stands twice")
                kept.setdefault(run, {})[file] = tar.extractfile(member).read()
    return kept


def lay_out_apart(path: Path, apart: Layout) -> list[str]:
    """Every whole record of an archive, in a folder of nobody's: to be compared, not to be made use of.

    What is said of the others, and of files that belong to no record.
    """
    told = []
    for run, files in unpack(path, apart).items():
        folder = apart.run_folder(run)
        for name, content in files.items():
            write_atomic(folder / name, content)
        try:
            named = {"run.json", *read_record(folder)["tables"]}
        except HarnessError:
            shutil.rmtree(folder)
            told.append(f"its record of {run} is damaged")
        else:
            told += [f"its record of {run} names no {name}" for name in sorted(files.keys() - named)]
    return told


def records(runs: Iterable[str], apart: Layout) -> dict[str, dict[str, Any]]:
    """Those of these runs that are laid out there."""
    return {run: read_record(apart.run_folder(run)) for run in runs if apart.run_folder(run).is_dir()}


def pack(files: dict[str, bytes]) -> bytes:
    """The same bytes for the same files, whenever and by whomever they are packed."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz", preset=9) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def lay_out(paper: str, layout: Layout, root: Path = ROOT) -> dict[str, str]:
    """Bring kept records where their runs are missing: why a run's could not be, '' where it was."""
    runs = experiments_of(paper, root).runs(layout.scale)
    if not every_archive(layout, paper):
        folder = layout.published / "records" / paper
        raise HarnessError(f"no records of {paper} are kept at scale {layout.scale}: {folder} holds none")
    missing = [spec for spec in runs if not is_there(spec, layout, tables=True)]
    kept: dict[str, dict[str, bytes]] = {}
    for path in dict.fromkeys(archive(paper, spec.experiment, layout) for spec in missing):
        kept |= unpack(path, layout) if path.is_file() else {}
    with _beside(layout) as beside:
        built = {spec.id: _build(spec, kept[spec.id], beside, layout) for spec in missing if spec.id in kept}
        laid = [run for run, reason in built.items() if not reason]
        for run in laid:
            place = layout.run_folder(run)
            place.mkdir(parents=True, exist_ok=True)
            with at_work(place):
                shutil.rmtree(place)
                (beside / run).rename(place)
    return built


@contextmanager
def _beside(layout: Layout) -> Iterator[Path]:
    """A folder to build records in, on the disk of the others; what a kill has left there is removed."""
    folder = layout.results / ".laid-out"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _build(spec: RunSpec, files: dict[str, bytes], beside: Path, layout: Layout) -> str:
    """Why a kept record does not count today, or '' once it stands whole beside the others."""
    for name, content in files.items():
        write_atomic(beside / spec.id / name, content)
    try:
        record = read_record(beside / spec.id)
    except HarnessError:
        return "its kept record is damaged"
    reason = why_stale(spec, record, layout)
    return f"{reason} since it was kept" if reason else ""
