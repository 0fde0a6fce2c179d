"""What a truth is, where it came from, and what a source can hold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Trials = str | int
SPLITS = ("val", "test", "val+test")
TRIALS: tuple[Trials, ...] = ("mean", 0, 1, 2, "one")
QUANTITIES = ("train_loss", "train_acc", "loss", "acc")


@dataclass(frozen=True)
class Identity:
    """Everything that decides which number it is; two equal identities mean comparable numbers."""

    source: str
    version: str
    file: str
    sha256: str
    space: str
    dataset: str
    epochs: int
    split: str
    trials: Trials
    policy: str


@dataclass(frozen=True)
class Truth:
    """One accuracy in percent (or seconds)."""

    architecture: str
    value: float
    identity: Identity


@dataclass(frozen=True, eq=False)
class Truths:
    """One value per architecture asked for, in the order asked: accuracies in percent (or seconds)."""

    values: np.ndarray
    identity: Identity

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Curve:
    """One value per epoch of one training run."""

    architecture: str
    quantity: str
    values: np.ndarray
    identity: Identity


@dataclass(frozen=True)
class Key:
    """One quantity that a source can hold for every architecture; `what` is "accuracy" or "seconds"."""

    what: str
    dataset: str
    epochs: int
    split: str
    trials: Trials

    def __str__(self) -> str:
        name = "training seconds" if self.what == "seconds" else f"{self.split} accuracy"
        trial = self.trials if isinstance(self.trials, str) else f"trial {self.trials}"
        return f"{self.dataset} {name} at {self.epochs} epochs ({trial})"


@dataclass(frozen=True)
class Column:
    """A key and the sentence that says exactly which number of the benchmark stands behind it."""

    key: Key
    policy: str


def accuracies(dataset: str, epochs: int, split: str, mean: str, trials: Sequence[str]) -> list[Column]:
    """A column for the mean and one for each trial, given what each of them is."""
    policies = [("mean", mean), *enumerate(trials)]
    return [Column(Key("accuracy", dataset, epochs, split, trial), policy) for trial, policy in policies]


@dataclass(frozen=True)
class Table:
    """What a converter hands to the store: names, one row of values per column, further arrays."""

    version: str
    names: np.ndarray
    values: np.ndarray
    extra: dict[str, np.ndarray]


Say = Callable[[str], None]
Convert = Callable[[list[Path], Path, Say], Table]
Predict = Callable[[list[Path], Sequence[str], Key], np.ndarray]


@dataclass(frozen=True)
class Source:
    """One place that truths come from: a table to convert, or a surrogate to ask.

    `files` are alternatives, each the paths that it needs together; `cells` is how many a whole one holds.
    """

    name: str
    spaces: tuple[str, ...]
    holds: str
    files: tuple[tuple[str, ...], ...]
    get: str
    columns: tuple[Column, ...]
    cells: int
    convert: Convert | None = None
    predict: Predict | None = None
    version: str = ""  # of a surrogate; a table's is in its store
    needs: str = ""  # an optional package without which it cannot answer

    def policy(self, key: Key) -> str | None:
        """The policy of a held column, None where this source never holds it."""
        return next((column.policy for column in self.columns if column.key == key), None)
