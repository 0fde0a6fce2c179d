"""Updates of SoTL-DARTS beside the thesis author's loop in the DARTS space (Algorithm 3, D43, D44)."""

from pathlib import Path

import pytest
from gradient_searches import made_up_searches  # noqa: F401
from witness.formula import numbers, sketch
from witness.sotl_search import near, searched
from witness.sotl_start import flat

THEIRS = numbers("sotl_search")
SPACE = {
    "space": "darts",
    "channels": 4,
    "cells": 3,
    "operations": "s2",
    "batch_size": 8,  # of 32 images: four minibatches, in chunks of three and one
    "darts_epochs": 1,
    "weights": {"lr_max": 0.025, "lr_min": 0.025, "momentum": 0.9, "weight_decay": 3e-4},
    "architecture": {"lr": 3e-4, "weight_decay": 1e-3},
    "unroll": 3,
    "momentum_restored": False,
}
METHODS = {"sotl": "sotl", "val_multiple": "sovl_slip"}  # as his script calls them

pytestmark = pytest.mark.usefixtures("one_thread", "made_up_searches")


@pytest.mark.parametrize("method", METHODS)
def test_two_updates(tmp_path: Path, method: str) -> None:
    """Architecture parameters, weights and running statistics behind an epoch of four minibatches.

    SoVL as his script has it, with parameters in place of their gradients.
    """
    loop, theirs = searched(tmp_path, **SPACE, algorithm=METHODS[method]), THEIRS[method]
    for ours, other in zip(loop.alphas, theirs["alphas"], strict=True):
        near(ours.detach(), other)
    near(sketch(flat(list(loop.network.parameters()))), theirs["weights"])
    near(sketch(flat(list(loop.network.buffers()))), theirs["buffers"])
