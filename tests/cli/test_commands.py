"""`python -m harness …` as a user calls it: exit codes, one sentence for a mistake, no slow imports."""

import json
import signal
import subprocess
import sys
import time

import pytest
import tiny
from campaigns import environment, harness

from harness.base.files import ROOT
from harness.cli import commands
from harness.runs.record import read_record
from harness.spec import artefacts

RUN = "mini/noise/strong/low/s0"


def said(done, code=0) -> str:
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def refusal(root, *words) -> str:
    """What a user is told: one sentence on stderr, nothing on stdout."""
    done = harness(root, *words)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout == "" and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("harness: ")
    return done.stderr


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    root = tiny.checkout(tmp_path_factory.mktemp("checkout"))
    for number in ("4_1", "4_10"):
        text = tiny.TABLE.replace("table_1", f"table_{number}").replace(
            "Table 1,", f"Table {number.replace('_', '.')},"
        )
        tiny.write(root, f"tables/mini/table_{number}.yaml", text)
    return root


@pytest.fixture(scope="module")
def finished(checkout):
    """The same checkout with all runs of one table done in this process."""
    tiny.run_all(checkout)
    tiny.make_all(checkout)
    return checkout


@pytest.mark.parametrize(
    "words, told",
    [
        (
            ["run", "mini/noise/strong/low/s7"],
            "run 'mini/noise/strong/low/s7' does not exist at scale smoke: did",
        ),
        (["run", "mini/noise/weak/low/s0", "--scale", "cpu"], "does not exist at scale cpu"),
        (["find", "Table 7"], "no artefact matches 'Table 7': `python -m harness plan` lists them all"),
        (["find", "Table 1", "--paper", "mimi"], "paper 'mimi' does not exist: did you mean 'mini'?"),
        (["plan", "mini/table1"], "artefact 'mini/table1' does not exist: did you mean 'mini/table_1'?"),
        (["make", "mini/table_11"], "did you mean 'mini/table_1"),
        (
            ["accept", "mini/table_1", "--reason", "because"],
            "accept needs --reason with at least a few words",
        ),
        (["fetch", "cifar11"], "'cifar11' cannot be fetched: did you mean 'cifar10'?"),
        (["data", "fetch", "cifar11"], "did you mean 'cifar10'?"),
        (["data", "list", "cifar11"], "did you mean 'cifar10'?"),
        (["data", "verify", "svhm"], "did you mean 'svhn'?"),
        (["data", "verify", "svhn"], "svhn is neither in NAS_DATA nor in the cache"),
        (
            ["bench", "query", "nb201", "x", "cifar10", "twelve", "val", "mean"],
            "epochs must be a whole number",
        ),
        (["bench", "query", "nb201", "x", "cifar10", "12²", "val", "mean"], "epochs must be a whole number"),
        (["bench", "query", "nb202", "x", "cifar10", "12", "val", "mean"], "nb202"),
        (["bench", "convert", "nb202-table"], "nb202-table"),
    ],
)
def test_a_mistake_is_one_sentence(checkout, words, told):
    assert told in refusal(checkout, *words)


WRONG = ("", "fond", "find", "status --scale big", "accept", "bench", "data drop")
WRONG += tuple(f"run {RUN} --threads {threads}" for threads in ("0", "-2", "two", "99999999"))


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_call_shows_the_usage(checkout, words):
    done = harness(checkout, *words.split())
    assert done.returncode == 2 and done.stderr.startswith("usage: python -m harness")
    assert "Traceback" not in done.stderr


def test_a_mistake_in_a_file_is_one_sentence(tmp_path):
    root = tiny.checkout(tmp_path)
    path = tiny.edit(root, "reproduce/mini/experiments.yaml", "settings:", "setings:")
    for words in (["plan"], ["find", "Table 1"], ["status"], ["run", RUN]):
        assert f"{path}, line 12: unknown key 'setings'" in refusal(root, *words)
    tiny.edit(root, "reproduce/mini/experiments.yaml", "setings:", "settings:")
    tiny.edit(root, "reproduce/mini/experiments.yaml", "size: 30", "sise: 30")
    assert f"{RUN}: Config has no field 'sise': did you mean 'size'?" in refusal(root, "run", RUN)


