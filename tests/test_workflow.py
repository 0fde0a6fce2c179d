"""Snakemake on a tiny paper: what a missing record and what a mistake cost. Kills are in pipeline/."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import tiny
from campaigns import start
from campaigns import told as campaign
from sealed import edit_record

from harness.accepted.accept import accept
from harness.base.errors import INTERRUPTED
from harness.base.layout import Layout
from harness.code import ledger
from harness.code.code_id import code_id
from harness.runs import archives
from harness.spec import artefacts

SMALL = tiny.EXPERIMENTS.replace("seeds: [0, 1, 2]", "seeds: [0]")
HIGH, LOW = (
    [f"mini/noise/{method}/{setting}/s0" for method in ("strong", "weak")] for setting in ("high", "low")
)


def record(root: Path, run: str) -> Path:
    return root / "results" / "smoke" / "runs" / run / "run.json"


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A campaign that nothing has disturbed."""
    root = tiny.checkout(tmp_path_factory.mktemp("whole"), EXPERIMENTS=SMALL)
    told = campaign(root, "all")
    assert "4/4 runs, complete, 7/7 jobs" in told and "refused" not in told
    assert (root / "results/smoke/report/index.html").is_file()
    return root


def test_the_display_counts_what_this_command_needs(whole, tmp_path):
    """One run of the project's four is asked for; its old record is none that this command made."""
    told = campaign(
        shutil.copytree(whole, tmp_path / "again"), f"results/smoke/runs/{LOW[0]}/run.json", "--force"
    )
    first, *_, last = re.findall(r"^smoke .*$", told, re.M)
    assert " 0/1 runs, about " in first and ", 0/1 jobs, " in first
    assert " 1/1 runs, complete, 1/1 jobs, " in last


@pytest.mark.parametrize("warm", ["off", ""], ids=["alone", "forked"])
def test_an_interrupt_is_clean_and_the_same_command_goes_on(tmp_path, warm):
    """Ctrl-C reaches every process of the command; one run is done, one waits for a file.

    Jobs of four or more are forks of a process that has loaded torch. Once each started alone: Snakemake's
    script calls its Python `python3`, the jobs call it `python`.
    """
    wait = "    import pathlib, sys, time\n    print('begun, loaded', 'torch' in sys.modules, flush=True)\n"
    wait += "    while config.shift and not pathlib.Path('go').exists():\n"
    slow = tiny.MODULE.replace("    truth = run", f"{wait}        time.sleep(0.05)\n    truth = run", 1)
    root = tiny.checkout(tmp_path, EXPERIMENTS=SMALL, MODULE=slow)
    started = start(root, "mini_table_1", NAS_WARM=warm)
    waiting = [root / "results/smoke/log/runs" / f"{run}.log" for run in HIGH]
    while started.poll() is None and not any(log.exists() and "begun" in log.read_text() for log in waiting):
        time.sleep(0.05)
    os.killpg(started.pid, signal.SIGINT)
    told = started.communicate(timeout=60)[0]
    assert started.returncode == 1
    assert told.rstrip().splitlines().count(f"snakemake: {INTERRUPTED}") == 1
    assert "Traceback" not in told and "WorkflowError" not in told and "failed" not in told
    with pytest.raises(ProcessLookupError):
        os.killpg(started.pid, 0)  # none of its processes is left
    assert not any(record(root, run).exists() for run in HIGH)
    begun = [log.read_text() for log in (root / "results/smoke/log/runs").rglob("*.log")]
    loaded = {line for text in begun for line in text.splitlines() if line.startswith("begun")}
    assert loaded == {f"begun, loaded {warm == ''}"}
    (root / "go").touch()
    assert "4/4 runs, complete" in campaign(root, "mini_table_1")


def test_an_interrupt_while_jobs_are_planned_is_one_sentence(tmp_path):
    """The YAML is a pipe that gives nothing: planning waits for it."""
    root = tiny.checkout(tmp_path)
    pipe = root / "tables/mini/table_1.yaml"
    pipe.unlink()
    os.mkfifo(pipe)
    started, end = start(root, "mini_table_1"), None
    while end is None and started.poll() is None:
        time.sleep(0.05)
        with suppress(OSError):  # nobody reads yet
            end = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    os.killpg(started.pid, signal.SIGINT)
    told = started.communicate(timeout=60)[0]
    os.close(end)
    assert told.splitlines()[-1] == f"snakemake: {INTERRUPTED}" and "Traceback" not in told
    assert started.returncode == -signal.SIGINT and not (root / "results").exists()


def test_a_record_that_is_missing_is_made_again(whole):
    """Though the table, the report and all that was made from it are still there."""
    path = record(whole, LOW[0])
    kept = path.rename(path.with_suffix(".kept"))
    plans = [
        start(whole, target, "--dry-run", NAS_WARM="off")
        for target in ("all", "mini_table_1", "check", "report")
    ]
    told = [plan.communicate(timeout=240)[0] for plan in plans]
    kept.rename(path)
    for planned in told:
        assert re.search(r"output files have to be generated:\n +run$", planned, re.M), planned
        assert re.search(r"updated by another job:\n +.*make_mini_table_1", planned), planned


