"""How far a campaign is: what lives, how fast it goes, when it ends."""

import json
import os
import subprocess
import sys
import time

import pytest
import tiny

from harness.base.layout import Layout
from harness.campaign import status
from harness.campaign.status import Running, Status
from harness.cli import commands
from harness.runs.forecast import Past
from harness.spec.experiments import RunSpec

RUNS = [RunSpec("p", "e", "m", "s", seed, "smoke", {}, {}, "") for seed in range(4)]


@pytest.fixture
def layout(tmp_path):
    return Layout("smoke", tmp_path)


def progress(layout, run, **state):
    full = {
        "step": 30,
        "total": 90,
        "unit": "epoch",
        "from": 0,
        "started": time.time() - 60,
        "pid": os.getpid(),
        **state,
    }
    tiny.write(layout.root, f"results/smoke/runs/{run.id}/progress.json", json.dumps(full))


def past(seconds) -> Past:
    return Past({("smoke", run.id): seconds for run in RUNS}, {})


def done(layout, run):
    tiny.write(layout.root, f"results/smoke/runs/{run.id}/run.json", "{}")


def test_done_running_left(layout):
    done(layout, RUNS[0])
    progress(layout, RUNS[1])
    found = status.read(RUNS, layout, past(100.0))
    assert (found.done, len(found.running), found.left, found.total) == (1, 1, 2, 4)
    (running,) = found.running
    assert running.run == RUNS[1].id and running.rate == pytest.approx(0.5, rel=0.01)
    assert running.left(None) == pytest.approx(120, rel=0.01)
    assert found.seconds == pytest.approx(120 + 2 * 100, rel=0.01) and found.unknown == 0
    assert found.end(1) == "about 5 min left" and found.end(2) == "about 3 min left"
    assert str(running) == f"{RUNS[1].id}  epoch 30/90, 2 s each"


def test_what_was_done_before_is_no_part_of_the_rate(layout):
    progress(layout, RUNS[0], **{"from": 24})
    (running,) = status.read(RUNS[:1], layout, past(100.0)).running
    assert running.rate == pytest.approx(0.1, rel=0.01) and running.left(None) == pytest.approx(600, rel=0.01)
    progress(layout, RUNS[0], **{"from": 30})
    (running,) = status.read(RUNS[:1], layout, past(100.0)).running
    assert running.left(100.0) == pytest.approx(40, rel=0.01) and str(running).endswith("30/90, starting")


def test_a_finished_run_is_not_running(layout):
    done(layout, RUNS[0])
    progress(layout, RUNS[0])
    assert status.read(RUNS[:1], layout, past(1.0)).running == ()


def test_what_a_killed_run_left_behind_does_not_count(layout):
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    progress(layout, RUNS[0], pid=process.pid)
    assert len(status.read(RUNS, layout, past(1.0)).running) == 1
    process.kill()
    process.communicate()
    found = status.read(RUNS, layout, past(10.0))
    assert found.running == () and found.left == 4 and found.seconds == 40


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        "{}",
        '{"pid": null}',
        '{"pid": "x"}',
        '{"pid": MINE}',
        f'{{"pid": {10**30}}}',
    ],
)
def test_a_broken_progress_file_does_not_count(layout, text):
    text = text.replace("MINE", str(os.getpid()))
    tiny.write(layout.root, f"results/smoke/runs/{RUNS[0].id}/progress.json", text)
    assert status.read(RUNS, layout, past(1.0)).running == ()


def test_before_its_first_step_a_run_is_expected_by_past_records():
    young = Running("r", 0, 10, "epoch", 4.0)
    assert young.left(10.0) == 6.0 and young.left(2.0) == 0.0 and young.left(None) is None
    assert str(young) == "r  epoch 0/10, starting"
    assert Running("r", 100, 200, "repeat", 4.0).left(1e6) == 4.0
    assert str(Running("r", 100, 200, "repeat", 4.0)) == "r  repeat 100/200, 25.0/s"


def test_what_nobody_has_timed_is_said(layout):
    progress(layout, RUNS[0], step=0)
    found = status.read(RUNS, layout, Past({}, {}))
    assert found.unknown == 4 and found.end(2) == "4 runs never timed before left"


def test_bar_and_end():
    assert Status(0, (), 4, 0.0, 0).bar(8) == "░" * 8
    assert Status(1, (), 3, 0.0, 0).bar(8) == "██░░░░░░"
    assert Status(4, (), 0, 0.0, 0).bar(8) == "█" * 8
    assert Status(0, (), 0, 0.0, 0).bar(8) == "█" * 8
    assert Status(4, (), 0, 0.0, 0).end(2) == "complete"
    assert Status(3, (), 1, 60.0, 0).end(0) == "about 60 s left"
    assert Status(1, (), 3, 60.0, 1).end(1) == "about 60 s left + 1 run never timed before"
    assert Status(4, (), 0, 0.0, 0, jobs=3).end(2) == "tables and figures left"


def test_a_record_that_will_be_made_again_is_not_done(layout):
    done(layout, RUNS[0])
    done(layout, RUNS[1])
    old = status.stamps(RUNS[:1], layout)
    assert list(old) == [RUNS[0].id]
    found = status.read(RUNS, layout, past(100.0), old)
    assert (found.done, found.left) == (1, 3)
    assert status.read(RUNS, layout, past(100.0), {RUNS[0].id: old[RUNS[0].id] - 1}).done == 2


def test_the_text(layout):
    done(layout, RUNS[0])
    progress(layout, RUNS[1])
    head, *rest = status.lines(status.read(RUNS, layout, past(100.0)), "smoke", 2)
    assert head == f"smoke {'█' * 6}{'░' * 18} 1/4 runs, about 3 min left"
    assert len(rest) == 1 and rest[0].startswith(f"  {RUNS[1].id}")


def test_records_of_older_code_are_not_done(layout, monkeypatch, capsys):
    """`status` once said `complete` where `plan` counted every run as missing."""
    monkeypatch.setattr(commands, "Layout", lambda scale: layout)
    monkeypatch.setattr(commands, "is_there", lambda run, layout: run is RUNS[0])
    monkeypatch.setattr(commands.artefacts, "needed_runs", lambda scale: RUNS)
    for run in RUNS:
        done(layout, run)
    with pytest.raises(SystemExit, match="0"):
        commands.main(["status", "--once"])
    assert "1/4 runs" in capsys.readouterr().out
