"""What a record says of how its run was made: threads, code and device as they were, not as they are."""

import subprocess
import sys

import pytest
import tiny
import torch

from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import Layout
from harness.code.code_id import code_id
from harness.runs.execute import execute
from harness.runs.record import read_record
from harness.spec.experiments import find_run

RUN = "mini/noise/strong/low/s0"
MODULE = "reproduce/mini/noise.py"
LOADED = (
    "import sys, harness.cli.commands, harness.runs.execute; print({'numpy', 'torch'} & set(sys.modules))"
)


@pytest.fixture
def root(tmp_path):
    yield tiny.project(tmp_path)
    tiny.forget()


def recorded(root) -> dict:
    layout = Layout("smoke", root)
    with tiny.importable(root):
        execute(find_run(RUN, "smoke", root), layout)
    return read_record(layout.run_folder(RUN))


def test_numpy_and_torch_are_loaded_after_their_number_of_threads_is_set():
    """They read it once; loaded before, a run by hand had all cores and a record that said one thread."""
    done = subprocess.run([sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("set()\n", "")


def test_the_code_is_that_which_ran_though_its_file_was_edited_meanwhile(root):
    edit = "    open(__file__, 'a').write('Config.more = 1\\n')\n    run.metric"
    tiny.edit(root, MODULE, "    run.metric", edit)
    before = code_id("reproduce.mini.noise", root)
    assert recorded(root)["code"] == before
    tiny.forget()
    assert code_id("reproduce.mini.noise", root) != before


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_device_is_that_of_the_config(root, device, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    tiny.edit(root, MODULE, "    shift: float\n", f'    shift: float\n    device: str = "{device}"\n')
    assert recorded(root)["device"] == device


def test_without_a_gpu_a_run_that_wants_one_ends_before_it_reads_anything(root, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    tiny.edit(root, MODULE, "    shift: float\n", '    shift: float\n    device: str = "cuda"\n')
    tiny.edit(root, MODULE, "    run.metric", "    raise AssertionError\n    run.metric")
    with pytest.raises(HarnessError, match=f"{RUN} wants a GPU and torch sees none"):
        recorded(root)


def test_without_a_choice_of_device_it_was_a_processor(root):
    assert recorded(root)["device"] == "cpu"


def test_a_run_that_a_killed_campaign_left_at_work_is_not_begun_a_second_time(tmp_path):
    """Once an orphan and the next campaign's process wrote into one folder."""
    wait = "    import pathlib, time\n    print('begun', flush=True)\n"
    wait += "    while not pathlib.Path('go').exists():\n        time.sleep(0.05)\n    truth = run"
    root = tiny.checkout(tmp_path, MODULE=tiny.MODULE.replace("    truth = run", wait, 1))
    command = [sys.executable, "-m", "harness", "run", RUN]
    orphan = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)
    assert orphan.stdout.readline() == "begun\n"
    second = subprocess.run(command, cwd=root, capture_output=True, text=True)
    folder = Layout("smoke", root).run_folder(RUN)
    told = f"harness: another process works in {folder}, perhaps of a campaign that was killed: wait for"
    assert second.stderr.startswith(told) and second.stderr.count("\n") == 1
    assert (second.returncode, second.stdout) == (1, "")
    orphan.kill()
    orphan.communicate()
    (root / "go").touch()
    assert subprocess.run(command, cwd=root).returncode == 0  # the lock went with its process
    assert read_record(folder)["status"] == "done"
