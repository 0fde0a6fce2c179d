"""Small searches by gradient on images of noise, for the tests of Algorithms 1 to 3."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from small_runs import SmallRuns
from torch import Tensor

from harness.base.errors import HarnessError
from harness.runs import ground_truth
from harness.spaces.nb201 import SPACE
from reproduce.sotl import gradient_search, gradient_steps, one_shot
from reproduce.sotl.curvature import Ends
from reproduce.sotl.gradient_steps import SearchLoop
from reproduce.sotl.mixed_networks import MixedNetwork

TINY = {
    "space": "nb201",
    "dataset": "made-up",
    "channels": 2,
    "cells": 1,
    "batch_size": 8,
    "one_shot_epochs": 1,
    "darts_epochs": 2,
    "weights": {"lr_max": 0.05, "lr_min": 0.001, "momentum": 0.9, "weight_decay": 5e-4, "nesterov": True},
    "architecture": {"lr": 0.01, "weight_decay": 1e-3},
    "division": "halves",
    "curvature_images": 4,
    "truth_datasets": ["cifar10", "cifar100"],
    "truth_epochs": 200,
    "truth_split": "test",
    "truth_trials": "mean",
    "truth_source": "made-up",
}
SOTL = {"algorithm": "sotl", "unroll": 3}
SOVL = {**SOTL, "algorithm": "sovl"}


@pytest.fixture
def made_up_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Images of noise, and a truth that is the number of parameters."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (64, 8, 8, 3), dtype=np.uint8), rng.integers(0, 10, 64)
    card = SimpleNamespace(title="noise", classes=10, identity=SimpleNamespace(sha256="0"))
    monkeypatch.setattr(one_shot, "load", lambda name, part: SimpleNamespace(x=x, y=y, card=card))
    monkeypatch.setattr(ground_truth, "truths", known)
    monkeypatch.setattr(gradient_steps, "eigenvalues", lambda loss, alphas: Ends(1.0, 0.0))


def known(space: str, archs: list[str], *asked: Any, source: str) -> SimpleNamespace:
    if source == "lacking" and len(archs) > 1:
        raise HarnessError(f"the source has no {archs[-1]}")
    return SimpleNamespace(values=90 + SPACE.params_of(archs, "cifar10") / 1e6, identity={"source": source})


SEARCHES = SmallRuns(gradient_search, TINY)


def begun(folder: Path, **changed: Any) -> SearchLoop:
    """In double precision, so that ways of computing can be told from rounding."""
    run, config = SEARCHES.begun(folder, **changed)
    train, held, classes = gradient_search.parts(run, config)
    mixed = MixedNetwork(run, config, classes)
    mixed.network.double()
    loop = SearchLoop(run, config, mixed, train, held)
    for name in ("batch", "held_batch"):
        taken = getattr(loop, name)
        setattr(loop, name, lambda step, taken=taken: _double(taken(step)))
    loop._curvature = dict
    return loop


def _double(batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    return batch[0].double(), batch[1]
