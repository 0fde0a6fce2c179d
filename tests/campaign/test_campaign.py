"""One campaign at a time, broken records told and set aside, and a display that keeps what matters."""

import io
import logging
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
import tiny
from snakemake_interface_logger_plugins.common import LogEvent

from harness.base.errors import INTERRUPTED, HarnessError
from harness.base.files import ROOT
from harness.base.layout import Layout
from harness.campaign import campaign
from harness.campaign.campaign import Display, hold
from harness.spec import experiments

HOLDER = """
import subprocess, sys
from pathlib import Path
from harness.campaign.campaign import hold
from harness.base.layout import Layout
hold(Layout("smoke", Path(sys.argv[1])))
child = subprocess.Popen(["sleep", "60"])  # a job of the campaign: it must not keep the lock alive
print(child.pid, flush=True)
input()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock, and has started a job."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    child = int(process.stdout.readline())
    yield process
    os.kill(child, signal.SIGKILL)
    process.kill()
    process.communicate()


def test_a_second_campaign_is_refused_and_kill_9_releases(holder, tmp_path):
    layout = Layout("smoke", tmp_path)
    with pytest.raises(
        HarnessError, match=rf"another campaign \(process {holder.pid}\) works in {layout.results}"
    ):
        hold(layout)
    hold(Layout("cpu", tmp_path))  # another scale is another folder
    holder.kill()
    holder.wait()
    hold(layout)
    assert (layout.results / ".campaign").read_text() == str(os.getpid())
    with pytest.raises(HarnessError, match=rf"process {os.getpid()}\)"):
        hold(layout)


@pytest.mark.parametrize(
    "words, asked",
    [
        ("all", True),
        ("all --printshellcmds", True),
        ("all -p --config scale=cpu", True),
        ("all --dry-run", False),
        ("-n", False),
        ("-pn all", False),
        ("--nolock -pF all", True),
        ("--list-rules", False),
        ("--print-compilation", False),
        ("--report x.html", False),
        ("--report-after-run --config scale=cpu", True),
        ("--unlock", False),
    ],
)
def test_only_a_call_that_runs_jobs_is_a_campaign(words, asked):
    assert campaign.is_asked_for(words.split()) is asked


class Terminal(io.StringIO):
    """A stream that remembers."""


@pytest.fixture
def display(tmp_path):
    root = tiny.project(tmp_path)
    layout = tiny.run_all(root)
    runs = experiments.all_runs("smoke", root)
    (layout.run_folder(runs[0].id) / "run.json").unlink()
    made = Display(runs, layout, 2, Terminal())
    yield made
    made.stopped.set()


def dag(display, asked=None, again=(0,)):
    """What Snakemake plans: jobs of a command's runs, of which `again` are run, and a table."""
    runs = display.runs if asked is None else [display.runs[i] for i in asked]
    jobs = [
        SimpleNamespace(jobid=i, rule=SimpleNamespace(name="run"), wildcards=SimpleNamespace(run=run.id))
        for i, run in enumerate(runs)
    ]
    table = SimpleNamespace(jobid=99, rule=SimpleNamespace(name="make_mini_table_1"), wildcards=())
    needed, finished = [*(jobs[i] for i in again), table], set()
    return SimpleNamespace(
        jobs=[*jobs, table],
        done=finished,
        finished=lambda job: job.jobid in finished,
        needrun_jobs=lambda: iter(needed),
    )


def last(display) -> str:
    display._draw(end="\n")
    return display.stream.getvalue().splitlines()[-1]


def test_only_the_runs_of_this_command_count(display):
    """Twelve runs are in the project; four are asked for, one of them is missing."""
    plan = dag(display, asked=(0, 1, 2, 3))
    missing = display.layout.run_folder(display.runs[0].id) / "run.json"
    display.start(plan)
    assert "░ 3/4 runs, about " in last(display) and ", 0/2 jobs, " in last(display)
    missing.write_text("{}")
    plan.done.add(0)
    assert "█ 4/4 runs, tables and figures left, 1/2 jobs, " in last(display)
    plan.done.add(99)
    assert "█ 4/4 runs, complete, 2/2 jobs, " in last(display)


def test_a_record_that_is_made_again_counts_once_it_is_another(display):
    """Its code has changed: Snakemake plans a job for it, though its record is there."""
    record = display.layout.run_folder(display.runs[1].id) / "run.json"
    display.start(dag(display, asked=(1, 2), again=(0,)))
    assert " 1/2 runs, about " in last(display)
    text = record.read_text()
    record.unlink()
    assert " 1/2 runs, about " in last(display)
    record.write_text(text)
    assert " 2/2 runs, " in last(display)


def test_the_first_run_that_ends_tells_how_long_runs_like_it_take(display):
    """Once a new experiment of hours kept saying that its runs were never timed before."""
    records = [display.layout.run_folder(run.id) / "run.json" for run in display.runs]
    texts = [record.read_text() if record.is_file() else "" for record in records]
    for record in records:
        record.unlink(missing_ok=True)
    display.start(dag(display, again=range(12)))
    assert " 0/12 runs, 12 runs never timed before left, " in last(display)
    records[1].write_text(texts[1])
    assert " 1/12 runs, about " in last(display) and "never timed" not in last(display)