def test_data_folder_that_is_none(checkout):
    done = harness(checkout, "data", "list", NAS_DATA="/nowhere/at/all")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "NAS_DATA names /nowhere/at/all, which is not a folder" in done.stderr


def test_from_a_run_to_an_accepted_table(tmp_path):
    """Every step of the pipeline by hand."""
    root = tiny.checkout(tmp_path)
    assert "\nmini/table_1                      0       12   " in said(harness(root, "plan", "mini/table_1"))
    assert "never made at scale smoke" in said(harness(root, "find", "Table 1"))
    record = root / "results/smoke/runs" / RUN / "run.json"
    assert said(harness(root, "run", RUN, "--threads", "2")).strip() == str(record)
    assert read_record(record.parent)["threads"] == 2
    assert "0/12 runs, about " in said(harness(root, "status"))  # another number of threads is another run
    assert said(harness(root, "run", RUN)).strip() == str(record)
    assert "1/12 runs, about " in said(harness(root, "status"))
    assert "run.json is not there: run it with" in refusal(root, "make", "mini/table_1")
    early = harness(root, "report")
    assert early.returncode == 0 and "report: mini/table_1 is not made yet: make it with" in early.stderr
    tiny.run_all(root)
    assert said(harness(root, "status", "--once")).startswith(f"smoke {'█' * 24} 12/12 runs, complete")
    assert "was made before its YAML changed" in refusal(root, "accept", "--reason", "it looks right")
    assert said(harness(root, "make", "mini_table_1")) == ""
    assert said(harness(root, "report")) == "report: results/smoke/report/index.html\n"
    assert "A tiny paper" in (root / "results/smoke/report/index.html").read_text()
    red = harness(root, "check")
    assert red.returncode == 1 and "nothing was ever accepted at scale smoke" in red.stderr
    accepted = said(harness(root, "accept", "--reason", "the first outcome, looked through"))
    assert accepted == "published/smoke/tables/mini/table_1.provenance.json\n"
    assert "still stands" in said(harness(root, "check"))
    again = said(harness(root, "published", "--scale", "smoke"))
    assert again.startswith("1 artefact made again from kept records\n")
    assert (root / again.splitlines()[1].removeprefix("published: ")).is_file()
    provenance = json.loads((root / accepted.strip()).read_text())
    assert provenance["reason"] == "the first outcome, looked through" and len(provenance["runs"]) == 12
    tiny.edit(root, "tables/mini/table_1.yaml", "| high | 5.0", "| high | 6.0")
    said(harness(root, "make", "mini/table_1"))
    (line,) = harness(root, "check").stderr.splitlines()
    assert line.startswith("changed: mini/table_1: high / strong: the paper's number was")
    assert "; verdict was 'agrees' and is 'differs'" in line


def test_find_shows_what_it_promises(finished):
    text = said(harness(finished, "find", "table 4.1", "--paper", "mini"))
    assert text.splitlines()[0] == "mini/table_4_1  Table 4.1, section 1: Means and correlations"
    for line in (
        "spec      tables/mini/table_4_1.yaml",
        "target    snakemake mini_table_4_1 --config scale=smoke",
        "runs      12 present, 0 missing at scale smoke",
        f"            {RUN}",
    ):
        assert f"{line}\n" in text
    assert "verdict   numbers: 2 hold, 2 not refuted; claims: 1 holds; made at scale smoke\n" in text
    assert "mini/table_4_10" not in text


@pytest.mark.parametrize(
    "asked, found",
    [
        ("Table 4.1", {"4_1"}),
        ("  TABLE 4.1 ", {"4_1"}),
        ("Table 4.10", {"4_10"}),
        ("Table 4", set()),
        ("Table", {"1", "4_1", "4_10"}),
        ("mini/table_4_1", {"4_1"}),
        ("mini_table_4_10", {"4_10"}),
        ("Table 4.1, section 1", {"4_1"}),
        ("means", {"1", "4_1", "4_10"}),
        ("correlations means", {"1", "4_1", "4_10"}),
        ("correlations variances", set()),
        ("4", set()),
        ("section 1", set()),
    ],
)
def test_what_meets_what(checkout, asked, found):
    met = {a.name for a in artefacts.artefacts(checkout) if commands._meets(a, asked)}
    assert met == {f"mini/table_{name}" for name in found}


