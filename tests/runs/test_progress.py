"""What a run tells of itself while it is at work."""

import json
import os

from harness.runs import record
from harness.spec import experiments


def a_run(folder) -> record.Run:
    folder.mkdir(exist_ok=True)
    spec = experiments.RunSpec("mini", "noise", "strong", "low", 0, "smoke", {}, {}, "reproduce.mini.noise")
    return record.Run(spec, folder)


def test_progress_is_cheap_and_the_last_step_is_always_told(tmp_path):
    run = a_run(tmp_path)
    told = tmp_path / "progress.json"
    run.progress(1, 10, "epoch")
    first = told.stat().st_mtime_ns
    for step in range(2, 10):
        run.progress(step, 10, "epoch")
    assert told.stat().st_mtime_ns == first
    run.progress(10, 10, "epoch")
    state = json.loads(told.read_text())
    assert (state["step"], state["total"], state["unit"], state["pid"]) == (10, 10, "epoch", os.getpid())


def test_the_rate_of_a_part_counts_neither_the_part_before_nor_what_an_earlier_process_did(
    tmp_path, monkeypatch
):
    """The display told 2 min for each of 64 architectures, because the training before them took 2 min."""
    clock = iter([0.0, 100.0, 200.0, 205.0, 210.0])
    monkeypatch.setattr(record.time, "time", lambda: next(clock))
    run = a_run(tmp_path)
    told = []
    for step, total, unit in (
        (900, 1000, "step"),
        (1000, 1000, "step"),
        (1, 64, "scored"),
        (2, 64, "scored"),
    ):
        run.progress(step, total, unit)
        told.append(json.loads((tmp_path / "progress.json").read_text()))
    assert [(state["from"], state["started"]) for state in told] == [
        (900, 100),
        (900, 100),
        (0, 200),
        (0, 200),
    ]


def test_a_clock_that_is_set_back_does_not_silence_a_run(tmp_path, monkeypatch):
    """Once it told nothing until the clock was where it had been: for three days."""
    clock = iter([0.0, 300_000.0, 10.0])
    monkeypatch.setattr(record.time, "time", lambda: next(clock))
    run = a_run(tmp_path)
    for step in (1, 2):
        run.progress(step, 64, "epoch")
    assert json.loads((tmp_path / "progress.json").read_text())["step"] == 2
