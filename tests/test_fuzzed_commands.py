"""Hundreds of command lines at random: each ends well, or in one sentence, never in a traceback.

`CASES=10000 pytest tests/test_fuzzed_commands.py` tries more of them.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import fuzzed_commands
import pytest
import tiny

from harness.accepted.accept import accept
from harness.runs import archives
from harness.spec import artefacts


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A checkout with everything run, made, accepted and kept."""
    root = tiny.checkout(tmp_path_factory.mktemp("fuzzed") / "checkout")
    tiny.run_all(root)
    layout = tiny.make_all(root)
    accept(artefacts.find("mini/table_1", root), layout, "as the first campaign made it", root)
    archives.keep("mini", layout, root)
    shutil.copy(fuzzed_commands.__file__, root)
    yield root
    tiny.forget()


def fuzzed(root: Path, *words: str) -> str:
    env = {k: v for k, v in os.environ.items() if k not in ("NAS_DATA", "PYTHONPATH")}
    env |= {"NAS_CACHE": str(root / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "fuzzed_commands.py", *words]
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return done.stdout


def test_every_command_line_ends_in_a_sentence(root):
    before = sorted(path.name for path in root.iterdir())
    assert fuzzed(root, os.environ.get("CASES", "400"), "2021") == ""
    assert {path.name for path in root.iterdir()} - set(before) <= {"cache", "REPRODUCED.md"}
    assert [path.name for path in root.parent.iterdir()] == ["checkout"]


def test_what_the_fuzzing_sees(root):
    """A command that fails as none may is told with its words."""
    broken = root / "harness" / "campaign/status.py"
    whole = broken.read_text()
    broken.write_text(whole + "\n\ndef read(*_):\n    return {}['lost']\n")
    told = fuzzed(root, "100", "7")
    broken.write_text(whole)
    assert "['status'" in told and "KeyError: 'lost'" in told


@pytest.mark.parametrize(
    "words",
    [
        ("nb201", "9" * 5000, "cifar10", "200", "val", "mean"),
        ("nb201", "0", "cifar10", "9" * 5000, "val", "mean"),
        ("nb201", "0", "cifar10", "200", "val", "9" * 5000),
    ],
)
def test_a_number_of_more_digits_than_python_reads_is_told(words):
    assert fuzzed_commands.tried(["bench", "query", *words]) == ""
