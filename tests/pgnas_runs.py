"""The config of the tests' small runs of PGNAS, and a training that has begun."""

from pathlib import Path

from small_runs import SmallRuns

from harness.training.seeded import seeded
from reproduce.pgnas import supernets
from reproduce.pgnas.networks import build
from reproduce.pgnas.training import TrainingLoop

TINY = {
    "network": "shake-shake",
    "dataset": "digits",
    "width": 4,
    "blocks": 1,
    "stem": 4,
    "side": 8,
    "l2": 5.0,
    "n": 1000.0,
    "weights": {"lr_max": 0.05, "lr_min": 0.0, "momentum": 0.9, "weight_decay": 0.0, "nesterov": True},
    "epochs": 2,
    "batch_size": 20,
    "train_images": 60,
    "choose_images": 20,
    "test_images": 20,
    "candidates": 6,
    "counts": [2, 6],
    "own_statistics": 1,
    "statistics_batches": 2,
    "tuning": {"lr": 0.01, "epochs": 1, "weight_decay": 1e-4},
}


SMALL = SmallRuns(supernets, TINY)


def loop(folder: Path, **changed: object) -> TrainingLoop:
    run, config = SMALL.begun(folder, **changed)
    train, _, _ = supernets.images(run, config)
    return TrainingLoop(run, config, seeded(run, "weights", lambda: build(config), "cpu"), train)
