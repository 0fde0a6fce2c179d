"""Training from scratch: the recipe step by step, every estimator, a kill in between, a loss that is lost."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from small_runs import SmallRuns, table
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.base.settings import build
from harness.data import Images
from harness.data.transform import crop_flip
from harness.runs import ground_truth
from harness.spaces import nb201
from harness.spaces.nb201_net import network
from harness.spec.experiments import paper
from reproduce.sotl import scratch_training
from reproduce.sotl.candidates import Candidates
from reproduce.sotl.scratch_training import SCORES, Config, images, trained

ARCHS = [nb201.from_digits(row) for row in ("333333", "121310", "040200", "313123")]
WEIGHTS = {"lr_max": 0.1, "lr_min": 0.0, "momentum": 0.9, "weight_decay": 5e-4, "nesterov": True}
TINY = {
    "space": "nb201",
    "truth_dataset": "cifar10",
    "truth_epochs": 200,
    "truth_split": "test",
    "truth_trials": "mean",
    "truth_source": "a-table",
    "dataset": "cifar10",
    "epochs": 2,
    "schedule_epochs": 4,
    "weights": WEIGHTS,
    "batch": 16,
    "division": "halves",
    "train_images": 40,
    "val_images": 30,
    "mini": 8,
    "shrink": 4,
    "channels": 4,
    "cells": 1,
    "first": 3,
    "also": ["cifar100"],
}


def made_images(n: int = 120) -> Images:
    rng = np.random.default_rng(1)
    card = SimpleNamespace(title="made", identity=SimpleNamespace(sha256="0"))
    return Images(rng.integers(0, 256, (n, 32, 32, 3), np.uint8), rng.integers(0, 10, n), card)


@pytest.fixture(autouse=True)
def made(monkeypatch):
    """No files: made images, and truths that tell which set was asked."""

    def truths(space, archs, dataset, epochs, split, trials, *, source):
        base = {"cifar10": 90.0, "cifar100": 60.0}[dataset]
        assert (space, epochs, split, trials, source) == ("nb201", 200, "test", "mean", "a-table")
        return SimpleNamespace(values=base + np.arange(len(archs)), identity=SimpleNamespace(dataset=dataset))

    def candidates(run, config):
        return Candidates(ARCHS, np.array([91.0, 92.0, 93.0, 94.0]), np.array([1, 2, 3, 4]), {})

    monkeypatch.setattr(scratch_training, "load", lambda name, part: made_images())
    monkeypatch.setattr(ground_truth, "truths", truths)
    monkeypatch.setattr(scratch_training, "candidates", candidates)


SMALL = SmallRuns(scratch_training, TINY)
a_run, done = SMALL.begun, SMALL.done


def test_a_run_leaves_a_row_per_epoch_and_architecture(tmp_path):
    run = done(tmp_path)
    curves, further = table(run, "curves"), table(run, "further")
    assert list(zip(curves["epoch"], curves["arch"], strict=True)) == [
        (e, a) for e in (1, 2) for a in range(3)
    ]
    assert curves["truth"].tolist() == [91.0, 92.0, 93.0] * 2
    assert curves["truth_cifar100"].tolist() == [60.0, 61.0, 62.0] * 2 and curves["params"][2] == 3
    second = further["epoch"] == 2
    summed = curves["sotl"][~second.to_numpy()].to_numpy() + curves["sotl"][second.to_numpy()].to_numpy()
    np.testing.assert_allclose(further["sotl_all"][second], summed)
    assert (curves["sotl"] < 0).all() and curves["valacc"].between(0, 100).all()
    assert table(run, "architectures")["outcome"].tolist() == ["trained"] * 3
    assert {m.name: m.value for m in run.metrics} == {"architectures": 3, "diverged": 0}
    assert table(run, "data")["images"].tolist() == [40, 30]
    assert not (tmp_path / "checkpoint").exists()


def test_the_scores_are_those_of_the_recipe_written_out(tmp_path):
    """One network, plain loops: crops, losses before updates, cosine by iteration, gradients before decay."""
    run, config = a_run(tmp_path)
    train, held = images(run, config)
    found = trained(run, ARCHS[0], train, held, config)

    torch.manual_seed(int(run.stream("weights").integers(2**63)))
    net = network(ARCHS[0], 4, 1, 10).to(memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)
    mean, sd = train.x.mean((0, 1, 2)), train.x.std((0, 1, 2))

    def ready(x: np.ndarray) -> torch.Tensor:
        return torch.from_numpy((x - mean) / sd).float().permute(0, 3, 1, 2)

    total, l1, l2, step = None, 0.0, 0.0, 0
    summed_before = 0.0
    for epoch in range(2):
        rng = run.stream(f"epoch {epoch}")
        order = rng.permutation(40)
        x, y = crop_flip(train.x[order], rng, pad=1), torch.from_numpy(train.y[order])
        net.train()
        losses, right = [], 0
        for part in (slice(0, 16), slice(16, 32), slice(32, 40)):
            optimiser.param_groups[0]["lr"] = 0.05 * (1 + math.cos(math.pi * step / 12))
            optimiser.zero_grad(set_to_none=False)
            logits = net(ready(x[part]))
            loss = functional.cross_entropy(logits, y[part])
            loss.backward()
            gradient = torch.cat([p.grad.flatten() for p in net.parameters()])
            total = gradient.clone() if total is None else total + gradient
            l1, l2 = l1 + gradient.abs().sum().item(), l2 + gradient.norm().item()
            optimiser.step()
            losses += [loss.item()] * len(y[part])
            right += (logits.argmax(1) == y[part]).sum().item()
            step += 1
        net.eval()
        logits, labels = net(ready(held.x)), torch.from_numpy(held.y)
        good = (logits.argmax(1) == labels).double()
        minis = [(epoch * 8 + i) % 30 for i in range(8)]
        summed_before -= np.mean(losses)
        expected = {
            "sotl": -np.mean(losses),
            "valacc": 100 * good.mean().item(),
            "trainacc": 100 * right / 40,
            "tlmini": -losses[-1],
            "valaccmini": 100 * good[minis].mean().item(),
            "sog": total.abs().sum().item(),
            "sogn": l2,
            "sogn_l1": l1,
            "sotl_all": summed_before,
            "valloss": -functional.cross_entropy(logits, labels).item(),
        }
        np.testing.assert_allclose(found[epoch], [expected[name] for name in SCORES], rtol=2e-4)


def test_every_architecture_sees_the_same_minibatches(tmp_path):
    """What an architecture gets does not depend on those trained before it."""
    run, config = a_run(tmp_path)
    train, held = images(run, config)
    alone = trained(run, ARCHS[2], train, held, config)
    curves = table(done(tmp_path / "all"), "curves")
    np.testing.assert_array_equal(curves[curves["arch"] == 2]["sotl"], [row[0] for row in alone])


def test_a_lost_loss_marks_its_architecture_and_spares_the_others(tmp_path, monkeypatch):
    sound = table(done(tmp_path / "sound"), "curves")

    def broken(arch, *shape):
        net = network(arch, *shape)
        if arch == ARCHS[1]:
            torch.nn.init.constant_(net.head[-1].weight, math.nan)
        return net

    monkeypatch.setattr(scratch_training, "network", broken)
    run = done(tmp_path / "broken")
    curves = table(run, "curves")
    lost = curves["arch"] == 1
    assert table(run, "architectures")["outcome"].tolist() == ["trained", "diverged in epoch 1", "trained"]
    assert np.isneginf(curves.loc[lost, ["sotl", "valacc", "sog", "sogn"]]).all(axis=None)
    assert curves.loc[lost, "truth"].tolist() == [92.0, 92.0]  # still ranked: as the worst
    pd.testing.assert_frame_equal(curves[~lost], sound[~lost])
    assert {m.name: m.value for m in run.metrics}["diverged"] == 1


def test_one_schedule_ends_at_zero_and_the_other_has_hardly_begun(tmp_path):
    run, config = a_run(tmp_path)
    train, _ = images(run, config)
    rates = {}
    for name, length in (("short", 2), ("long", 200)):
        training = scratch_training.Training(run, ARCHS[0], train, replace(config, schedule_epochs=length))
        training.epoch(1)
        assert training.optimiser.param_groups[0]["lr"] == training.rates[2 * training.steps - 1]
        rates[name] = training.rates[2 * training.steps]
    assert rates["short"] == pytest.approx(0, abs=1e-9) and rates["long"] > 0.0999


def test_images_are_drawn_apart_and_only_as_many_as_there_are(tmp_path):
    run, config = a_run(tmp_path, shrink=1, train_images=None, val_images=None)
    train, held = images(run, config)
    assert (len(train), len(held)) == (60, 60)
    both = {x.tobytes() for x in train.x} | {x.tobytes() for x in held.x}
    assert both == {x.tobytes() for x in made_images().x}
    with pytest.raises(HarnessError, match="61 val images are wanted of 60"):
        images(run, replace(config, val_images=61))


@pytest.mark.parametrize("scale", ["smoke", "cpu", "paper"])
def test_every_scale_builds_its_config(scale):
    runs = list(paper("sotl").experiments["scratch_training"].runs(scale))
    configs = {run.method: build(Config, run.config, run.id) for run in runs}
    assert configs["epochs200"].schedule_epochs == 200
    assert configs["epochs12"].epochs == configs["epochs12"].schedule_epochs
    assert len({replace(c, epochs=1, schedule_epochs=1) for c in configs.values()}) == 1
