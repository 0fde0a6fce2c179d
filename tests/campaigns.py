"""Campaigns of Snakemake in a copy of the project, to be watched and killed."""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import IO

from harness.base.files import ROOT

PARTS = ("harness", "reproduce", "tables", "figures", "config", "profiles")
FILES = ("Snakefile", "environment.yml", "pyproject.toml")


def copy(root: Path, without: Collection[str] = ()) -> Path:
    """What git would check out, but for these papers' folders."""
    root.mkdir()
    for part in PARTS:
        left_out = shutil.ignore_patterns("__pycache__", *(without if part != "harness" else ()))
        shutil.copytree(ROOT / part, root / part, ignore=left_out)
    for file in FILES:
        shutil.copy(ROOT / file, root / file)
    return root


def start(root: Path, *targets: str, cache: str = "", before=None, **changed: str) -> subprocess.Popen[str]:
    """The campaign in a process group of its own, with this interpreter and none of this machine's data."""
    env = {k: v for k, v in os.environ.items() if k not in ("NAS_DATA", "NAS_CACHE", "PYTHONPATH")}
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env.get("PATH", "")])
    env |= {"NAS_CACHE": cache or str(root / "cache"), "OMP_NUM_THREADS": "1", **changed}
    return subprocess.Popen(
        [sys.executable, "-m", "snakemake", *targets],
        cwd=root,
        env=env,
        start_new_session=True,
        preexec_fn=before,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def told(root: Path, *words: str, code: int = 0, before=None, **changed: str) -> str:
    """What a short campaign says, which is as quick without the libraries of `harness.cli.warm`."""
    process = start(root, *words, before=before, **{"NAS_WARM": "off", **changed})
    said, _ = process.communicate(timeout=240)
    assert process.returncode == code, said
    return said


def records(root: Path) -> dict[str, Path]:
    runs = root / "results" / "smoke" / "runs"
    return {p.parent.relative_to(runs).as_posix(): p for p in runs.rglob("run.json")}


def wait(reached: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 40) -> None:
    end = time.monotonic() + seconds
    while not reached() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)


def kill(process: subprocess.Popen[str]) -> None:
    """kill -9 of the whole group."""
    with contextlib.suppress(ProcessLookupError):  # it had ended
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def free(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
