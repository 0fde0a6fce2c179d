"""Several GPUs on one machine: which run gets which, packed by rehearsed memory, held by locks that die."""

import os
import signal
import subprocess
import sys
import time

import pytest
import tiny

from harness.base.errors import HarnessError
from harness.published import rehearsed
from harness.runs import gpus

TWO = {"0": 16e9, "1": 16e9}


@pytest.fixture(autouse=True)
def nothing_held(monkeypatch):
    monkeypatch.delenv(gpus.VISIBLE, raising=False)
    yield
    gpus.release()


@pytest.fixture
def root(tmp_path):
    return tiny.project(tmp_path)


def spec_of(root):
    from harness.spec.experiments import paper

    return next(paper("mini", root).experiments["noise"].runs("paper"))


def rehearse(root, spec, memory):
    row = dict.fromkeys(rehearsed.COLUMNS, "") | {
        "scale": spec.scale,
        "run": rehearsed.kind(spec),
        "memory": memory,
    }
    rehearsed.write({(spec.scale, rehearsed.kind(spec)): row}, root)


def full():
    raise TimeoutError


def take(spec, root, tmp_path, found=TWO):
    return gpus.take(spec, found, tmp_path / "locks", full, root)


def test_a_run_that_nobody_rehearsed_has_a_gpu_for_itself_and_sees_no_other(root, tmp_path):
    spec = spec_of(root)
    assert [take(spec, root, tmp_path), os.environ[gpus.VISIBLE]] == ["0", "0"]
    assert take(spec, root, tmp_path) == "1"
    with pytest.raises(TimeoutError):
        take(spec, root, tmp_path)
    gpus.release()
    assert take(spec, root, tmp_path) == "0"


def test_runs_are_packed_by_rehearsed_memory_on_the_fullest_gpu_with_room(root, tmp_path):
    spec = spec_of(root)
    rehearse(root, spec, 4e9)  # and a fifth, and 1 GB: three eighths of 16 GB
    assert [take(spec, root, tmp_path) for _ in range(4)] == ["0", "0", "1", "1"]
    with pytest.raises(TimeoutError):
        take(spec, root, tmp_path)


def test_what_no_gpu_holds_is_told_and_a_larger_gpu_is_taken(root, tmp_path):
    spec = spec_of(root)
    rehearse(root, spec, 20e9)
    with pytest.raises(HarnessError, match="needs 25 GB of a GPU that has 16 GB"):
        take(spec, root, tmp_path)
    assert take(spec, root, tmp_path, {**TWO, "2": 80e9}) == "2"


def test_where_no_gpu_can_be_asked_nothing_is_chosen(root, tmp_path):
    assert take(spec_of(root), root, tmp_path, {}) == "" and gpus.VISIBLE not in os.environ


def test_a_gpu_is_free_again_when_its_process_is_killed(root, tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from harness.runs import gpus;"
        "gpus._held.extend(gpus._free(Path(sys.argv[1]), '0')); print('held', flush=True); time.sleep(60)"
    )
    folder = tmp_path / "locks"
    folder.mkdir()
    other = subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "held\n"
    assert take(spec_of(root), root, tmp_path) == "1"
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert gpus.take(spec_of(root), {"0": 16e9}, folder, lambda: time.sleep(0.01), root) == "0"


@pytest.mark.parametrize(
    "asked, seen",
    [("1", ["1"]), ("1,0", ["1", "0"]), ("GPU-b", ["1"]), ("", []), ("0,7,1", ["0"]), (None, ["0", "1"])],
)
def test_cuda_visible_devices_is_respected(asked, seen, monkeypatch, tmp_path):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho '0, GPU-aa, 16000'\necho '1, GPU-bb, 16000'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    if asked is not None:
        monkeypatch.setenv(gpus.VISIBLE, asked)
    assert list(gpus.there()) == seen


def test_two_runs_share_two_pretend_gpus(root, tmp_path):
    """What a run computes on the second device is what it computes on the first."""
    import torch

    from harness.rehearsal.pretend_gpu import PretendGPU

    with PretendGPU(devices=2).use():
        found = []
        for name in (take(spec_of(root), root, tmp_path) for _ in range(2)):
            torch.manual_seed(0)
            x = torch.randn(3, device=f"cuda:{name}")
            assert x.device == torch.device("cuda", int(name))
            found.append((x * 2).cpu())
        assert found[0].equal(found[1])
