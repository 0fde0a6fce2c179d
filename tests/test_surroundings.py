"""Snakemake's own commands; an unusual place, clock or encoding: each works or is refused in a sentence."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tiny
from campaigns import harness, records, told
from test_bad_luck import as_anybody

from harness.accepted.accept import accept
from harness.base.layout import Layout
from harness.spec.artefacts import find

SMALL = tiny.EXPERIMENTS.replace("seeds: [0, 1, 2]", "seeds: [0]")
TITLE = ("tables/mini/table_1.yaml", "title: Means", "title: Mïttel")
CODE = ("reproduce/mini/noise.py", "truth.mean()", "truth.mean() + 1")
LEFT = "nothing finished is lost, the same command goes on"


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    root = tiny.checkout(tmp_path_factory.mktemp("whole"), EXPERIMENTS=SMALL)
    told(root, "all")
    accept(find("mini/table_1", root), Layout("smoke", root), "as expected", root)
    tiny.forget()
    return root


@pytest.fixture
def root(whole, tmp_path) -> Path:
    yield shutil.copytree(whole, tmp_path / "copy")
    tiny.forget()


def test_touch_is_refused_and_without_notes_old_records_still_do_not_count(root):
    """Once `--touch`, or a deleted .snakemake, let records of older code count, and `check` stayed red."""
    tiny.edit(root, *CODE)
    before = {run: path.stat().st_mtime_ns for run, path in records(root).items()}
    assert told(root, "--touch", code=1).splitlines()[-1].startswith("snakemake: --touch is refused: ")
    assert {run: path.stat().st_mtime_ns for run, path in records(root).items()} == before
    shutil.rmtree(root / ".snakemake")
    assert "4/4 runs, complete, 7/7 jobs" in told(root)
    assert "Nothing to be done" in told(root, "--dry-run")


def test_a_clock_that_was_ahead_hides_no_edit(root):
    for path in (root / "results").rglob("*.*"):
        os.utime(path, (time.time() + 3 * 86_400,) * 2)
    tiny.edit(root, *TITLE)
    told(root, "all")
    assert "Mïttel" in (root / "results/smoke/tables/mini/table_1.md").read_text(encoding="utf-8")
    assert "Mïttel" in (root / "results/smoke/report/index.html").read_text(encoding="utf-8")
    assert "Nothing to be done" in told(root, "all", "--dry-run")


def test_delete_all_output_leaves_what_was_accepted(root):
    published = {p: p.read_bytes() for p in (root / "published").rglob("*") if p.is_file()}
    told(root, "all", "--delete-all-output")
    assert records(root) == {} and not list((root / "results/smoke/tables").rglob("*.*"))
    assert published == {p: p.read_bytes() for p in (root / "published").rglob("*") if p.is_file()} != {}


def test_snakemakes_report_shows_the_tables(whole, tmp_path):
    """Once it was without any result."""
    assert "Adding table_1.html" in told(whole, "--report", str(tmp_path / "report.html"))


def test_from_another_folder_the_snakefile_works_and_another_place_for_results_is_refused(whole, tmp_path):
    """Once both said that config/config.yaml is not there."""
    said = told(tmp_path, "mini_table_1", "--snakefile", str(whole / "Snakefile"), "--dry-run")
    assert "Nothing to be done" in said
    said = told(whole, "--directory", str(tmp_path), "--dry-run", code=1).splitlines()[-1]
    assert said == (
        f"snakemake: --directory {tmp_path} is not where this project works, which is {whole}:"
        " leave --directory out, or copy the checkout there"
    )


def test_a_path_with_a_brace_is_refused_and_with_a_bracket_and_a_percent_sign_works(whole, tmp_path):
    root = shutil.copytree(whole, tmp_path / "a [b] 100%s {c}")
    assert "{c} holds a brace, which Snakemake takes for a wildcard: rename" in told(root, code=1)
    root = root.rename(tmp_path / "a [b] 100%s")
    assert "1/1 jobs" in told(root, "mini_table_1", "--forcerun", "mini_table_1")


def test_a_home_that_cannot_hold_anything_is_not_needed(root):
    assert "1/1 jobs" in told(root, "mini_table_1", "--forcerun", "mini_table_1", HOME="/proc/none")


@pytest.mark.parametrize("words", [("--dry-run",), ("--forceall",)], ids=["checkout", "results"])
def test_what_cannot_be_written_is_one_sentence(root, words):
    """Once Snakemake's traceback: a read-only checkout that is looked at, results of other rights."""
    shutil.rmtree(root / ".snakemake")
    top = root if words == ("--dry-run",) else root / "results"
    folders = [top, *(p for p in top.rglob("*") if p.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        writes = [sys.executable, "-c", f"open({str(top / 'probe')!r}, 'w')"]
        if subprocess.run(writes, preexec_fn=as_anybody, capture_output=True).returncode == 0:
            pytest.skip("this user may write anywhere")
        said = told(root, *words, code=1, before=as_anybody)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert "Traceback" not in said
    last = said.strip().splitlines()[-1]
    assert last.startswith("snakemake: ") and last.endswith(LEFT) and "(Permission denied)" in last
    assert len(records(root)) == 4


@pytest.mark.parametrize("cache", ["/proc/none", "/proc"])
def test_a_cache_below_a_place_that_takes_no_folders_is_one_sentence(whole, cache):
    done = harness(whole, "data", "fetch", "cifar10", NAS_CACHE=cache)
    assert done.stderr.startswith(f"harness: {cache}") and done.stderr.count("\n") == 1
    assert "or set NAS_CACHE to another folder" in done.stderr and done.returncode == 1


@pytest.mark.parametrize(
    "spoken", [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "ascii"}], ids=["locale", "Python"]
)
def test_output_that_is_not_utf_8(whole, tmp_path, spoken):
    """Once `find`, `status` and the last line of a campaign in such a path ended in tracebacks."""
    root = shutil.copytree(whole, tmp_path / "Käse")
    tiny.edit(root, *TITLE)
    for words in (("status",), ("find", "Table 1")):
        done = harness(root, *words, **spoken)
        assert (done.returncode, done.stderr) == (0, "") and "?" in done.stdout
    said = told(root, "mini_table_1", **spoken)
    assert "Traceback" not in said and "Logging error" not in said and "complete" in said


@pytest.mark.parametrize("words", [["-t"], ["-tp"]])
def test_touch_is_refused_however_it_is_written(root, words):
    assert "--touch is refused" in told(root, *words, code=1)
