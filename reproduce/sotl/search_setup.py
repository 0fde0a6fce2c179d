"""Table B.1: the training set-up of one-shot and differentiable search, read off the objects it builds."""

from dataclasses import dataclass

from torch import nn

from harness.runs.record import Run
from harness.training.optimisers import (
    DECAY,
    SGD,
    Adam,
    architecture_optimiser,
    learning_rates,
    weight_optimiser,
)

STEPS = 8  # iterations per epoch while reading the schedule: its ends do not depend on their number


@dataclass(frozen=True, kw_only=True)
class OneShot:
    """What every super-network of the thesis on one space trains with (Table B.1)."""

    batch_size: int
    weights: SGD
    one_shot_epochs: int


@dataclass(frozen=True, kw_only=True)
class Config(OneShot):
    """The whole of Table B.1: differentiable search adds its own."""

    architecture: Adam
    darts_epochs: int


def run(run: Run, config: Config) -> None:
    network = nn.Linear(2, 2)
    optimiser = weight_optimiser(network, config.weights)
    first = optimiser.param_groups[0]
    rates = learning_rates(config.weights, config.one_shot_epochs, STEPS)
    adam = architecture_optimiser(network.parameters(), config.architecture)
    texts = {
        "Batch size": config.batch_size,
        "LR scheduler": DECAY,
        "LR max": f"{max(rates):g}",
        "LR min": f"{min(rates):g}",
        "Optimizer": type(optimiser).__name__,
        "Weight decay": f"{first['weight_decay']:g}",
        "Momentum": f"{first['momentum']:g}",
        "Epochs": epochs_text(config.one_shot_epochs, config.darts_epochs),
        "Arch. LR": f"{adam.param_groups[0]['lr']:g}",
        "Arch. weight decay": f"{adam.param_groups[0]['weight_decay']:g}",
        "Arch. optimizer": type(adam).__name__,
    }
    run.table("setup", {"key": list(texts), "value": list(texts.values())})


def epochs_text(one_shot: int, darts: int) -> str:
    """As Table B.1 writes it."""
    return str(one_shot) if one_shot == darts else f"{one_shot} (one-shot) {darts} (DARTS)"
