"""Which truth of a benchmark architectures are compared with, as a config says it."""

from dataclasses import dataclass

import numpy as np

from harness.bench import truths
from harness.bench.query import Trials
from harness.runs.record import Run


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a benchmark is asked for, besides architectures and images."""

    truth_epochs: int
    truth_split: str
    truth_trials: str
    truth_source: str

    def truths(self, run: Run, space: str, archs: list[str], dataset: str) -> np.ndarray:
        """Of each architecture, in percent; the record names where from."""
        how = self.truth_epochs, self.truth_split, self.truth_trials
        return ask(run, space, archs, dataset, *how, source=self.truth_source)


def ask(
    run: Run,
    space: str,
    archs: list[str],
    dataset: str,
    epochs: int,
    split: str,
    trials: Trials,
    *,
    source: str,
) -> np.ndarray:
    """The truth of each architecture, in percent; the record names where from."""
    found = truths(space, archs, dataset, epochs, split, trials, source=source)
    run.truth(found.identity)
    return found.values
