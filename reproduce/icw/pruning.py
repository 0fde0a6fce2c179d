"""Figure 3 and section 3.1.1: the improvement that pruning by a prediction brings, on real truths."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness.runs.ground_truth import ask
from harness.runs.record import Run
from harness.spaces import nb201
from harness.supernet.sub_space import SubSpace

# The sub-spaces of section 3.1.1: operations that an architecture may use, as digits.
SUB_SPACES = {"full": "01234", "no-zero": "1234", "only-conv": "23"}


@dataclass(frozen=True)
class Config:
    """What predicts, on which architectures, and the truth that it is measured against."""

    sub_space: Literal["full", "no-zero", "only-conv"]
    predictor: Literal["params", "short_training", "truth", "none"]
    dataset: str
    epochs: int
    split: str
    trials: str
    source: str
    architectures: int  # sampled; the whole sub-space where it has no more
    short_epochs: int = 12
    short_split: str = "test"
    short_trials: str = "mean"


def run(run: Run, config: Config) -> None:
    space = SubSpace(SUB_SPACES[config.sub_space]).enumerate()
    if config.architectures < len(space):
        picked = run.stream("architectures").choice(len(space), config.architectures, replace=False)
        space = [space[i] for i in np.sort(picked)]
    how = config.epochs, config.split, config.trials
    truth = ask(run, "nb201", space, config.dataset, *how, source=config.source)
    table = {"truth": truth}
    if config.predictor != "none":
        table["prediction"] = predict(run, config, space, truth)
    run.table("architectures", table)
    run.metric("architectures", len(space))


def predict(run: Run, config: Config, archs: list[str], truth: np.ndarray) -> np.ndarray:
    """The prediction by which architectures are pruned; the truth itself is the oracle."""
    if config.predictor == "truth":
        return truth
    if config.predictor == "params":
        return nb201.SPACE.params_of(archs, config.dataset)
    how = config.short_epochs, config.short_split, config.short_trials
    return ask(run, "nb201", archs, config.dataset, *how, source=config.source)
