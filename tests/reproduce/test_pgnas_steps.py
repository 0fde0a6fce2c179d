"""PGNAS: a step of training and of fine-tuning against a plain computation of it."""

import copy
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from pgnas_runs import TINY, loop
from torch import Tensor
from torch.nn import functional

from reproduce.pgnas import training
from reproduce.pgnas.training import TrainingLoop, Tuning, TuningLoop, cut, drawn


def seed_of(training: TrainingLoop, name: str) -> int:
    return int(training.run.stream(name).integers(2**63))


def by_hand(training: TrainingLoop) -> dict[str, Tensor]:
    """All parameters behind the first step, by autograd of the whole loss and SGD's formula."""
    config, network = training.config, copy.deepcopy(training.network).train()
    x, y = training.batch(0)
    if config.cutout:
        x = cut(x, training.run.stream("cutout of noise of step 0"), config.cutout)
    torch.manual_seed(seed_of(training, "noise of step 0"))
    network.wear(drawn(network, config, len(x)))
    loss = functional.cross_entropy(network(x), y)
    if network.second_logits is not None:
        loss = loss + config.second * functional.cross_entropy(network.second_logits, y)
    if config.prior is not None:
        loss = loss + network.regulariser(config.prior)
    named = {name: p for name, p in network.named_parameters() if p.requires_grad}
    gradients = dict(zip(named, torch.autograd.grad(loss, named.values()), strict=True))
    if config.clip is not None:
        length = math.sqrt(sum(g.square().sum().item() for g in gradients.values()))
        gradients = {name: g * min(1, config.clip / length) for name, g in gradients.items()}
    moved = {}
    for name, p in named.items():
        of_logits = name == "drop_logits"
        g = gradients[name] + (0 if of_logits else config.weights.weight_decay) * p.detach()
        rate = config.weights.lr_max * (config.drop_rate if of_logits else 1)
        moved[name] = p.detach() - rate * (1 + config.weights.momentum) * g  # Nesterov, from rest
    return moved


DECAYED = {**TINY["weights"], "weight_decay": 0.02}
STEPS = {
    "guided": {"clip": None},
    "strong prior": {"clip": None, "l2": 500.0, "n": 100.0, "drop_rate": 3.0},
    "clipped": {"clip": 0.05},
    "not coupled": {"clip": None, "coupled": False, "l2": 500.0},
    "half and printed": {"clip": None, "half": True, "entropy": "printed", "l2": 500.0},
    "behind": {"clip": None, "mask_after": True, "l2": 500.0},
    "per channel": {"clip": None, "granularity": "channel", "l2": 500.0},
    "scaled up": {"clip": None, "rescale": True},
    "cutout": {"clip": None, "cutout": 5},
    "random": {"masks": "hard", "learn": False, "rescale": True, "weights": DECAYED, "clip": 0.05},
    "whole": {"masks": "none", "l2": None, "weights": DECAYED},
}


@pytest.mark.parametrize("case", STEPS)
def test_a_step_is_that_of_the_whole_loss(case: str, tmp_path: Path):
    """Without the regulariser's gradient, clipping, cutout or decay some case differs."""
    found = loop(tmp_path, **STEPS[case])
    wanted = by_hand(found)
    before = {name: p.detach().clone() for name, p in found.network.named_parameters()}
    found.one()
    for name, p in found.network.named_parameters():
        torch.testing.assert_close(p.detach(), wanted.get(name, before[name]), rtol=2e-4, atol=2e-7, msg=name)


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({"epochs": 2}, [0.05, 0.05 * (1 + math.cos(math.pi / 6)) / 2, 0.025 * (1 + math.cos(math.pi / 3))]),
        ({"epochs": 2, "drops": [1]}, [0.05, 0.05, 0.05, 0.005]),
        ({"epochs": 3, "cycles": [1, 2]}, [0.05, 0.0375, 0.0125, 0.05]),
    ],
)
def test_the_optimiser_has_the_rate_of_each_step(changed: dict, wanted: list[float], tmp_path: Path):
    """Three steps are an epoch."""
    found, rates = loop(tmp_path, drop_rate=4.0, **changed), []
    for _ in wanted:
        found.one()
        rates.append([group["lr"] for group in found.optimiser.param_groups])
    assert [weights for weights, _ in rates] == pytest.approx(wanted)
    assert [drops for _, drops in rates] == pytest.approx([4 * rate for rate in wanted])


def test_cutout_cuts_one_square_out_of_each_image():
    x = torch.randn(40, 3, 12, 12) + 10
    found = cut(x, np.random.default_rng(0), 4)
    gone = found == 0
    assert torch.equal(found[~gone], x[~gone])
    assert (gone.all(1) == gone.any(1)).all()  # of all colours alike
    for image in gone[:, 0]:
        rows, columns = image.any(1), image.any(0)
        assert torch.equal(image, rows[:, None] & columns) and rows.sum() <= 4 >= columns.sum()
    assert gone[:, 0].sum((1, 2)).max() == 16


def tuned(training: TrainingLoop, mask: Tensor) -> TuningLoop:
    how = Tuning(lr=0.05, epochs=1, weight_decay=0.02)
    return TuningLoop(training.run, training.config, how, training.network, training.images, mask)


def test_fine_tuning_keeps_its_mask_cuts_out_and_decays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It had left out cutout, which the authors' script has."""
    started = loop(tmp_path, cutout=5)
    mask = torch.ones(len(started.network.of_channel))
    mask[0] = 0
    sizes = []
    monkeypatch.setattr(training, "cut", lambda x, rng, size: sizes.append(size) or x)
    found = tuned(started, mask)
    logits, stem = started.network.drop_logits.detach().clone(), started.network.stem.weight.detach().clone()
    found.one()
    assert sizes == [5]
    assert torch.equal(started.network.drop_logits, logits)
    red = started.network.stem.weight.detach()[:, 0]  # no image reaches it: decay alone moves it
    torch.testing.assert_close(red, stem[:, 0] * (1 - 0.05 * 1.9 * 0.02))
    assert not torch.allclose(started.network.stem.weight.detach()[:, 1], stem[:, 1], rtol=1e-4)


def test_a_second_classifier_trains_and_is_not_fine_tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """And drop path acts in fine-tuning as at the training's end, also in a run that goes on there."""
    small = training.Steps.batch

    def large(self: TrainingLoop, step: int) -> tuple[Tensor, Tensor]:
        x, y = small(self, step)
        return x.repeat(1, 1, 4, 4), y

    monkeypatch.setattr(training.Steps, "batch", large)
    started = loop(tmp_path, network="enas", blocks=3, side=32, clip=None)
    second = started.network.auxiliary.head.weight
    first = second.detach().clone()
    wanted = by_hand(started)["auxiliary.head.weight"]
    started.one()
    torch.testing.assert_close(second.detach(), wanted, rtol=1e-3, atol=1e-6)
    assert not torch.equal(second, first)
    after = second.detach().clone()
    tuned(started, torch.ones(len(started.network.of_channel))).one()
    assert torch.equal(second, after) and started.network.progress == 1.0
