"""A run once more, elsewhere: does it leave the same numbers as its record?

A record is as good as the code, the data and the truths behind it were on its day. An edit of what carries
numbers, a split drawn anew or a store with other values shows here, whatever no hash covers.
"""

import csv
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import Layout
from harness.bench.carried import alike
from harness.runs.execute import execute
from harness.runs.record import machine, read_record
from harness.spec.artefacts import artefacts, needed_runs
from harness.spec.experiments import RunSpec, find_run

CLOCK = "seconds"  # the column of tables in which runs leave measured times
AFFORDABLE = 30.0  # seconds that a run took: `check` runs no longer one again


def chosen(layout: Layout, root: Path = ROOT) -> list[RunSpec]:
    """Of every experiment, and all that its runs ask of truths, the run that was quickest.

    Where one was made on this processor and is short.
    """
    quickest: dict[tuple[str, str, str], tuple[float, RunSpec]] = {}
    for spec in needed_runs(layout.scale, root):
        try:
            record = read_record(layout.run_folder(spec.id), tables=False)
        except HarnessError:
            continue  # `check` tells of it
        took, key = record["seconds"], (spec.paper, spec.experiment, str(record["truths"]))
        here = record["machine"]["processor"] == machine()["processor"]
        if here and took <= AFFORDABLE and took < quickest.get(key, (AFFORDABLE + 1, spec))[0]:
            quickest[key] = (took, spec)
    return [spec for _, spec in quickest.values()]


def passed_over(again: Iterable[RunSpec], layout: Layout, root: Path = ROOT) -> list[str]:
    """The experiments of which none is run again."""
    every, some = (
        {f"{run.paper}/{run.experiment}" for run in runs} for runs in (needed_runs(layout.scale, root), again)
    )
    return sorted(every - some)


def replayed(specs: Iterable[RunSpec], layout: Layout) -> Iterator[str]:
    """In a process of its own, as a campaign runs them: a line for each run that came out otherwise."""
    names = [spec.id for spec in specs]
    if not names:
        return
    command = [sys.executable, "-m", "harness", "replay", *names, "--scale", layout.scale]
    done = subprocess.run(
        command, cwd=layout.root, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True
    )
    if done.returncode and (not done.stdout or "Traceback" in done.stderr):
        raise HarnessError(f"runs could not be run again: {done.stderr.strip()[-500:]}")
    yield from done.stdout.splitlines()


def differences(run: str, layout: Layout, root: Path = ROOT) -> list[str]:
    """What a run leaves otherwise than its record says, measured times left out."""
    spec = find_run(run, layout.scale, root)
    then = read_record(layout.run_folder(run))
    with TemporaryDirectory() as folder:
        apart = Layout(layout.scale, layout.root, Path(folder))
        execute(spec, apart, threads=then["threads"])
        now = read_record(apart.run_folder(run))
        found = [
            f"{key} was {then[key]!r} and is {now[key]!r}"
            for key, same in (("status", str), ("truths", alike))
            if same(then[key]) != same(now[key])
        ]
        timed = _timed(spec, root)
        found += _of_metrics(then["metrics"], now["metrics"], timed)
        for table in sorted(then["tables"].keys() | now["tables"].keys()):
            if table.removesuffix(".csv") not in timed and then["tables"].get(table) != now["tables"].get(
                table
            ):
                places = (base.run_folder(run) / table for base in (layout, apart))
                found += filter(None, [_of_table(table, *places)])
    return found


def _timed(spec: RunSpec, root: Path) -> set[str]:
    """The metrics and tables of this experiment in which cells read a clock."""
    selects = [cell.select for a in artefacts(root) if a.paper == spec.paper for cell in a.cells]
    mine = [s for s in selects if s.get("experiment") == spec.experiment and s.get("clock")]
    return {str(select.get("table", select.get("metric"))) for select in mine}


def _of_metrics(then: list[dict[str, Any]], now: list[dict[str, Any]], timed: set[str]) -> Iterator[str]:
    old, new = ({m["name"]: m["value"] for m in metrics} for metrics in (then, now))
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in timed and repr(old.get(name)) != repr(new.get(name)):
            yield f"metric {name} was {old.get(name)} and is {new.get(name)}"


def _of_table(name: str, before: Path, after: Path) -> str:
    """The first line that differs."""
    if not (before.is_file() and after.is_file()):
        return f"table {name} is {'new' if after.is_file() else 'gone'}"
    old, new = (list(csv.DictReader(path.open(encoding="utf-8"))) for path in (before, after))
    for line, (was, now) in enumerate(zip(old, new, strict=False), 2):
        for column in was:
            if column != CLOCK and was[column] != now.get(column):
                return f"{name}, line {line}: {column} was {was[column]} and is {now.get(column)}"
    return f"{name} had {len(old)} lines and has {len(new)}" if len(old) != len(new) else ""
