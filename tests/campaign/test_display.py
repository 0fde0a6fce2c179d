"""The display of a campaign keeps what matters and drops chatter."""

import io
import logging
import os
import threading
import time
from types import SimpleNamespace

import pytest
import tiny
import yaml
from snakemake.logging import LoggerManager
from snakemake.settings.enums import Quietness
from snakemake.settings.types import OutputSettings
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

from harness.base.errors import INTERRUPTED
from harness.base.files import ROOT
from harness.campaign import campaign
from harness.campaign.campaign import Display
from harness.spec import experiments


def event(level, text, **extra) -> logging.LogRecord:
    record = logging.LogRecord("snakemake.logging", level, __file__, 1, text, None, None)
    vars(record).update(extra)
    return record


class Terminal(io.StringIO):
    """A stream that remembers."""


@pytest.fixture
def place(tmp_path):
    """Twelve runs of a project, of which the first is missing."""
    root = tiny.project(tmp_path)
    layout = tiny.run_all(root)
    runs, made = experiments.all_runs("smoke", root), []
    (layout.run_folder(runs[0].id) / "run.json").unlink()

    def begin(plan) -> Display:
        made.append(Display(plan, runs, layout, 2, Terminal()))
        return made[-1]

    yield SimpleNamespace(runs=runs, layout=layout, begin=begin)
    for display in made:
        display.stopped.set()


def dag(place, asked=None, again=(0,)):
    """What Snakemake plans: jobs of a command's runs, of which `again` are run, and a table."""
    runs = place.runs if asked is None else [place.runs[i] for i in asked]
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


def test_only_the_runs_of_this_command_count(place):
    """Twelve runs are in the project; four are asked for, one of them is missing."""
    plan = dag(place, asked=(0, 1, 2, 3))
    missing = place.layout.run_folder(place.runs[0].id) / "run.json"
    display = place.begin(plan)
    assert "░ 3/4 runs, about " in last(display) and ", 0/2 jobs, " in last(display)
    missing.write_text("{}")
    plan.done.add(0)
    assert "█ 4/4 runs, tables and figures left, 1/2 jobs, " in last(display)
    plan.done.add(99)
    assert "█ 4/4 runs, complete, 2/2 jobs, " in last(display)


def test_a_record_that_is_made_again_counts_once_it_is_another(place):
    """Its code has changed: Snakemake plans a job for it, though its record is there."""
    record = place.layout.run_folder(place.runs[1].id) / "run.json"
    display = place.begin(dag(place, asked=(1, 2), again=(0,)))
    assert " 1/2 runs, about " in last(display)
    text = record.read_text()
    record.unlink()
    assert " 1/2 runs, about " in last(display)
    record.write_text(text)
    assert " 2/2 runs, " in last(display)


def test_the_first_run_that_ends_tells_how_long_runs_like_it_take(place):
    """Once a new experiment of hours kept saying that its runs were never timed before."""
    records = [place.layout.run_folder(run.id) / "run.json" for run in place.runs]
    texts = [record.read_text() if record.is_file() else "" for record in records]
    for record in records:
        record.unlink(missing_ok=True)
    display = place.begin(dag(place, again=range(12)))
    assert " 0/12 runs, 12 runs never timed before left, " in last(display)
    records[1].write_text(texts[1])
    assert " 1/12 runs, about " in last(display) and "never timed" not in last(display)


def test_a_job_that_has_not_told_how_far_it_is_is_named_while_it_works(place):
    plan = dag(place, asked=(0, 1))
    display = place.begin(plan)
    assert " | " not in last(display)
    display.hear(event(logging.INFO, "Execute 2 jobs...", event=LogEvent.JOB_STARTED, jobs=[0, 99]))
    assert last(display).endswith(f" gone | {place.runs[0].id} (+1)")
    plan.done.add(0)
    assert last(display).endswith(" gone | make_mini_table_1")
    failed = {"rule_name": "make_mini_table_1", "log": [], "shellcmd": None, "jobid": 99}
    display.hear(event(logging.ERROR, "Error in rule", event=LogEvent.JOB_ERROR, **failed))
    assert " | " not in last(display)
    assert ", 1/2 jobs, 1 failed, " in last(display)  # once two dead runs of hours were told at the end only


def test_an_interrupt_says_how_to_go_on_and_nothing_of_jobs_that_it_stopped(place, monkeypatch):
    display = place.begin(dag(place))
    monkeypatch.setattr(campaign, "interrupted", threading.Event())
    campaign.interrupted.set()
    failed = {"rule_name": "run", "log": [], "shellcmd": "python -m harness run mini", "jobid": 0}
    display.hear(event(logging.ERROR, "Error in rule", event=LogEvent.JOB_ERROR, **failed))
    display.stop()
    said = display.stream.getvalue()
    assert said.endswith(f"\nsnakemake: {INTERRUPTED}\n")
    assert "failed" not in said and "again:" not in said
    assert not display.hear(error("WorkflowError"))


def error(kind) -> logging.LogRecord:
    return event(logging.ERROR, f"{kind}:\nin some words", event=LogEvent.ERROR, exception=kind)


