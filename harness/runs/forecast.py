"""Which runs of an artefact are there, and what the missing ones will take, learnt from past records."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from harness.base.files import ROOT
from harness.base.layout import SCALES, Layout
from harness.runs.stale import is_there
from harness.spec.experiments import RunSpec

# Which of method, setting and seed (places 2, 3 and 4 of a run's name) must be the same, nearest first:
# the run itself, its other seeds, its setting, its method, its experiment.
NEAR = ((2, 3, 4), (2, 3), (3,), (2,), ())
CALM = 20.0  # seconds of a campaign that count as gone at the old pace: a first moment decides nothing
Kind = tuple[Any, ...]


@dataclass(frozen=True)
class Past:
    """What runs took: seconds and bytes by (scale, run), from results and from published provenance."""

    seconds: dict[tuple[str, str], float]
    size: dict[tuple[str, str], int]

    def expect(self, spec: RunSpec) -> tuple[float | None, int | None]:
        """The same run, else its setting, else its method, else its experiment, at the same scale."""
        for same in NEAR:
            if near := self._alike.get(_kind(spec.scale, spec.id, same)):
                sizes = [self.size[k] for k in near if k in self.size]
                return median(self.seconds[k] for k in near), int(median(sizes)) if sizes else None
        return None, None

    @cached_property
    def _alike(self) -> dict[Kind, list[tuple[str, str]]]:
        """Runs that are alike in one of these ways, found in one go: a live view asks for every run."""
        found: dict[Kind, list[tuple[str, str]]] = {}
        for scale, run in self.seconds:
            for same in NEAR if run.count("/") == 4 else ():
                found.setdefault(_kind(scale, run, same), []).append((scale, run))
        return found


def _kind(scale: str, run: str, same: tuple[int, ...]) -> Kind:
    """What runs share that are alike: scale, paper, experiment and these of method, setting and seed."""
    words = run.split("/")
    return scale, same, *(words[i] for i in (0, 1, *same))


def past(root: Path = ROOT) -> Past:
    """Read every record that this checkout has; a broken one teaches nothing and is left alone."""
    seconds: dict[tuple[str, str], float] = {}
    size: dict[tuple[str, str], int] = {}
    for path in sorted((root / "published").glob("*/*/*/*.provenance.json")):
        for run in _json(path).get("runs", []):
            if _timed(run):
                seconds[path.parts[-4], run["run"]] = run["seconds"]
                if isinstance(run.get("bytes"), int):
                    size[path.parts[-4], run["run"]] = run["bytes"]
    for scale in SCALES:
        base = Layout(scale, root).results / "runs"
        for path in base.glob("*/*/*/*/s*/run.json"):
            if found := _took(path):
                run = scale, path.parent.relative_to(base).as_posix()
                seconds[run], size[run] = found
    return Past(seconds, size)


def _took(path: Path) -> tuple[float, int] | None:
    """Seconds and bytes of the run with this record."""
    record = _json(path)
    if not _timed(record):
        return None
    return record["seconds"], sum(f.stat().st_size for f in path.parent.iterdir() if f.is_file())


def underway(before: Past, ended: Iterable[RunSpec], layout: Layout) -> Past:
    """What is expected while a campaign goes: the past, at the pace of the runs that ended in it.

    The past was measured on other machines, or on one that was busy. Runs of a kind that it knows nothing of
    are told by those that ended, as they are.
    """
    seconds: dict[tuple[str, str], float] = {}
    size: dict[tuple[str, str], int] = {}
    took, expected = CALM, CALM
    for spec in ended:
        found = _took(layout.run_folder(spec.id) / "run.json")
        if found is None:
            continue
        run = spec.scale, spec.id
        here, size[run] = found
        known, _ = before.expect(spec)
        if known is None:
            seconds[run] = here
        else:
            took, expected = took + here, expected + known
    pace = took / expected
    return Past({k: s * pace for k, s in before.seconds.items()} | seconds, before.size | size)


def _timed(run: Any) -> bool:
    return (
        isinstance(run, dict)
        and isinstance(run.get("run"), str)
        and isinstance(run.get("seconds"), int | float)
    )


def _json(path: Path) -> dict:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


@dataclass(frozen=True)
class Forecast:
    """Runs that are there and missing (a stale record is missing), and what the missing ones will take."""

    present: int
    missing: int
    seconds: float
    size: int
    unknown: int  # missing runs whose like was never run
    unsized: int

    @property
    def time_text(self) -> str:
        return _partly(duration(self.seconds), self.unknown, self.missing)

    @property
    def disk_text(self) -> str:
        return _partly(bytes_text(self.size), self.unsized, self.missing)


def _partly(known: str, unknown: int, missing: int) -> str:
    """`4 min`, `4 min + 3?`, or `?` where nothing is known."""
    return known if not unknown else "?" if unknown == missing else f"{known} + {unknown}?"


def forecast(runs: Iterable[RunSpec], layout: Layout, known: Past) -> Forecast:
    present = missing = unknown = unsized = 0
    seconds, size = 0.0, 0
    for spec in runs:
        if is_there(spec, layout):
            present += 1
            continue
        missing += 1
        expected, bytes_ = known.expect(spec)
        unknown += expected is None
        unsized += bytes_ is None
        seconds += expected or 0.0
        size += bytes_ or 0
    return Forecast(present, missing, seconds, size, unknown, unsized)


def duration(seconds: float) -> str:
    """3 s, 4 min, 2 h 05 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def bytes_text(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"
