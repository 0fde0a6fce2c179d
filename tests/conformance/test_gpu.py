"""Every experiment that may train on a GPU, on a pretend one: found by its file, run in small.

It leaves the bits that it leaves on the processor, where that takes the branches that a GPU takes.
"""

import importlib
from contextlib import nullcontext
from dataclasses import replace
from unittest import mock

import pytest
import torch
from conformance.experiments import Case, Killed, cases, checkpoints, modules
from torch import nn
from torch.optim import optimizer

from harness.rehearsal.pretend_gpu import PretendGPU
from harness.supernet.depthwise_net import Depthwise
from harness.supernet.quick_depthwise_net import QuickDepthwise
from harness.supernet.quick_pool_net import QuickPool

QUICK = {QuickPool: nn.AvgPool2d, QuickDepthwise: nn.Conv2d, Depthwise: nn.Conv2d}  # on a processor alone
# Between two updates: a loss is looked at, and by SoG and its kin the five norms of section 4.2.4.
WAITS = 7
# What was counted where it is more: each sum of nsa's nodes and each check of mixed weights looks at numbers.
MORE = {"nsa": 72, "sotl.gradient_search": 111, "sotl.searched_retraining": 45}
SMALLER = {"darts_epochs": 1}
# Told to who may edit them: records stand on this code.
ONLINE = pytest.mark.xfail(reason="the loop takes loaded weights where they are", strict=True)
FIRST: dict[str, dict] = {}


def on_gpus() -> list:
    """The first tiny run of each module whose config names a device."""
    found = []
    for module in modules():
        if "device" in importlib.import_module(module).Config.__dataclass_fields__:
            case = cases(module)[0]
            config = {**case.spec.config, **{k: v for k, v in SMALLER.items() if k in case.spec.config}}
            case = Case(case.name, replace(case.spec, config=config))
            found.append(pytest.param(case, id=case.name))
    return found


CASES = pytest.mark.parametrize("case", on_gpus())


@pytest.fixture(autouse=True)
def plain_branches(monkeypatch):
    """Written otherwise for a processor, operations are the same up to rounding only."""
    for quick, plain in QUICK.items():
        monkeypatch.setattr(quick, "forward", plain.forward)
    monkeypatch.setattr("reproduce.sotl.perceptron.ONEDNN", False)


def on(case: Case, device: str, folder, gpu: PretendGPU | None = None) -> dict:
    with gpu.use() if gpu else PretendGPU().use() if device == "cuda" else nullcontext():
        return case.run(folder, config={**case.spec.config, "device": device})


def here(case: Case, tmp_path) -> dict:
    if case.name not in FIRST:
        FIRST[case.name] = on(case, "cpu", tmp_path / "processor")
    return FIRST[case.name]


def test_every_experiment_with_a_device_is_found():
    assert len(on_gpus()) >= 14


@CASES
def test_on_a_gpu_it_leaves_the_same_bits_and_waits_seldom(case, tmp_path):
    """How often a processor waits for a GPU between zeroing gradients and moving weights: the median."""
    gpu, began, waited = PretendGPU(), [0], []
    plain = torch.optim.Optimizer.zero_grad

    def begins(self, set_to_none: bool = True) -> None:
        began[0] = gpu.waits.total()
        plain(self, set_to_none)

    hook = optimizer.register_optimizer_step_post_hook(lambda *_: waited.append(gpu.waits.total() - began[0]))
    try:
        with mock.patch.object(torch.optim.Optimizer, "zero_grad", begins):
            assert on(case, "cuda", tmp_path / "gpu", gpu) == here(case, tmp_path)
    finally:
        hook.remove()
    assert gpu.uploads, "nothing was moved there"
    most = next((n for name, n in MORE.items() if case.name.startswith(name)), WAITS)
    assert sorted(waited or [0])[len(waited) // 2] <= most, waited


# One of each way to keep what is trained: by a loop, a paper's own, by architecture, by phases.
CROSSING = ("icw.supernet_p", "ldn", "nsa.stochastic", "pgnas.supernets", "sotl.on", "sotl.scratch")


def crossing() -> list:
    """From a GPU to a processor, and the other way."""
    found = []
    for case in (case for case in on_gpus() if case.id.startswith(CROSSING)):
        for first, then in (("cuda", "cpu"), ("cpu", "cuda")):
            online = [ONLINE] if case.id.startswith("sotl.online") else []
            marks = [*case.marks, *online] if then == "cuda" else []
            found.append(pytest.param(*case.values, first, then, id=f"{case.id}-{then}", marks=marks))
    return found


@pytest.mark.parametrize("case, first, then", crossing())
def test_killed_on_one_device_it_goes_on_on_the_other(case, first, then, tmp_path, monkeypatch):
    """Where the device is no part of a run's identity, as it is: else what was trained elsewhere is left."""
    monkeypatch.setattr("harness.runs.checkpoint.why_other", lambda *_, **__: "")
    with checkpoints(killing=True) as kept:
        try:
            on(case, first, tmp_path)
        except Killed:
            assert len(kept) == 1
    with mock.patch("harness.runs.stale.why_other", lambda *_, **__: ""):
        assert on(case, then, tmp_path) == here(case, tmp_path / "apart")
    assert not list(tmp_path.glob("**/checkpoint.refused"))


def test_a_checkpoint_of_another_device_is_told_and_begins_anew(tmp_path, capsys):
    """The same bits on two devices are promised for a pretend GPU alone."""
    case = cases("reproduce.sotl.one_shot")[0]
    with checkpoints(killing=True), pytest.raises(Killed):
        on(case, "cuda", tmp_path)
    assert on(case, "cpu", tmp_path) == here(case, tmp_path / "apart")
    assert "does not count, as its config has changed" in capsys.readouterr().err


def test_mixed_precision_is_asked_of_the_device_that_computes(tmp_path, monkeypatch):
    case, asked = cases("reproduce.sotl.one_shot")[0], []
    plain = torch.autocast.__init__

    def noted(self, device_type, dtype=None, enabled=True, **more):
        asked.append((device_type, dtype, enabled))
        plain(self, device_type, dtype=dtype, enabled=False, **more)

    monkeypatch.setattr(torch.autocast, "__init__", noted)
    on(Case(case.name, replace(case.spec, config={**case.spec.config, "amp": True})), "cuda", tmp_path)
    assert set(asked) == {("cuda", torch.bfloat16, True)}
