"""What is counted on a hollow GPU, and that what is passed over is added."""

import importlib
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from conformance.experiments import cases
from torch import nn

from harness.cli import planning
from harness.rehearsal import counting, forecast, rehearse
from harness.rehearsal.counting import BYTES, FLOPS, KERNELS, STEPS
from harness.rehearsal.pretend_gpu import PretendGPU


class Bottleneck(nn.Module):
    def __init__(self, before: int, inner: int, stride: int) -> None:
        super().__init__()
        after = 4 * inner
        sizes = [(before, inner, 1, 1), (inner, inner, 3, stride), (inner, after, 1, 1)]
        parts = [
            part
            for low, high, kernel, step in sizes
            for part in (
                nn.Conv2d(low, high, kernel, step, kernel // 2, bias=False),
                nn.BatchNorm2d(high),
                nn.ReLU(),
            )
        ]
        self.body, self.skip = nn.Sequential(*parts[:-1]), nn.Identity()
        if stride > 1 or before != after:
            self.skip = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + self.skip(x))


def resnet50() -> nn.Module:
    parts: list[nn.Module] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    parts.append(nn.MaxPool2d(3, 2, 1))
    width = 64
    for inner, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            parts.append(Bottleneck(width, inner, 1 if block else stride))
            width = 4 * inner
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def test_resnet50_takes_what_the_table_of_gpus_says_and_its_known_memory():
    data, _ = forecast.read_with_lines(forecast.DEVICES)
    gpu = PretendGPU(hollow=True)
    with gpu.use(), counting.counting(gpu, 1e9) as count:
        net = resnet50().to("cuda")
        optimiser = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        x, y = torch.empty(256, 3, 224, 224, device="cuda"), torch.zeros(256, dtype=torch.long, device="cuda")
        for _ in range(2):
            before = count.now.copy()
            optimiser.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimiser.step()
        step = count.now - before
        net.eval()
        with torch.no_grad():
            net(x[:1])
    per_image = step / 256
    assert per_image[FLOPS] == pytest.approx(data["reference"]["flops"], rel=0.01)
    assert per_image[BYTES] == pytest.approx(data["reference"]["bytes"], rel=0.01)
    assert (count.now - before - step)[KERNELS] == 174 and step[STEPS] == 1
    assert 20e9 < count.peak < 25e9  # bytes


SMALL = {  # and by how much a count may be wrong; one-shot training and ranking take turns
    "reproduce.sotl.one_shot": ({"image_passes": 30, "architectures": 3}, 0.1),
    "reproduce.icw.supernet_predictions": ({"epochs": 12, "architectures": 2}, 0.01),
    "reproduce.nsa.stochastic": ({"epochs": 5, "probe": None}, 0.01),
}


@pytest.mark.parametrize("module", SMALL)
def test_what_is_passed_over_is_added(module, tmp_path, monkeypatch):
    """Against the same run of which every step is taken."""
    spec, (small, error) = cases(module)[0].spec, SMALL[module]
    spec = replace(spec, config={**spec.config, **small})
    short = rehearse.rehearse(spec, 1e9)
    assert short["note"] in ("", "at most: a loop may end early") and short["whole"], short["note"]
    monkeypatch.setattr(counting, "CALLS", 10**9)
    whole = rehearse.rehearse(spec, 1e9)
    for name in ("flops", "bytes", "kernels", "steps"):
        assert float(whole[name]) > 0
        assert float(short[name]) == pytest.approx(float(whole[name]), rel=error), name
    assert short["memory"] == pytest.approx(whole["memory"], rel=error)
    assert short["checkpoint"] > 1000 and int(short["records"]) > 100


def test_a_rehearsal_that_fails_says_what_with(monkeypatch):
    spec = cases("reproduce.sotl.one_shot")[0].spec
    monkeypatch.setattr(importlib.import_module(spec.module), "build", lambda *_: 1 / 0)
    row = rehearse.rehearse(spec)
    assert row["note"] == "ZeroDivisionError: division by zero" and "flops" not in row


def test_of_each_experiment_one_is_rehearsed_before_any_has_two():
    spec = cases("reproduce.sotl.one_shot")[0].spec
    runs = [
        replace(spec, experiment=experiment, method=method, setting=setting, seed=seed)
        for experiment in ("a", "b")
        for method in ("m", "n")
        for setting in ("s", "t")
        for seed in (0, 1)
    ]
    names = [rehearse.kind(run).removeprefix("sotl/") for run in rehearse.wanted(runs)]
    assert names == ["a/m/s", "b/m/s", "a/n/s", "b/n/s", "a/m/t", "b/m/t", "a/n/t", "b/n/t"]


def test_the_command_says_what_is_left(monkeypatch, capsys):
    monkeypatch.setattr(rehearse, "read", dict)
    options = {"artefacts": ["nsa/figure_4"], "scale": "paper", "minutes": 0.0, "error": False}
    assert planning.rehearse(SimpleNamespace(**options)) == 0
    said = capsys.readouterr().out
    assert re.fullmatch(r"0 of \d+ kinds of runs are rehearsed; the same command goes on\n", said)
