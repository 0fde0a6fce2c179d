"""What short jobs take alone and as forks of one process: `python benchmarks/bench_job_start.py`.

Wall seconds, the least of five, in turns, on a copy of this checkout that `snakemake all` has filled.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from harness.cli import warm  # noqa: E402

JOBS = ("run icw/training_setup/training/subimagenet-supernet/s0", "run sotl/online_mlp/t2/mnist/s0")
JOBS += ("make sotl/table_3_1", "make icw/figure_3", "report")


def seconds(job: str, environment: dict[str, str], folder: Path) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-m", "harness", *job.split()], cwd=folder, env=environment, check=True)
    return time.perf_counter() - begun


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "copy"
        shutil.copytree(
            ROOT, folder, ignore=shutil.ignore_patterns(".git", ".venv", ".snakemake", "cpu", "paper")
        )
        os.chdir(folder)
        alone = dict(os.environ)
        begun = time.perf_counter()
        warm.start([SimpleNamespace(resources={})] * warm.FEWEST)
        forked = dict(os.environ)
        first = seconds("plan sotl/table_3_1", forked, folder)
        print(f"ready after {time.perf_counter() - begun:.2f} s (a job that asked at once: {first:.2f} s)")
        for job in JOBS:
            taken = [(seconds(job, alone, folder), seconds(job, forked, folder)) for _ in range(5)]
            one, other = (min(each) for each in zip(*taken, strict=True))
            print(f"{job:60} alone {one:5.2f} s, forked {other:5.2f} s, {one / other:.1f} times")


if __name__ == "__main__":
    main()