def test_digits_in_a_title_are_whole_words(tmp_path):
    root = tiny.project(tmp_path)
    tiny.edit(root, "tables/mini/table_1.yaml", "Means and correlations", "NAS-Bench 201 cells")
    (artefact,) = artefacts.artefacts(root)
    assert commands._meets(artefact, "nas-bench 201") and commands._meets(artefact, "cells")
    assert not commands._meets(artefact, "nas-bench 20") and not commands._meets(artefact, "table 201.1")


def test_a_plan_counts_shared_runs_once(finished):
    *_, every, note = said(harness(finished, "plan")).splitlines()
    assert every.split()[:5] == ["all", "of", "these", "12", "0"] and "? = nothing like it" in note
    one = said(harness(finished, "plan", "mini/table_1", "--scale", "cpu")).splitlines()
    assert one[1].split() == ["mini/table_1", "0", "6", "?", "?"]


def hear_ctrl_c() -> None:
    """Whoever started the tests in the background made them, and so their children, deaf to it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def sleeper(folder):
    """A checkout whose run takes as long as the file `wait` is there; and that run, started."""
    root = tiny.checkout(folder)
    wait = "    import pathlib, time\n    while pathlib.Path('wait').exists():\n        time.sleep(0.01)\n"
    tiny.edit(root, "reproduce/mini/noise.py", "    run.metric", f"{wait}    run.metric")
    (root / "wait").touch()
    command = [sys.executable, "-m", "harness", "run", RUN]
    process = subprocess.Popen(
        command,
        cwd=root,
        env=environment(root),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=hear_ctrl_c,
    )
    table = root / "results" / "smoke" / "runs" / RUN / "values.csv"
    for _ in range(2000):
        if table.exists():
            break
        time.sleep(0.01)
    return root, table.with_name("run.json"), process


@pytest.mark.parametrize("kill", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill-9"])
def test_a_killed_run_leaves_no_record_and_the_same_command_makes_it(finished, tmp_path, kill):
    root, record, process = sleeper(tmp_path)
    process.send_signal(kill)
    out, err = process.communicate(timeout=20)
    assert out == "" and not record.exists() and record.with_name("values.csv").exists()
    if kill is signal.SIGINT:
        assert process.returncode == 1
        assert err == "harness: interrupted; the same command goes on where it stopped\n"
    (root / "wait").unlink()
    said(harness(root, "run", RUN))
    whole = finished / record.relative_to(root)
    one, other = read_record(record.parent), read_record(whole.parent)
    assert one["metrics"] == other["metrics"] and one["tables"] == other["tables"]


def test_a_closed_pipe_is_no_error(checkout):
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", "plan"],
        cwd=checkout,
        env=environment(checkout),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    assert process.stderr.read() == "" and process.wait(timeout=20) == 0


PROBE = """
import sys
from harness.cli.commands import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not isinstance(end.code, str), end.code
print("loaded:", *sorted({name.split(".")[0] for name in sys.modules}))
"""
SLOW = {"torch", "torchvision", "sklearn", "onnxruntime", "matplotlib", "seaborn", "nats_bench", "snakemake"}
SLOW |= {"pandas", "scipy"}


@pytest.mark.parametrize("command", ["find Table", "plan", "status", "data list", "bench list"])
def test_a_question_is_answered_at_once(command):
    """In this very checkout, whatever it holds, without the modules that take seconds to load.

    How long it takes: `benchmarks/bench_questions.py`. (`check` makes tables anew: it is no such question.)
    """
    words = [sys.executable, "-c", PROBE, *command.split()]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.splitlines()[-1].removeprefix("loaded:").split())
    assert "harness" in loaded and not loaded & SLOW


def test_a_campaign_is_planned_without_them_too():
    code = "import harness.campaign.campaign, harness.campaign.remake, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {name.split(".")[0] for name in done.stdout.split()} & SLOW
