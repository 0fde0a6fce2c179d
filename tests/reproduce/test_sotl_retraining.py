"""Table 4.3 from end to end on noise: what is chosen, how it is trained, and that a killed run goes on."""

import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from small_runs import SmallRuns, metrics

from harness.runs import checkpoint as checkpoints
from harness.runs.record import Run
from harness.training.batches import Batches, Pixels
from reproduce.sotl import one_shot, retraining

TINY = {
    "space": "darts",
    "dataset": "made-up",
    "channels": 4,
    "cells": 3,
    "batch_size": 8,
    "one_shot_epochs": 1,
    "weights": {"lr_max": 0.025, "lr_min": 0.001, "momentum": 0.9, "weight_decay": 3e-4},
    "sampling": "fair",
    "division": "halves",
    "image_passes": 7 * 2,
    "truth_dataset": "cifar10",
    "truth_epochs": 98,
    "truth_split": "val",
    "truth_trials": "mean",
    "truth_source": "none",
    "architectures": 3,
    "finetunes": [{"lr": 0.01, "batch": 8, "updates": 2}],
    "val_batch": 4,
    "val_images": 8,
    "val_at_once": 8,
    "whole_every": 2,
    "sotl_step": 2,
    "retrain": {"channels": 4, "layers": 3, "epochs": 2, "batch": 16, "train_images": 32},
}


@pytest.fixture(autouse=True, scope="module")
def made_up() -> Iterator[None]:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (48, 32, 32, 3), dtype=np.uint8), rng.integers(0, 10, 48)
    card = SimpleNamespace(title="noise", classes=10, identity=SimpleNamespace(sha256="0"))
    with pytest.MonkeyPatch.context() as patch:
        for module in (one_shot, retraining):
            patch.setattr(module, "load", lambda name, part: SimpleNamespace(x=x, y=y, card=card))
        yield


SMALL = SmallRuns(retraining, TINY)
a_run, done = SMALL.begun, SMALL.done


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return done(tmp_path_factory.mktemp("whole"))


def test_each_score_chooses_its_best_and_errors_are_percent(tmp_path, whole):
    run, config = a_run(tmp_path)
    scorer = one_shot.search(run, config, checkpoints.Checkpoint(run))
    scores = scorer.scores["lr0.01-b8"]
    sums = [rows[:, 0].sum().item() for rows in scores.training]
    accuracies = [found[0][0] for found in scores.whole]
    archs = scorer.ranked.archs
    chosen = pd.read_csv(whole.folder / "chosen.csv").set_index("by")["architecture"]
    assert chosen["sotl"] == archs[int(np.argmin(sums))]
    assert chosen["valacc"] == archs[int(np.argmax(accuracies))]
    assert all(0 <= metrics(whole)[f"error_{score}"] <= 100 for score in ("sotl", "valacc"))


def trained(tmp_path: Path, **protocol: object) -> retraining.RetrainingLoop:
    run, config = a_run(tmp_path, retrain={**TINY["retrain"], **protocol})
    images = retraining.load("made-up", "train")
    arch = one_shot.candidates(run, config).archs[0]
    return retraining.RetrainingLoop(run, config, arch, Batches(images.x, images.y, Pixels.of(images.x)))


def test_the_schedule_falls_to_zero_once_an_epoch(tmp_path):
    again = trained(tmp_path, epochs=10)
    expected = [0.025 * (1 + math.cos(math.pi * epoch / 10)) / 2 for epoch in range(10)]
    assert again.rates[:10] == pytest.approx(expected)


def test_the_second_classifier_counts_four_tenths(tmp_path):
    again = trained(tmp_path)
    logits = torch.randn(6, 10), torch.randn(6, 10)
    again.network = lambda x: logits
    y = torch.arange(6)
    cross = torch.nn.functional.cross_entropy
    assert again.loss(None, y).item() == pytest.approx(
        (cross(logits[0], y) + 0.4 * cross(logits[1], y)).item()
    )


def test_drop_path_grows_and_images_are_cut(tmp_path, monkeypatch):
    again, seen = trained(tmp_path, epochs=4), []
    monkeypatch.setattr(again, "loss", lambda x, y: seen.append(x) or again.network(x)[0].sum() * 0.0)
    again.step = 2
    again._one()
    assert again.network.drop_path == pytest.approx(0.2 * 2 / 4)
    blank = [(x == 0).all(dim=1).flatten(1).sum(dim=1) for x in seen]
    assert (torch.cat(blank) >= 8 * 8).all()  # a square of 16 whose centre is in a corner leaves 8 x 8