def test_a_mistake_of_one_run_stops_no_other_and_is_told_at_the_end(tmp_path):
    wrong = SMALL.replace("high: {shift: 5.0}", "high: {shift: far}")
    root = tiny.checkout(tmp_path, EXPERIMENTS=wrong)
    told = campaign(root, "mini_table_1", code=1)
    for run in HIGH:
        assert f"harness: {run}: shift is 'far': write a value of type float" in told
        assert f"python -m harness run {run} --scale smoke" in told
        assert not record(root, run).exists()
    assert all(record(root, run).exists() for run in LOW)
    assert "2/4 runs" in told and "Traceback" not in told


def test_a_mistake_in_a_file_stops_before_anything_is_run(tmp_path):
    root = tiny.checkout(tmp_path, TABLE=tiny.TABLE.replace("setting: low}", "setting: lo}"))
    told = campaign(root, "mini_table_1", code=1)
    assert "table_1.yaml, line 9: setting 'lo' does not exist: did you mean 'low'?" in told
    assert not (root / "results").exists()


def files(root: Path) -> dict[str, bytes]:
    """Every file of every table."""
    tables = root / "results/smoke/tables"
    return {p.relative_to(tables).as_posix(): p.read_bytes() for p in tables.rglob("*.*")}


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("mini_tabel_1", "target 'mini_tabel_1' does not exist: did you mean 'mini_table_1'?"),
        ("mini/table_1", "target 'mini/table_1' does not exist: did you mean 'mini_table_1'?"),
        ("results/cpu/report/index.html", "results/cpu/report/index.html is of scale cpu, not smoke: add "),
    ],
)
def test_a_target_that_does_not_exist_is_one_sentence(whole, target, said):
    told = campaign(whole, target, code=1)
    assert told.splitlines()[-1].startswith(f"snakemake: {said}")
    assert "MissingRuleException" not in told


def test_a_papers_name_is_a_target(whole):
    shutil.rmtree(whole / "results" / "smoke" / "tables")
    campaign(whole, "mini")
    assert (whole / "results" / "smoke" / "tables" / "mini" / "table_1.md").is_file()


