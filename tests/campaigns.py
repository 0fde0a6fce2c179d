"""Campaigns of Snakemake in a copy of the project, to be watched and killed."""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from harness.base.files import ROOT

PARTS = ("harness", "reproduce", "tables", "figures", "config", "profiles")
# The last would hide what a closed pipe does.
LEFT_OUT = ("NAS_DATA", "NAS_CACHE", "PYTHONPATH", "SNAKEMAKE_PROFILE", "PYTHONUNBUFFERED")
FILES = ("Snakefile", "environment.yml", "pyproject.toml")


def copy(root: Path) -> Path:
    """What git would check out."""
    root.mkdir()
    for part in PARTS:
        shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
    for file in FILES:
        shutil.copy(ROOT / file, root / file)
    return root


def environment(root: Path, **changed: str) -> dict[str, str]:
    """None of this machine's data, and the commands beside this interpreter."""
    env = {k: v for k, v in os.environ.items() if k not in LEFT_OUT}
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env.get("PATH", "")])
    return env | {"NAS_CACHE": str(root / "cache"), "OMP_NUM_THREADS": "1"} | changed


def start(root: Path, *words: str, before=None, **changed: str) -> subprocess.Popen[str]:
    """The campaign in a process group of its own, which hears Ctrl-C whoever started the tests."""

    def first() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if before:
            before()

    return subprocess.Popen(
        ["snakemake", *words],
        cwd=root,
        env=environment(root, **changed),
        start_new_session=True,
        preexec_fn=first,
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


def harness(root: Path, *words: str, before=None, **changed: str) -> subprocess.CompletedProcess[str]:
    """`python -m harness` with these words."""
    command, env = [sys.executable, "-m", "harness", *words], environment(root, **changed)
    return subprocess.run(
        command, cwd=root, env=env, preexec_fn=before, capture_output=True, text=True, timeout=240
    )


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
