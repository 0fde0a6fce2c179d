"""kill -9 at twenty moments of the whole campaign at scale smoke: its cells are those of an undisturbed one.

It takes as long as three such campaigns, and what the registries have: asked for by NAS_FULL_TESTS=1.
"""

import csv
import json
import os
import random
import time
from pathlib import Path

import pytest
from campaigns import copy, kill, records, start, wait

from harness.base.files import cache_dir
from harness.spec import artefacts

KILLS = 20
CACHE = str(cache_dir())


def run(root: Path) -> float:
    """Everything until it ends; the seconds it took."""
    begun = time.monotonic()
    process = start(root, NAS_CACHE=CACHE)
    said, _ = process.communicate(timeout=3600)
    assert process.returncode == 0, said
    return time.monotonic() - begun


def cells(root: Path) -> dict[str, list[dict[str, str]]]:
    """The rows of every cell file, without what a clock measured."""
    base, found = root / "results" / "smoke", {}
    for artefact in artefacts.artefacts():
        path = base / f"{artefact.kind}s" / f"{artefact.name}.cells.csv"
        clocks = {(c.row, c.column) for c in artefact.cells if c.select.get("clock")}
        with path.open(newline="") as file:
            rows = [r for r in csv.DictReader(file) if (r["row"], r["column"]) not in clocks]
        found[artefact.name] = rows
    return found


@pytest.mark.skipif(not os.environ.get("NAS_FULL_TESTS"), reason="asked for by NAS_FULL_TESTS=1: 20 minutes")
def test_killed_twenty_times_everything_is_as_if_undisturbed(tmp_path):
    done, root = copy(tmp_path / "done"), copy(tmp_path / "killed")
    took = run(done)
    everything, chance, stopped = len(records(done)), random.Random(7), []
    # By what is done and not by the clock, which goes at another pace where other work begins or ends.
    for enough in sorted(chance.sample(range(everything - 5), KILLS)):
        process = start(root, NAS_CACHE=CACHE)
        wait(lambda enough=enough: len(records(root)) >= enough, process, seconds=3600)
        time.sleep(chance.uniform(0, 3))
        assert process.poll() is None, f"it ended before it was killed {KILLS} times: {stopped}"
        kill(process)
        stopped.append(len(records(root)))
    run(root)
    print(f"an undisturbed campaign took {took:.0f} s; records at each kill: {stopped}")
    assert records(root).keys() == records(done).keys()
    ours, theirs = cells(root), cells(done)
    assert [name for name in theirs if ours[name] != theirs[name]] == []
    for name, path in records(root).items():
        a, b = (json.loads(p.read_text()) for p in (path, records(done)[name]))
        assert (a["config"], a["code"], a["status"]) == (b["config"], b["code"], b["status"]), name
