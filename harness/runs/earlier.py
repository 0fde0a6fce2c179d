"""Records of other code, configs, threads or data: set aside if they do not count today, back when they do.

Whoever goes back to an earlier commit, or vouches for a later one, finds the hours of before again.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from harness.base.errors import HarnessError
from harness.base.files import at_work
from harness.base.layout import Layout
from harness.runs.record import read_record, refuse_broken
from harness.runs.stale import why_stale
from harness.spec.experiments import RunSpec

KEPT = 3  # of a run


def tidy(specs: Sequence[RunSpec], layout: Layout) -> None:
    """Before a campaign plans: at the place of each run stands a record that counts, or none.

    Broken ones are named and renamed; Snakemake finds them missing and runs them again.
    """
    for line in refuse_broken([layout.run_folder(spec.id) for spec in specs]):
        print(f"refused: {line}", file=sys.stderr)
    for spec in specs:
        set_aside(spec, layout)
        bring_back(spec, layout)


def set_aside(spec: RunSpec, layout: Layout) -> None:
    """A whole record that does not count today leaves its place for one that will."""
    folder = layout.run_folder(spec.id)
    try:
        record = read_record(folder, tables=False)
    except HarnessError:
        return
    if why_stale(spec, record, layout):
        place = _shelf(spec, layout) / record["digest"][:16]
        place.parent.mkdir(parents=True, exist_ok=True)
        with at_work(folder):
            shutil.rmtree(place, ignore_errors=True)  # the same record, brought back before
            folder.rename(place)
        for old in _newest_first(place.parent)[KEPT:]:
            shutil.rmtree(old)


def bring_back(spec: RunSpec, layout: Layout) -> None:
    """The latest earlier record that counts today, if the run has none."""
    shelf, folder = _shelf(spec, layout), layout.run_folder(spec.id)
    if not shelf.is_dir() or (folder / "run.json").exists():
        return
    for place in _newest_first(shelf):
        with suppress(HarnessError):  # a damaged one stays where it is
            if not why_stale(spec, read_record(place), layout):
                folder.mkdir(parents=True, exist_ok=True)
                with at_work(folder):
                    shutil.rmtree(folder)
                    place.rename(folder)
                os.utime(folder / "run.json")  # what was made since of another record is older than it
                return


def _shelf(spec: RunSpec, layout: Layout) -> Path:
    return layout.results / "earlier" / spec.id


def _newest_first(shelf: Path) -> list[Path]:
    return sorted(shelf.iterdir(), key=lambda place: place.stat().st_mtime, reverse=True)
