"""Reading cells.csv back, without what it takes to make one."""

from pathlib import Path

import pandas as pd


def read_cells(path: Path) -> pd.DataFrame:
    """cells.csv as it was written: text stays text, an empty reason is no NaN."""
    text = {
        name: str
        for name in ("row", "column", "text", "spread_kind", "reported", "verdict", "reason", "runs")
    }
    return pd.read_csv(
        path,
        dtype=text,
        keep_default_na=False,
        na_values={"value": [""], "spread": [""], "lo": [""], "hi": [""]},
    )