def edit_and_keep_the_date(root: Path, path: str, old: str, new: str) -> None:
    """As rsync and tar bring an older edit."""
    times = (root / path).stat()
    tiny.edit(root, path, old, new)
    os.utime(root / path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_with_holes_nothing_is_run_and_a_run_that_came_is_taken_in(whole, tmp_path):
    root = shutil.copytree(whole, tmp_path / "again")
    shutil.rmtree(record(root, LOW[0]).parent)
    asked = ("mini_table_1", "--config", "holes=true")
    cells = root / "results/smoke/tables/mini/table_1.cells.csv"
    assert "complete, 2/2 jobs" in campaign(root, *asked)
    assert "none of its runs at scale smoke is there yet" in cells.read_text()
    assert not record(root, LOW[0]).exists() and "Nothing to be done" in campaign(root, *asked)
    shutil.copytree(record(whole, LOW[0]).parent, record(root, LOW[0]).parent)
    assert "complete, 2/2 jobs" in campaign(root, *asked)
    assert cells.read_bytes() == (whole / cells.relative_to(root)).read_bytes()


def test_a_file_that_was_edited_and_kept_its_date_is_seen(whole, tmp_path):
    """`check` was red and named the command that mends it, which said that there is nothing to be done."""
    root = shutil.copytree(whole, tmp_path / "edited")
    edit_and_keep_the_date(root, "tables/mini/table_1.yaml", "title: Means", "title: Other means")
    campaign(root, "all")
    assert "Other means" in (root / "results/smoke/tables/mini/table_1.md").read_text()
    assert "Nothing to be done" in campaign(root, "all", "--dry-run")
    for path, old, new, job in (
        ("reproduce/mini/NOTES.md", "They mean nothing", "They mean little", "page"),
        ("reproduce/mini/experiments.yaml", "authors: nobody", "authors: somebody", "page"),
        ("harness/report/page.css", "{", "{ ", "page"),
    ):
        edit_and_keep_the_date(root, path, old, new)
        told = campaign(root, "all", "--dry-run")
        assert re.search(rf"params have changed since last execution:\n +{job}$", told, re.M), told
        edit_and_keep_the_date(root, path, new, old)


def test_records_that_keep_their_dates_from_another_machine_are_seen(whole, tmp_path):
    root = shutil.copytree(whole, tmp_path / "records")
    before = files(root)
    path = record(root, LOW[0])
    times = path.stat()
    edit_record(path.parent, reseal=True, metrics=[{"name": "mean", "value": 77.25, "unit": ""}])
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    campaign(root, "mini_table_1")
    assert files(root) != before and "Nothing to be done" in campaign(root, "mini_table_1", "--dry-run")


def test_kept_records_are_not_run_again_where_older_code_was_run_before(whole, tmp_path):
    """Snakemake notes with which code it made a file; once records that had been laid out were made anew."""
    root = shutil.copytree(whole, tmp_path / "older")
    tiny.edit(root, "reproduce/mini/noise.py", "truth.mean()", "truth.mean() + 1")
    layout = Layout("smoke", root)
    shutil.rmtree(layout.results / "runs")
    tiny.run_all(root)
    archives.keep("mini", layout, root)
    shutil.rmtree(layout.results / "runs")
    # As a user does, without this environment's commands on the path: the command's own lock, and files that
    # Snakemake had noted nothing of, each once made it fail.
    command = [sys.executable, "-m", "harness", "records", "lay-out", "mini"]
    laid = subprocess.run(command, cwd=root, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert laid.stdout == "mini: 4 records laid out in results/smoke\n", laid.stderr
    before = {run: record(root, run).stat().st_mtime_ns for run in (*LOW, *HIGH)}
    assert "4/4 runs, complete" in campaign(root, "all")
    assert {run: record(root, run).stat().st_mtime_ns for run in before} == before
    tiny.forget()


def test_kept_records_are_not_run_again_for_a_newer_note_of_their_data(whole, tmp_path):
    """A clone with laid-out records notes its images later: once it then trained all of them anew."""
    root = shutil.copytree(whole, tmp_path / "noted", ignore=shutil.ignore_patterns(".snakemake"))
    tiny.edit(root, "reproduce/mini/experiments.yaml", "    where:", "    needs: [cifar10]\n    where:")
    note = root / "results/smoke/data/cifar10.json"
    before = {run: record(root, run).stat().st_mtime_ns for run in (*LOW, *HIGH)}
    tiny.write(root, str(note.relative_to(root)), "{}")
    assert note.stat().st_mtime_ns > max(before.values())
    assert "4/4 runs, complete" in campaign(root, "all")
    assert {run: record(root, run).stat().st_mtime_ns for run in before} == before


def test_runs_of_older_code_that_was_vouched_for_are_not_made_again(whole, tmp_path):
    """Snakemake compares with the code that it noted, and knows of no ledger."""
    root = shutil.copytree(whole, tmp_path / "vouched")
    module, codes = "reproduce.mini.noise", [code_id("reproduce.mini.noise", root)]
    tiny.edit(root, "reproduce/mini/noise.py", "config.effect * truth", "truth * config.effect")
    before = {run: record(root, run).stat().st_mtime_ns for run in (*LOW, *HIGH)}
    codes.append(code_id(module, root))
    ledger.append([ledger.Entry(module, *codes, "a", "b", "today", "3", "2", "by hand, in a test")], root)
    assert "Nothing to be done" in campaign(root, "mini_table_1")
    told = campaign(root, "all", "--dry-run")  # the page marks what is of older code
    assert re.search(r"params have changed since last execution:\n +page$", told, re.M), told
    assert {run: record(root, run).stat().st_mtime_ns for run in before} == before
    ledger.path_of(root).unlink()
    campaign(root, "mini_table_1")
    assert not {record(root, run).stat().st_mtime_ns for run in before} & {*before.values()}
    tiny.forget()


def test_check_is_green_on_a_clean_clone_and_red_after_a_sabotage(whole, tmp_path):
    """With other threads and another order of sets: the same bytes. Then two hands meddle."""
    made = shutil.copytree(whole, tmp_path / "made")
    layout = Layout("smoke", made)
    accept(artefacts.find("mini/table_1", made), layout, "as the first campaign made it", made)
    left_out = shutil.ignore_patterns("results", ".snakemake", "cache", "__pycache__")
    clone = shutil.copytree(made, tmp_path / "clone", ignore=left_out)
    told = campaign(clone, "check", OMP_NUM_THREADS="2", PYTHONHASHSEED="12345")
    assert "every accepted number and verdict of scale smoke still stands" in told
    assert files(clone) == files(made) and len(files(made)) == 5

    record(clone, LOW[0]).unlink()  # a missing run is made again; the two below cannot be
    accepted = clone / "published/smoke/tables/mini/table_1.claims.csv"
    assert "agrees" in accepted.read_text() or "unclear" in accepted.read_text()
    accepted.write_text(accepted.read_text().replace("agrees", "match").replace("unclear", "agrees"))
    tiny.edit(clone, "tables/mini/table_1.yaml", "| high | 5.0", "| high | 6.0")
    told = campaign(clone, "check", code=1)
    assert record(clone, LOW[0]).is_file() and "Traceback" not in told
    changes = [line for line in told.splitlines() if line.startswith("changed: ")]
    assert all(line.startswith("changed: mini/table_1: ") for line in changes)
    look = ". Look closer: python -m harness check mini/table_1 --scale smoke"
    for place in (
        "high / strong: the paper's number was '5.0 (0.2)' and is '6.0",
        "claim high-above-low: ver",
    ):
        assert any(place in line and line.endswith(look) for line in changes), told
    tiny.forget()
