"""Loops of searches beside the thesis author's, in two spaces: SoTL-DARTS and second-order DARTS."""

from pathlib import Path
from typing import Any

import pytest
from gradient_searches import SEARCHES, made_up_searches  # noqa: F401
from witness.formula import noise, numbers, sketch
from witness.sotl_search import filled, images, near
from witness.sotl_start import flat

from reproduce.sotl import gradient_search
from reproduce.sotl.gradient_steps import SearchLoop
from reproduce.sotl.mixed_networks import MixedNetwork

THEIRS = numbers("sotl_search_loops")
DECAY = {"nb201": (5e-4, True), "nb1shot1-3": (3e-4, False)}  # and whether Nesterov's momentum
ALGORITHMS = {
    "sotl": {"algorithm": "sotl", "unroll": 3},
    "second order": {"algorithm": "darts_second_order"},
}

pytestmark = pytest.mark.usefixtures("one_thread", "made_up_searches")


def searched(folder: Path, space: str, **changed: Any) -> SearchLoop:
    """An epoch of four minibatches of eight images, at one rate."""
    decay, nesterov = DECAY[space]
    setup = {"lr_max": 0.025, "lr_min": 0.025, "momentum": 0.9, "weight_decay": decay, "nesterov": nesterov}
    adam = {"lr": 3e-4, "weight_decay": 1e-3}
    given = {"space": space, "channels": 4, "darts_epochs": 1, "weights": setup, "architecture": adam}
    run, config = SEARCHES.begun(folder, **given, truth_source="none", **changed)
    train, held, classes = gradient_search.parts(run, config)
    mixed = MixedNetwork(run, config, classes)
    filled(mixed.network)
    for i, alpha in enumerate(mixed.parameters):
        alpha.data = 1e-3 * noise(50_000 + i, *alpha.shape)
    loop = SearchLoop(run, config, mixed, train, held)
    loop.batch, loop.held_batch = lambda step: images(2 * step), lambda step: images(2 * step + 1)
    loop._curvature = dict
    while loop.step < loop.total:
        loop.one()
    return loop


@pytest.mark.parametrize("space", DECAY)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_four_minibatches(tmp_path: Path, name: str, space: str) -> None:
    """Architecture parameters, weights and, where his has ours, running statistics."""
    loop, theirs = searched(tmp_path, space, **ALGORITHMS[name]), THEIRS[name][space]
    for ours, other in zip(loop.alphas, theirs["alphas"], strict=True):
        near(ours.detach(), other)
    near(sketch(flat(list(loop.network.parameters()))), theirs["weights"])
    if "buffers" in theirs:
        near(sketch(flat(list(loop.network.buffers()))), theirs["buffers"])
