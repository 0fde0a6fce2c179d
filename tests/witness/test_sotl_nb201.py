"""Super-networks on NAS-Bench-201 and their trainings beside the author's (sotl sections 3.4 and 4.2.1)."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from witness import sotl_start
from witness.formula import fill, numbers, sketch
from witness.sotl_start import PATHS, SIZES, flat, minibatch, minibatches

from harness.base.settings import build
from harness.runs.record import Run
from harness.spaces.nb201 import EDGES
from harness.spec.experiments import RunSpec
from harness.supernet import nb201_net
from reproduce.sotl import supernets

NETWORK, TRAININGS = numbers("sotl_nb201_network"), numbers("sotl_nb201_training")["cases"]
# Double precision; measured is at most 1e-13. The author's network computes what begins with a map of zeros,
# ours does not: batch norm divides rounding there by the root of 1e-5 at every turn, measured is up to 4e-9.
# Steps on a sum of losses magnify rounding most, to 2e-11 of a weight. Both get a wider tolerance.
CLOSE, WIDE = {"rtol": 1e-10, "atol": 1e-10}, {"rtol": 1e-6, "atol": 1e-6}
WITH_ZEROS = {"edges that begin with zeros", "no way to the output", "multipath", "fairnas"}
WEIGHTS = {"lr_max": 0.025, "lr_min": 0.001, "momentum": 0.9, "weight_decay": 5e-4, "nesterov": True}
HOW: dict[str, dict[str, Any]] = {  # how ours does what the author's flags did
    "spos": {"sampling": "per_cell"},
    "spos without validation": {"sampling": "per_cell"},
    "spos, 16 channels": {"sampling": "per_cell", "channels": 16},
    "multipath": {"paths": 4},
    "fairnas": {"sampling": "fair"},
    "reptile": {"sampling": "per_cell", "inner_steps": 4, "anew": False},
    "metaprox": {"sampling": "per_cell", "inner_steps": 4, "proximal": 10},
    "metaprox, three paths": {
        **{"sampling": "per_cell", "paths": 3, "averaged": False},
        **{"inner_steps": 4, "proximal": 10},
    },
}

pytestmark = pytest.mark.usefixtures("one_thread")


def settings(folder: Path, **changed: object) -> tuple[Run, supernets.Training]:
    config = {
        **{"space": "nb201", "channels": sotl_start.CHANNELS, "cells": 1, "batch_size": sotl_start.IMAGES},
        **{"one_shot_epochs": sotl_start.EPOCHS, "weights": WEIGHTS, **changed},
    }
    spec = RunSpec(
        "sotl", "one_shot", "m", "s", 0, "smoke", config, {"threads": 1}, "reproduce.sotl.one_shot"
    )
    return Run(spec, folder), build(supernets.Training, config, spec.id)


def started(config: supernets.Training) -> nn.Module:
    network = supernets.of_space(config, 10)[0]().double()
    fill(list(network.parameters()))
    return network.train()


def statistics(network: nn.Module) -> list[float]:
    return sketch(flat(list(network.buffers())))


def paths(case: str, name: str = "paths") -> list[tuple[str, ...]]:
    """Those that the author's code drew; a single cell stands for all three."""
    return [tuple(p.split("-")) if "-" in p else (p,) * 3 for p in TRAININGS[case][name]]


class Training:
    """Ours on the author's paths and minibatches; `validated`: validation images pass as well."""

    def __init__(self, case: str, folder: Path, validated: bool = False, **changed: object) -> None:
        run, config = settings(folder, **{**HOW[case], **changed})
        network = started(config)
        images = range(sotl_start.STEPS * sotl_start.IMAGES)  # only their number is asked
        trainer = supernets.SupernetLoop(run, config, network, nb201_net, images)
        steps = sotl_start.EPOCHS * sotl_start.STEPS
        learn, held = (minibatches(first, steps) for first in (sotl_start.LEARN, sotl_start.VALIDATE))
        each, drawn = trainer.passes_each // config.inner_steps, iter(paths(case))
        trainer.draw = lambda rng: [next(drawn) for _ in range(each)]
        trainer.batch = lambda step: learn[step]
        self.weights, self.statistics = [], []
        for step in range(steps):
            trainer.one()
            if validated:
                with torch.no_grad():
                    network(held[step][0], paths(case, "validated")[step])
            if (step + 1) % sotl_start.STEPS == 0:
                self.weights.append(sketch(flat(list(network.parameters()))))
                self.statistics.append(statistics(network))
        self.losses = trainer.losses


def theirs(case: str, name: str) -> list[list[float]]:
    return [epoch[name] for epoch in TRAININGS[case]["epochs"]]


