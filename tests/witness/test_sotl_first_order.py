"""Ten alternating steps of first-order DARTS beside another implementation's trainer (Algorithm 2)."""

from pathlib import Path

import numpy as np
import pytest
from gradient_searches import SEARCHES, made_up_searches  # noqa: F401
from witness.formula import fill, noise, numbers, sketch
from witness.sotl_search import near
from witness.sotl_start import LEARN, VALIDATE, flat, minibatch

from harness.training.batches import Batches, Pixels
from reproduce.sotl.gradient_steps import SearchLoop
from reproduce.sotl.mixed_networks import MixedNetwork

THEIRS = numbers("darts_second_opinion")
SETUP = {
    "channels": 4,
    "head_norm": "running",  # as theirs is
    "darts_epochs": 1,
    "weights": {"lr_max": 0.025, "lr_min": 0.025, "momentum": 0.9, "weight_decay": 5e-4, "nesterov": True},
    "architecture": {"lr": 3e-4, "weight_decay": 1e-3},
}

pytestmark = pytest.mark.usefixtures("one_thread", "made_up_searches")


def test_ten_steps(tmp_path: Path) -> None:
    """Architecture parameters and weights; the architecture moves first."""
    run, config = SEARCHES.begun(tmp_path, **SETUP)
    x = np.zeros((80, 8, 8, 3), np.uint8)
    ten = Batches(x, np.zeros(80, int), Pixels(np.zeros(3), np.ones(3)))
    mixed = MixedNetwork(run, config, 10)
    fill(list(mixed.network.double().parameters()))
    mixed.parameters[0].data = 1e-3 * noise(50_000, 6, 5)
    loop = SearchLoop(run, config, mixed, ten, ten)
    loop.batch, loop.held_batch = (
        lambda step: minibatch(LEARN + step),
        lambda step: minibatch(VALIDATE + step),
    )
    loop._curvature = dict
    while loop.step < loop.total:
        loop.one()
    assert loop.total == 10 and THEIRS["largest_norm"] < 5
    near(mixed.parameters[0].detach(), THEIRS["alphas"])
    near(sketch(flat(list(mixed.network.parameters()))), THEIRS["weights"])
