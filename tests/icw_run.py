"""Super-network runs of the icw paper on images of noise, each in well under a second."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from small_runs import SmallRuns, metrics

from harness.runs import ground_truth
from harness.runs.record import Run
from harness.spaces.nb201 import SPACE
from reproduce.icw import candidates, supernet_predictions

__all__ = ["a_run", "done", "made_up", "metrics", "table"]
TINY = {
    "network": "nb201",
    "sub_space": "only-conv",
    "dataset": "made-up",
    "channels": 4,
    "cells": 1,
    "weights": {
        "lr_max": 0.025,
        "lr_min": 1e-5,
        "momentum": 0.9,
        "weight_decay": 3e-4,
        "decay_vectors": False,
    },
    "epochs": 2,
    "batch_size": 8,
    "side": 8,
    "label_smoothing": 0,
    "dropout": 0,
    "gradient_clip": None,
    "augmentation": {"pixel_shift": 1},
    "evaluation": {},
    "division": "halves",
    "held_images": 16,
    "architectures": 5,
    "calibration_passes": 3,
    "val_batch": 8,
}
SPLIT = {"dependence": {"kind": "split"}, "split_share": 0.5}
PER_COPY = {"dependence": {"kind": "split", "momentum": "per_copy"}, "split_share": 0.5}
BIAS = {"dependence": {"kind": "bias"}}


def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Images of noise, and a truth that is the number of parameters."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (64, 16, 16, 3), dtype=np.uint8), rng.integers(0, 10, 64)
    card = SimpleNamespace(title="noise", classes=10, identity=SimpleNamespace(sha256="0"))
    monkeypatch.setattr(candidates, "load", lambda name, part: SimpleNamespace(x=x, y=y, card=card))

    def truths(space, archs, *asked, source):
        values = 90 + SPACE.params_of(archs, "cifar10") / 1e6
        return SimpleNamespace(values=values, identity={"source": source})

    monkeypatch.setattr(ground_truth, "truths", truths)


SMALL = SmallRuns(supernet_predictions, TINY)
a_run, done = SMALL.begun, SMALL.done


def table(run: Run, name: str = "predictions") -> pd.DataFrame:
    return pd.read_csv(run.folder / f"{name}.csv")