def test_it_drops_chatter_and_keeps_errors(place):
    chatter = [
        event(logging.INFO, None, event=LogEvent.PROGRESS, done=3, total=9),
        event(logging.INFO, "Execute 1 jobs...", event=LogEvent.JOB_STARTED, jobs=[0]),
        event(logging.INFO, "no event at all"),
        error("RuleException"),
    ]
    kept = [error("MissingOutputException"), event(logging.WARNING, "to know"), error("WorkflowError")]
    display = place.begin(dag(place))
    assert not any(display.hear(record) for record in chatter)
    assert all(display.hear(record) for record in kept)
    assert not display.hear(event(logging.INFO, "The display ends.", ends=True))
    assert all(display.hear(record) for record in chatter + kept)


def test_it_ends_with_a_line_and_the_failed_commands(place, tmp_path):
    log = tmp_path / "run.log"
    log.write_text("a warning\nharness: some/run: size is 'x': write a value of type int\n")
    command = "python -m harness run mini/noise/strong/low/s0 --scale smoke > run.log 2>&1"
    failed = {
        "event": LogEvent.JOB_ERROR,
        "rule_name": "run",
        "log": [str(log)],
        "shellcmd": command,
        "jobid": 1,
    }
    display = place.begin(dag(place))
    display.hear(event(logging.ERROR, "Error in rule run", **failed))
    no_command = {**failed, "rule_name": "report", "log": [], "shellcmd": None}
    display.hear(event(logging.ERROR, "Error in rule report", **no_command))
    display.stop()
    text = display.stream.getvalue()
    assert text.startswith("smoke ██████████████████████░░ 11/12 runs, about ") and ", 0/2 jobs, " in text
    assert "size is 'x': write a value of type int" in text
    assert "python -m harness run mini/noise/strong/low/s0 --scale smoke" in text
    assert "a warning" not in text and "report" in text and "\r" not in text


@pytest.mark.parametrize("free", [0, 1 << 40])
def test_a_job_that_a_full_disk_has_silenced(tmp_path, monkeypatch, free):
    """Its log is on that disk too."""
    (log := tmp_path / "run.log").touch()
    monkeypatch.setattr(campaign.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    failed = event(logging.ERROR, "", rule_name="run", log=[str(log)], shellcmd="some command")
    said = f"there is no room on the disk of {tmp_path}" if not free else "without a word"
    assert campaign._failure(failed).startswith(f"failed: {said}")


def test_on_a_terminal_it_redraws_one_line(place, monkeypatch):
    monkeypatch.setattr(Terminal, "isatty", lambda self: True)
    monkeypatch.setattr(Terminal, "fileno", lambda self: 2)
    monkeypatch.setattr(os, "get_terminal_size", lambda _fd: os.terminal_size((40, 10)))
    wait, quick = threading.Event.wait, {1.0: 0.02}
    monkeypatch.setattr(threading.Event, "wait", lambda self, s=None: wait(self, quick.get(s, s)))
    display = place.begin(dag(place))
    end = time.monotonic() + 20
    while display.stream.getvalue().count("\r\033[K") < 4 and time.monotonic() < end:
        time.sleep(0.02)
    display.stop()
    drawn = display.stream.getvalue().split("\r\033[K")[1:]
    assert len(drawn) >= 5 and all(len(line.rstrip("\n")) <= 39 for line in drawn)
    assert display.stream.getvalue().count("\n") == 1  # the last one
    assert not display.thread.is_alive()


def test_snakemake_finds_the_logger_of_the_profile_and_it_hears_what_quiet_drops(capsys):
    profile, slurm = (
        yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text())
        for name in ("default", "slurm")
    )
    assert profile["logger"] == slurm["logger"]
    quiet = {Quietness.parse_choice(word) for word in profile["quiet"]}
    chosen, heard = {profile["logger"]: LogHandlerSettingsBase()}, []
    settings = OutputSettings(quiet=quiet, stdout=True, log_handler_settings=chosen)
    manager = LoggerManager(logging.getLogger("a campaign of the tests"), settings)
    workflow = SimpleNamespace(logger_manager=manager)
    campaign._hand(workflow, lambda: lambda record: heard.append(record) or "secret" not in record.msg)
    campaign._hand(workflow, lambda: lambda record: record.msg != "wrong" or 1 / 0)
    manager.logger.error("wrong")  # a mistake of ours ends nothing
    manager.logger.info("no event: shown")
    manager.logger.info("a job: not shown", extra={"event": LogEvent.JOB_FINISHED, "job_id": 3})
    manager.logger.error("a secret")
    manager.stop()
    assert [getattr(record, "job_id", None) for record in heard] == [None, None, 3, None]
    said = capsys.readouterr()
    assert said.out == "no event: shown\n" and "ZeroDivisionError" in said.err


def test_a_command_that_names_another_logger_gets_no_display(place):
    workflow = SimpleNamespace(dag=None, logger_manager=SimpleNamespace(get_log_handlers=lambda: [object()]))
    campaign.begin(workflow, place.runs, place.layout)  # without a plan it would fail


def test_a_cluster_has_jobs_and_no_cores(place, monkeypatch):
    """Asked for cores, Snakemake refuses where another executor than the local one works."""

    class Workflow(SimpleNamespace):
        @property
        def cores(self):
            raise AssertionError("a number of cores")

    ears = SimpleNamespace(ears=[])
    manager = SimpleNamespace(get_log_handlers=lambda: [ears])
    workflow = Workflow(local_exec=False, nodes=100, dag=dag(place), logger_manager=manager)
    monkeypatch.setattr(campaign, "Display", lambda *given: SimpleNamespace(hear=given[-1]))
    campaign.begin(workflow, place.runs, place.layout)
    assert ears.ears == [100]
