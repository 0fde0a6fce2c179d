"""One campaign at a time, broken records told and set aside, and a display that keeps what matters."""

import io
import logging
import os
import signal
import subprocess
import sys
import time

import pytest
import tiny
from snakemake_interface_logger_plugins.common import LogEvent

from harness import campaign, experiments
from harness.campaign import Display, hold
from harness.errors import HarnessError
from harness.files import ROOT
from harness.layout import Layout

HOLDER = """
import subprocess, sys
from pathlib import Path
from harness.campaign import hold
from harness.layout import Layout
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
        ("--list-rules", False),
        ("--print-compilation", False),
        ("--report x.html", False),
        ("--unlock", False),
    ],
)
def test_only_a_call_that_runs_jobs_is_a_campaign(words, asked):
    assert campaign.is_asked_for(words.split()) is asked


def test_broken_records_are_told(tmp_path, capsys):
    root = tiny.project(tmp_path)
    layout = tiny.run_all(root)
    runs = experiments.all_runs("smoke", root)
    campaign.set_broken_aside(runs, layout)
    assert capsys.readouterr().err == ""
    path = layout.run_folder(runs[4].id) / "run.json"
    path.write_text(path.read_text()[:-40])
    campaign.set_broken_aside(runs, layout)
    told = capsys.readouterr().err
    assert told.startswith(f"refused: {path} is cut short") and told.count("\n") == 1
    assert not path.exists() and path.with_name("run.json.refused").exists()


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


def event(level, text, **extra) -> logging.LogRecord:
    record = logging.LogRecord("snakemake.logging", level, __file__, 1, text, None, None)
    vars(record).update(extra)
    return record


def test_it_drops_chatter_and_keeps_errors(display):
    chatter = [
        event(logging.INFO, None, event=LogEvent.PROGRESS, done=3, total=9),
        event(logging.INFO, "Select jobs to execute...", event=LogEvent.JOB_STARTED),
        event(logging.INFO, "no event at all"),
        event(logging.ERROR, "RuleException:\nCalledProcessError in file runs.smk, line 26"),
    ]
    kept = [
        event(logging.ERROR, "MissingOutputException in rule run"),
        event(logging.WARNING, "something to know"),
        event(logging.CRITICAL, "WorkflowError"),
    ]
    assert all(display.filter(record) for record in chatter + kept)  # before it has started, all is shown
    display.start()
    assert not any(display.filter(record) for record in chatter)
    assert all(display.filter(record) for record in kept)
    assert display.jobs == (3, 9)
    display.stop()
    assert all(display.filter(record) for record in chatter + kept)


def test_it_ends_with_a_line_and_the_failed_commands(display, tmp_path):
    log = tmp_path / "run.log"
    log.write_text("a warning\nharness: some/run: size is 'x': write a value of type int\n")
    command = "python -m harness run mini/noise/strong/low/s0 --scale smoke > run.log 2>&1"
    failed = {"event": LogEvent.JOB_ERROR, "rule_name": "run", "log": [str(log)], "shellcmd": command}
    display.start()
    display.filter(event(logging.INFO, None, event=LogEvent.PROGRESS, done=11, total=14))
    display.filter(event(logging.ERROR, "Error in rule run", **failed))
    no_command = {**failed, "rule_name": "report", "log": [], "shellcmd": None}
    display.filter(event(logging.ERROR, "Error in rule report", **no_command))
    display.stop()
    text = display.stream.getvalue()
    assert text.startswith("smoke ██████████████████████░░ 11/12 runs, about ") and "job 11/14" in text
    assert "size is 'x': write a value of type int" in text
    assert "python -m harness run mini/noise/strong/low/s0 --scale smoke" in text
    assert "a warning" not in text and "report" in text and "\r" not in text


def test_on_a_terminal_it_redraws_one_line(display, monkeypatch):
    monkeypatch.setattr(display, "live", True)
    monkeypatch.setattr(Terminal, "fileno", lambda self: 2)
    monkeypatch.setattr(os, "get_terminal_size", lambda _fd: os.terminal_size((40, 10)))
    display.start()
    time.sleep(1.2)
    display.stop()
    drawn = display.stream.getvalue().split("\r\033[K")[1:]
    assert len(drawn) >= 2 and all(len(line.rstrip("\n")) <= 39 for line in drawn)
    assert display.stream.getvalue().count("\n") == 1  # the last one
    assert not display.thread.is_alive()


def test_it_listens_to_snakemake(display):
    logger = logging.getLogger("snakemake.logging")
    attached = campaign.attach(display.runs, display.layout, 2)
    try:
        logger.info(None, extra={"event": LogEvent.PROGRESS, "done": 1, "total": 2})
        logger.setLevel(logging.INFO)
        logger.info(None, extra={"event": LogEvent.PROGRESS, "done": 2, "total": 2})
        assert attached.jobs == (2, 2)
    finally:
        logger.removeFilter(attached)
        logger.setLevel(logging.NOTSET)
