"""Optimisers and schedules: their ends, the warm-up, and what is decayed."""

import math

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler

from harness.training.optimisers import (
    SGD,
    Adam,
    architecture_optimiser,
    learning_rates,
    set_rate,
    weight_optimiser,
)


def network() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4, 2))


def setup(**changed) -> SGD:
    return SGD(**{"lr_max": 0.05, "lr_min": 1e-5, "momentum": 0.9, "weight_decay": 3e-4} | changed)


def stepped(given: SGD, epochs: int, steps: int) -> list[float]:
    """By torch's own schedulers."""
    optimiser, rates = weight_optimiser(network(), given), []
    warm = given.warmup_epochs * steps
    scheduler = lr_scheduler.CosineAnnealingLR(optimiser, epochs * steps - warm, given.lr_min)
    if warm:
        linear = lr_scheduler.LinearLR(optimiser, 1 / (warm + 1), 1.0, warm)
        scheduler = lr_scheduler.SequentialLR(optimiser, [linear, scheduler], [warm])
    for _ in range(epochs * steps + 1):
        rates.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        scheduler.step()
    return rates


@pytest.mark.parametrize(
    ("ends", "warm", "epochs", "steps"),
    [
        ((0.025, 1e-5), 0, 250, 7),
        ((0.05, 1e-5), 5, 600, 11),
        ((0.05, 1e-5), 1, 5, 40),
        ((0.1, 0.0), 0, 200, 13),
        ((0.3, 0.001), 3, 4, 1),
        ((0.1, 0.07), 1, 2, 1),
        ((0.025, 0.0), 0, 1, 1),
        ((0.0137, 0.0011), 2, 9, 317),
    ],
)
def test_every_bit_is_that_of_torchs_schedulers(ends, warm, epochs, steps):
    given = setup(lr_max=ends[0], lr_min=ends[1], warmup_epochs=warm)
    assert learning_rates(given, epochs, steps) == stepped(given, epochs, steps)


@pytest.mark.parametrize(("epochs", "steps"), [(1, 1), (10, 1), (50, 8), (3, 7)])
def test_cosine_goes_from_one_end_to_the_other(epochs, steps):
    found = learning_rates(setup(), epochs, steps)
    total = epochs * steps
    assert len(found) == total + 1
    known = [1e-5 + (0.05 - 1e-5) * (1 + math.cos(math.pi * i / total)) / 2 for i in range(total + 1)]
    assert found == pytest.approx(known, abs=1e-9)


@pytest.mark.parametrize(("warm", "epochs", "steps"), [(1, 5, 4), (5, 20, 3), (2, 3, 1)])
def test_warm_up_is_linear_and_the_cosine_follows(warm, epochs, steps):
    found = learning_rates(setup(warmup_epochs=warm), epochs, steps)
    start, total = warm * steps, epochs * steps
    for i in range(start + 1):
        share = (1 + i * start / start) / (start + 1)  # 1/(n+1), 2/(n+1), … 1
        assert found[i] == pytest.approx(0.05 * share)
    assert max(found) == pytest.approx(0.05) and found.index(max(found)) == start
    for i in range(start, total + 1):
        cosine = (1 + math.cos(math.pi * (i - start) / (total - start))) / 2
        assert found[i] == pytest.approx(1e-5 + (0.05 - 1e-5) * cosine, abs=1e-9)
    assert found[-1] == pytest.approx(1e-5)


def test_decay_is_for_all_or_spares_vectors_and_biases():
    net = network()
    (everything,) = weight_optimiser(net, setup()).param_groups
    assert len(everything["params"]) == 6 and everything["weight_decay"] == 3e-4
    decayed, spared = weight_optimiser(net, setup(decay_vectors=False)).param_groups
    assert [id(p) for p in decayed["params"]] == [id(net[0].weight), id(net[3].weight)]
    assert {id(p) for p in spared["params"]} == {
        id(p) for p in (net[0].bias, net[1].weight, net[1].bias, net[3].bias)
    }
    assert (decayed["weight_decay"], spared["weight_decay"]) == (3e-4, 0.0)


def test_a_bias_of_any_shape_is_spared():
    net = nn.Module()
    net.part = nn.Module()
    net.part.bias = nn.Parameter(torch.zeros(2, 2))
    net.weight = nn.Parameter(torch.zeros(2, 2))
    decayed, spared = weight_optimiser(net, setup(decay_vectors=False)).param_groups
    assert decayed["params"] == [net.weight] and spared["params"] == [net.part.bias]


def test_a_rate_is_set_for_all_groups():
    optimiser = weight_optimiser(network(), setup(decay_vectors=False))
    set_rate(optimiser, 0.03)
    assert [group["lr"] for group in optimiser.param_groups] == [0.03, 0.03]


def test_decay_really_shrinks_what_it_should():
    net = network()
    before = {n: p.detach().clone() for n, p in net.named_parameters()}
    optimiser = weight_optimiser(net, setup(decay_vectors=False, weight_decay=0.1, momentum=0.0))
    for p in net.parameters():
        p.grad = torch.zeros_like(p)
    optimiser.step()
    for name, p in net.named_parameters():
        factor = 1 - 0.05 * 0.1 if p.ndim > 1 else 1.0
        assert torch.allclose(p, before[name] * factor)


def test_momentum_nesterov_and_adam_are_passed_on():
    (group,) = weight_optimiser(network(), setup(nesterov=True)).param_groups
    assert (group["momentum"], group["nesterov"]) == (0.9, True)
    optimiser = architecture_optimiser(network().parameters(), Adam(3e-4, 1e-3, (0.5, 0.999)))
    (group,) = optimiser.param_groups
    assert (group["lr"], group["weight_decay"], group["betas"]) == (3e-4, 1e-3, (0.5, 0.999))
    assert type(optimiser) is torch.optim.Adam
