"""The tables that an artefact's runs left, looked up by run and by what columns read."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.experiments import RunSpec


class Tables:
    """`metrics` and every stacked table; what cells choose by is grouped once, when the first one asks."""

    def __init__(self, frames: dict[str, pd.DataFrame]) -> None:
        self.frames = frames
        self._groups: dict[tuple[str, ...], dict[tuple[str, ...], np.ndarray]] = {}

    def rows(self, table: str, runs: Sequence[RunSpec], only: dict[str, Any]) -> pd.DataFrame:
        """Those of these runs in which every column of `only` reads as it says, in their order; or none."""
        groups = self._grouped(table, tuple(only))
        wanted = [(run.id, *map(str, only.values())) for run in runs]
        found = [groups[key] for key in wanted if key in groups]
        return self.frames[table].take(np.sort(np.concatenate([*found, np.empty(0, int)])))

    def _grouped(self, table: str, columns: tuple[str, ...]) -> dict[tuple[str, ...], np.ndarray]:
        if (table, *columns) not in self._groups:
            frame = self.frames[table]
            keys = [frame["run"], *(frame[column].astype(str) for column in columns)]
            found = frame.groupby(keys, sort=False).indices
            named = {key if columns else (key,): rows for key, rows in found.items()}
            self._groups[table, *columns] = named
        return self._groups[table, *columns]
