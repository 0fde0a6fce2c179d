"""The record of a run: what it leaves in its folder, how it is written, read and refused."""

import csv
import hashlib
import io
import json
import os
import platform
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.base.errors import HarnessError
from harness.base.files import ROOT, sha256_of, write_atomic
from harness.spec.experiments import RunSpec

if TYPE_CHECKING:  # numpy takes its number of threads when it is loaded: execute.py sets that first
    import numpy as np

FORMAT = 1
KINDS = {
    **dict.fromkeys(("run", "scale", "status", "code", "commit", "device", "started", "ended"), str),
    **dict.fromkeys(("config", "machine", "tables"), dict),
    **dict.fromkeys(("metrics", "truths"), list),
    **dict.fromkeys(("seed", "threads"), int),
    "seconds": (int, float),
}


@dataclass(frozen=True)
class Metric:
    """One number of a run."""

    name: str
    value: float
    unit: str = ""


class Run:
    """What an experiment gets: its seed's random streams, and the places to leave what it finds."""

    def __init__(self, spec: RunSpec, folder: Path) -> None:
        self.spec = spec
        self.folder = folder
        self.metrics: list[Metric] = []
        self.tables: dict[str, str] = {}
        self.truths: list[dict[str, Any]] = []
        self.outcome = "done"
        self._drawn = 0.0
        self._told = time.time()
        self._unit, self._from, self._started = "", 0, self._told

    def stream(self, name: str) -> "np.random.Generator":
        """An independent random stream per purpose."""
        from harness.base import seeds

        return seeds.stream(self.spec.seed, name)

    def metric(self, name: str, value: float, unit: str = "") -> None:
        self.metrics.append(Metric(name, float(value), unit))

    def table(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """A table beside run.json, one row per architecture, step or repeat."""
        columns = {k: v.tolist() if hasattr(v, "tolist") else list(v) for k, v in columns.items()}
        lengths = {k: len(v) for k, v in columns.items()}
        if len(set(lengths.values())) != 1:
            raise ValueError(f"table {name!r} has columns of different lengths: {lengths}")
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        file = f"{name}.csv"
        write_atomic(self.folder / file, text.getvalue())
        self.tables[file] = sha256_of(self.folder / file)

    def truth(self, identity: Any) -> None:
        """Which ground truth was asked (a bench Identity): it is printed beside every number made from it."""
        entry = {k: v for k, v in vars(identity).items()} if not isinstance(identity, dict) else identity
        if entry not in self.truths:
            self.truths.append(entry)

    def progress(self, step: int, total: int, unit: str) -> None:
        """Tell the campaign how far this run is; cheap enough to be called in every iteration."""
        now = time.time()
        if unit != self._unit:  # the first part of the run, which may go on where it was killed, or the next
            self._unit, self._from, self._started = (unit, 0, self._told) if step == 1 else (unit, step, now)
        self._told = now
        if 0 <= now - self._drawn < 1.0 and step < total:
            return
        self._drawn = now
        state = {"step": step, "total": total, "unit": unit, "from": self._from, "started": self._started}
        write_atomic(self.folder / "progress.json", json.dumps({**state, "pid": os.getpid()}))


def machine() -> dict[str, Any]:
    """The kind of machine, not its name: what a reader needs to judge a time or a last digit."""
    return {"processor": _processor(), "cores": os.cpu_count(), "system": platform.system(), **_versions()}


@cache
def _versions() -> dict[str, str]:
    """Of what computes: of torch its build too, which brings its own BLAS and oneDNN."""
    found = {"python": platform.python_version()}
    for library in ("numpy", "scipy", "torch"):
        with suppress(metadata.PackageNotFoundError):
            found[library] = metadata.version(library)
    if numpy := sys.modules.get("numpy"):
        blas = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
        found["blas"] = f"{blas['name']} {blas['version']}"
    if torch := sys.modules.get("torch"):
        onednn = re.search(r"MKL-DNN v([\d.]+)", torch.__config__.show())
        found |= {"onednn": onednn[1]} if onednn else {}
    return found


@cache
def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@cache
def commit(root: Path = ROOT) -> str:
    """The commit that the code came from, with + when the tree had changes; 'unknown' outside git."""
    import subprocess

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "harness", "reproduce")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def write_record(
    run: Run,
    *,
    identity: Mapping[str, Any],
    commit: str,
    device: str,
    allocator: str,
    started: str,
    seconds: float,
) -> None:
    """run.json, last of all and atomically: where it stands, the run is complete."""
    spec = run.spec
    record = {
        "format": FORMAT,
        "run": spec.id,
        "scale": spec.scale,
        "status": run.outcome,
        "seed": spec.seed,
        **identity,  # its config, threads, code and data
        "commit": commit,
        "device": device,
        "machine": machine(),
        "allocator": allocator,
        "started": started,
        "ended": now(),
        "seconds": round(seconds, 3),
        "metrics": [vars(m) for m in run.metrics],
        "tables": run.tables,
        "truths": run.truths,
    }
    write_atomic(run.folder / "run.json", json.dumps({**record, "digest": digest(record)}, indent=1) + "\n")
    (run.folder / "progress.json").unlink(missing_ok=True)


def digest(record: Mapping[str, Any]) -> str:
    """The seal of a record: a hand-edited or half-written one no longer carries it."""
    content = {k: v for k, v in record.items() if k != "digest"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_record(folder: Path, *, tables: bool = True) -> dict[str, Any]:
    """A complete record whose seal holds, or an error that names it."""
    path = folder / "run.json"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise HarnessError(f"{path} is not there: run it with `python -m harness run`") from None
    except (ValueError, RecursionError):
        raise HarnessError(f"{path} is cut short or not JSON: `snakemake` runs it again") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise HarnessError(f"{path} is no record of format {FORMAT}: `snakemake` runs it again")
    if record.get("digest") != digest(record):
        raise HarnessError(f"{path} was changed after its run ended: `snakemake` runs it again")
    wrong = [key for key, kind in KINDS.items() if not isinstance(record.get(key), kind)]
    lists = ("metrics", "truths")
    if wrong := wrong or [key for key in lists if not all(isinstance(one, dict) for one in record[key])]:
        raise HarnessError(f"{path} has no {wrong[0]!r} as runs write it: `snakemake` runs it again")
    for name, expected in record["tables"].items() if tables else ():
        file = folder / name
        if not file.is_file() or sha256_of(file) != expected:
            raise HarnessError(f"{file} is missing or was changed after its run: `snakemake` runs it again")
    return record


def refuse_broken(folders: Sequence[Path]) -> list[str]:
    """Set broken records aside as run.json.refused, so that their runs are run again; one line each."""
    lines = []
    for folder in folders:
        if (folder / "run.json").exists():
            try:
                read_record(folder)
            except HarnessError as error:
                os.replace(folder / "run.json", folder / "run.json.refused")
                lines.append(str(error))
    return lines