def test_a_job_that_has_not_told_how_far_it_is_is_named_while_it_works(display):
    plan = dag(display, asked=(0, 1))
    display.start(plan)
    assert " | " not in last(display)
    display.filter(event(logging.INFO, "Execute 2 jobs...", event=LogEvent.JOB_STARTED, jobs=[0, 99]))
    assert last(display).endswith(f" gone | {display.runs[0].id} (+1)")
    plan.done.add(0)
    assert last(display).endswith(" gone | make_mini_table_1")
    failed = {"rule_name": "make_mini_table_1", "log": [], "shellcmd": None, "jobid": 99}
    display.filter(event(logging.ERROR, "Error in rule", event=LogEvent.JOB_ERROR, **failed))
    assert " | " not in last(display)
    assert ", 1/2 jobs, 1 failed, " in last(display)  # once two dead runs of hours were told at the end only


def test_an_interrupt_says_how_to_go_on_and_nothing_of_jobs_that_it_stopped(display):
    display.start(dag(display))
    told = "Terminating processes on user request, this might take some time."
    display.filter(event(logging.INFO, told))
    failed = {"rule_name": "run", "log": [], "shellcmd": "python -m harness run mini", "jobid": 0}
    display.filter(event(logging.ERROR, "Error in rule", event=LogEvent.JOB_ERROR, **failed))
    display.stop()
    said = display.stream.getvalue()
    assert said.endswith(f"\nsnakemake: {INTERRUPTED}\n")
    assert "failed" not in said and "again:" not in said
    end = "WorkflowError:\nAt least one job did not complete successfully."
    assert not display.filter(event(logging.CRITICAL, end))


def event(level, text, **extra) -> logging.LogRecord:
    record = logging.LogRecord("snakemake.logging", level, __file__, 1, text, None, None)
    vars(record).update(extra)
    return record


def test_it_drops_chatter_and_keeps_errors(display):
    chatter = [
        event(logging.INFO, None, event=LogEvent.PROGRESS, done=3, total=9),
        event(logging.INFO, "Execute 1 jobs...", event=LogEvent.JOB_STARTED, jobs=[0]),
        event(logging.INFO, "no event at all"),
        event(logging.ERROR, "RuleException:\nCalledProcessError in file runs.smk, line 26"),
    ]
    kept = [
        event(logging.ERROR, "MissingOutputException in rule run"),
        event(logging.WARNING, "something to know"),
        event(logging.CRITICAL, "WorkflowError"),
    ]
    assert all(display.filter(record) for record in chatter + kept)  # before it has started, all is shown
    display.start(dag(display))
    assert not any(display.filter(record) for record in chatter)
    assert all(display.filter(record) for record in kept)
    display.stop()
    assert all(display.filter(record) for record in chatter + kept)


def test_it_ends_with_a_line_and_the_failed_commands(display, tmp_path):
    log = tmp_path / "run.log"
    log.write_text("a warning\nharness: some/run: size is 'x': write a value of type int\n")
    command = "python -m harness run mini/noise/strong/low/s0 --scale smoke > run.log 2>&1"
    failed = {"event": LogEvent.JOB_ERROR, "rule_name": "run", "log": [str(log)], "shellcmd": command}
    display.start(dag(display))
    display.filter(event(logging.ERROR, "Error in rule run", **failed))
    no_command = {**failed, "rule_name": "report", "log": [], "shellcmd": None}
    display.filter(event(logging.ERROR, "Error in rule report", **no_command))
    display.stop()
    text = display.stream.getvalue()
    assert text.startswith("smoke ██████████████████████░░ 11/12 runs, about ") and ", 0/2 jobs, " in text
    assert "size is 'x': write a value of type int" in text
    assert "python -m harness run mini/noise/strong/low/s0 --scale smoke" in text
    assert "a warning" not in text and "report" in text and "\r" not in text


@pytest.mark.parametrize("free", [0, 1 << 40])
def test_a_job_that_a_full_disk_has_silenced(display, tmp_path, monkeypatch, free):
    """Its log is on that disk too."""
    (log := tmp_path / "run.log").touch()
    monkeypatch.setattr(campaign.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    failed = {"event": LogEvent.JOB_ERROR, "rule_name": "run", "log": [str(log)], "shellcmd": "some command"}
    display.filter(event(logging.ERROR, "Error in rule run", **failed))
    said = f"there is no room on the disk of {tmp_path}" if not free else "without a word"
    assert display.failed[0].startswith(f"failed: {said}")


def test_on_a_terminal_it_redraws_one_line(display, monkeypatch):
    monkeypatch.setattr(display, "live", True)
    monkeypatch.setattr(Terminal, "fileno", lambda self: 2)
    monkeypatch.setattr(os, "get_terminal_size", lambda _fd: os.terminal_size((40, 10)))
    wait = display.stopped.wait
    monkeypatch.setattr(display.stopped, "wait", lambda _seconds: wait(0.02))
    display.start(dag(display))
    end = time.monotonic() + 20
    while display.stream.getvalue().count("\r\033[K") < 4 and time.monotonic() < end:
        time.sleep(0.02)
    display.stop()
    drawn = display.stream.getvalue().split("\r\033[K")[1:]
    assert len(drawn) >= 5 and all(len(line.rstrip("\n")) <= 39 for line in drawn)
    assert display.stream.getvalue().count("\n") == 1  # the last one
    assert not display.thread.is_alive()


def test_it_listens_to_snakemake(display):
    logger = logging.getLogger("snakemake.logging")
    attached = campaign.attach(display.runs, display.layout, 2, ())
    try:
        begun = {"event": LogEvent.JOB_STARTED, "jobs": [99]}
        attached.jobs = tuple(dag(attached).needrun_jobs())
        logger.info("Execute 1 jobs...", extra=begun)  # below the level: nobody hears it
        assert not attached.at_work
        logger.setLevel(logging.INFO)
        logger.info("Execute 1 jobs...", extra=begun)
        assert list(attached.at_work) == [99]
    finally:
        logger.removeFilter(attached)
        logger.setLevel(logging.NOTSET)
