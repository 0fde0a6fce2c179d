"""Snakemake on a tiny paper: what a missing record and what a mistake cost. Kills are in pipeline/."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tiny

SMALL = tiny.EXPERIMENTS.replace("seeds: [0, 1, 2]", "seeds: [0]")
HIGH, LOW = (
    [f"mini/noise/{method}/{setting}/s0" for method in ("strong", "weak")] for setting in ("high", "low")
)


def campaign(root: Path, *words: str, code: int = 0) -> str:
    """What it tells on the screen."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    left_out = ("NAS_DATA", "PYTHONPATH", "SNAKEMAKE_PROFILE")
    env = {k: v for k, v in os.environ.items() if k not in left_out}
    env |= {"PATH": path, "OMP_NUM_THREADS": "1", "NAS_CACHE": str(root / "cache")}
    command = [sys.executable, "-m", "snakemake", *(words or ["mini_table_1"])]
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr + done.stdout


def record(root: Path, run: str) -> Path:
    return root / "results" / "smoke" / "runs" / run / "run.json"


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A campaign that nothing has disturbed."""
    root = tiny.checkout(tmp_path_factory.mktemp("whole"), EXPERIMENTS=SMALL)
    told = campaign(root, "all")
    assert "4/4 runs, complete" in told and "refused" not in told
    assert (root / "results/smoke/report/index.html").is_file()
    return root


@pytest.mark.parametrize("target", ["all", "mini_table_1", "check", "report"])
def test_a_record_that_is_missing_is_made_again(whole, target):
    """Though the table, the report and all that was made from it are still there."""
    path = record(whole, LOW[0])
    kept = path.rename(path.with_suffix(".kept"))
    planned = campaign(whole, target, "--dry-run")
    kept.rename(path)
    assert re.search(r"output files have to be generated:\n +run$", planned, re.M), planned
    assert re.search(r"updated by another job:\n +.*make_mini_table_1", planned), planned


def test_a_mistake_of_one_run_stops_no_other_and_is_told_at_the_end(tmp_path):
    wrong = SMALL.replace("high: {shift: 5.0}", "high: {shift: far}")
    root = tiny.checkout(tmp_path, EXPERIMENTS=wrong)
    told = campaign(root, code=1)
    for run in HIGH:
        assert f"harness: {run}: shift is 'far': write a value of type float" in told
        assert f"python -m harness run {run} --scale smoke" in told
        assert not record(root, run).exists()
    assert all(record(root, run).exists() for run in LOW)
    assert "2/4 runs" in told and "Traceback" not in told


def test_a_mistake_in_a_file_stops_before_anything_is_run(tmp_path):
    root = tiny.checkout(tmp_path, TABLE=tiny.TABLE.replace("setting: low}", "setting: lo}"))
    told = campaign(root, code=1)
    assert "table_1.yaml, line 9: setting 'lo' does not exist: did you mean 'low'?" in told
    assert not (root / "results").exists()
