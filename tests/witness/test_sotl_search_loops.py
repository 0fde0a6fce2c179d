"""Loops of searches beside the thesis author's, in two spaces: SoTL-DARTS and second-order DARTS."""

from pathlib import Path

import pytest
from gradient_searches import made_up_searches  # noqa: F401
from witness.formula import numbers, sketch
from witness.sotl_search import near, searched
from witness.sotl_start import flat

THEIRS = numbers("sotl_search_loops")
DECAY = {"nb201": (5e-4, True), "nb1shot1-3": (3e-4, False)}  # and whether Nesterov's momentum
ALGORITHMS = {
    "sotl": {"algorithm": "sotl", "unroll": 3},
    "second order": {"algorithm": "darts_second_order"},
}

pytestmark = pytest.mark.usefixtures("one_thread", "made_up_searches")


@pytest.mark.parametrize("space", DECAY)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_four_minibatches(tmp_path: Path, name: str, space: str) -> None:
    """An epoch of them, of eight images each, at one rate.

    Architecture parameters, weights and, where his has ours, running statistics.
    """
    decay, nesterov = DECAY[space]
    setup = {"lr_max": 0.025, "lr_min": 0.025, "momentum": 0.9, "weight_decay": decay, "nesterov": nesterov}
    given = {"weights": setup, "architecture": {"lr": 3e-4, "weight_decay": 1e-3}, **ALGORITHMS[name]}
    loop = searched(tmp_path, space=space, channels=4, darts_epochs=1, **given)
    theirs = THEIRS[name][space]
    for ours, other in zip(loop.alphas, theirs["alphas"], strict=True):
        near(ours.detach(), other)
    near(sketch(flat(list(loop.network.parameters()))), theirs["weights"])
    if "buffers" in theirs:
        near(sketch(flat(list(loop.network.buffers()))), theirs["buffers"])