def equal(found: object, expected: object, case: str = "") -> None:
    np.testing.assert_allclose(
        found, expected, **(WIDE if case in {*WITH_ZEROS, "metaprox, three paths"} else CLOSE)
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PATHS)
def test_a_network_forth_and_back(size: str, name: str, tmp_path: Path) -> None:
    """Logits in both modes, gradients, statistics; weights on dead edges begin as the author's do (D14)."""
    (channels, side), expected = SIZES[size], NETWORK["cases"][f"{size} {name}"]
    network = started(settings(tmp_path, channels=channels)[1])
    x, y = minibatch(sotl_start.LEARN, side)
    supernets.begin_gradients(network, PATHS[name])
    logits = network(x, PATHS[name])
    loss = functional.cross_entropy(logits, y)
    loss.backward()
    with_gradient = [p for p in network.parameters() if p.grad is not None]
    assert len(with_gradient) == expected["with_gradient"]
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in network.parameters()]
    equal([loss.item()], expected["loss"], name)
    equal(sketch(logits), expected["logits"], name)
    equal(sketch(flat(gradients)), expected["gradients"], name)
    equal(statistics(network), expected["buffers"], name)
    network.eval()
    equal(sketch(network(x, PATHS[name])), expected["evaluated"], name)


@pytest.mark.parametrize(("cells", "parameters"), [(1, 397_082), (5, 1_692_698)])
def test_the_number_of_parameters(cells: int, parameters: int, tmp_path: Path) -> None:
    network = supernets.of_space(settings(tmp_path, channels=16, cells=cells)[1], 10)[0]()
    assert sum(p.numel() for p in network.parameters()) == parameters
    assert NETWORK["parameters"][f"C16 N{cells}"] == parameters


@pytest.mark.parametrize("case", HOW)
def test_losses_and_weights_of_a_training(case: str, tmp_path: Path) -> None:
    """Paths, schedule, momentum, decay, how losses of several paths and the proximal term are combined."""
    found = Training(case, tmp_path)
    equal(found.losses, TRAININGS[case]["losses"], case)
    equal(found.weights, theirs(case, "weights"), case)


@pytest.mark.parametrize("case", HOW)
def test_running_statistics_of_a_training(case: str, tmp_path: Path) -> None:
    """Where one path or several are trained on, the author's see validation images too, ours do not (D31)."""
    seen = bool(TRAININGS[case]["validated"])
    assert seen == (case in ("spos", "spos, 16 channels", "multipath", "fairnas"))
    equal(Training(case, tmp_path, validated=seen).statistics, theirs(case, "buffers"), case)
    if seen:
        without, with_them = Training(case, tmp_path).statistics[-1][0], theirs(case, "buffers")[-1][0]
        both = {"spos": (12.7517, 8.4153), "spos, 16 channels": (46.4964, 28.3894)}
        both |= {"multipath": (5.9418, 6.2356), "fairnas": (5.7872, 6.0347)}
        assert (without, with_them) == pytest.approx(both[case], abs=1e-4)


def test_reptile_with_an_optimiser_made_anew_is_another_training(tmp_path: Path) -> None:
    """Ours (D8) makes it anew each epoch, without Nesterov momentum; the code stored last does not (D32)."""
    ours, last = Training("reptile", tmp_path, anew=True).losses, TRAININGS["reptile"]["losses"]
    assert (ours[0], last[0]) == pytest.approx((2.4037, 2.3953), abs=1e-4)


def test_the_mean_of_paths_is_another_pull_than_their_sum(tmp_path: Path) -> None:
    """The author sums the losses of the paths of an inner step (D33), MultiPath alone averages them."""
    ours = Training("metaprox, three paths", tmp_path, averaged=True).losses
    summed = TRAININGS["metaprox, three paths"]["losses"]
    assert (ours[0], summed[0]) == pytest.approx((2.4161, 2.3713), abs=1e-4)


def test_without_a_zero_gradient_on_dead_edges_trainings_part(tmp_path: Path, monkeypatch) -> None:
    """A weight that never had a gradient rests; with a zero one it decays until it is used (D14)."""
    monkeypatch.setattr(supernets, "begin_gradients", lambda network, path: None)
    apart = np.abs(np.subtract(Training("spos", tmp_path).losses, TRAININGS["spos"]["losses"]))
    assert apart[:2].max() == 0 and apart.max() > 1e-6


def test_what_is_drawn_has_the_author_s_shape() -> None:
    """SPOS draws a node again whose edges are all `none`; FairNAS has each operation once on every edge."""
    for path in paths("spos"):
        for row in path:
            assert all(
                any(op != "0" for op, (_, end) in zip(row, EDGES, strict=True) if end == node)
                for node in (1, 2, 3)
            )
    rows = [path[0] for path in paths("fairnas")]
    for first in range(0, len(rows), 5):
        assert all(sorted(ops) == list("01234") for ops in zip(*rows[first : first + 5], strict=True))
