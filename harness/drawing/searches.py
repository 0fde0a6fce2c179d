"""What searches would choose, by epoch: a line with its band for each."""

from collections.abc import Collection, Mapping

import pandas as pd
from matplotlib.axes import Axes

from harness.drawing.style import COLOURS, band, not_run


def by_epoch(cells: pd.DataFrame) -> pd.DataFrame:
    """The numbers that there are; rows are epochs."""
    return cells.dropna(subset=["value"]).assign(x=lambda c: c["row"].astype(int))


def along(
    axes: Axes,
    points: pd.DataFrame,
    columns: Mapping[str, str],
    *,
    dotted: Collection[str] = (),
    legend: bool = True,
) -> None:
    """Columns by label. A label that is no search begins with the one whose colour it has (`DARTS-20`)."""
    for label, column in columns.items():
        mine = points[points["column"] == column]
        if len(mine):
            search = label if label in COLOURS else label.partition(",")[0].removesuffix("-20")
            band(axes, mine, COLOURS[search], label, marker="", linestyle=":" if label in dotted else "-")
    axes.set_xlabel("epoch")
    if not axes.lines:
        not_run(axes)
    elif legend:
        axes.legend()
