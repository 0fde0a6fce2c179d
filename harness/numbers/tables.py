"""The tables that an artefact's runs left, looked up by run and by what columns read."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from harness.spec.experiments import RunSpec


class Tables:
    """`metrics` and every stacked table; what cells choose by is grouped once, when the first one asks."""

    def __init__(self, frames: dict[str, pd.DataFrame]) -> None:
        self.frames = frames
        self._groups: dict[tuple[str, ...], dict[tuple[str, ...], np.ndarray]] = {}

    def rows(self, table: str, runs: Sequence[RunSpec], only: dict[str, Any]) -> pd.DataFrame:
        """Those of these runs in which every column of `only` reads as it says, in their order; or none."""
        found = self._found(table, runs, only).values()
        return self.frames[table].take(np.sort(np.concatenate([*found, np.empty(0, int)])))

    def left(self, table: str, only: dict[str, Any], runs: Sequence[RunSpec]) -> dict[str, int]:
        """How many such rows each of these runs left, of those that left any."""
        return {run: len(rows) for run, rows in self._found(table, runs, only).items()}

    def _found(self, table: str, runs: Sequence[RunSpec], only: dict[str, Any]) -> dict[str, np.ndarray]:
        groups, frame = self._grouped(table, tuple(only)), self.frames[table]
        asked = [text_of(value, frame[column]) for column, value in only.items()]
        return {run.id: groups[run.id, *asked] for run in runs if (run.id, *asked) in groups}

    def _grouped(self, table: str, columns: tuple[str, ...]) -> dict[tuple[str, ...], np.ndarray]:
        if (table, *columns) not in self._groups:
            frame = self.frames[table]
            keys = [frame["run"], *(texts(frame[column]) for column in columns)]
            found = frame.groupby(keys, sort=False).indices
            named = {key if columns else (key,): rows for key, rows in found.items()}
            self._groups[table, *columns] = named
        return self._groups[table, *columns]


def texts(column: pd.Series) -> pd.Series:
    """What a column's values read as: 1 also where another run's 0.5 has made it 1.0."""
    return column.map(_plain, na_action="ignore") if column.dtype.kind == "f" else column.astype(str)


def text_of(value: Any, column: pd.Series) -> str:
    """The same of a value that a YAML chooses by."""
    if column.dtype.kind in "iuf":
        with suppress(ValueError):
            return _plain(float(value))
    return str(value)


def _plain(value: float) -> str:
    return str(int(value)) if value.is_integer() else str(value)
