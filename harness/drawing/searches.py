"""What searches would choose, by epoch: a line with its band for each."""

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

import pandas as pd
from matplotlib.axes import Axes

from harness.drawing.style import COLOURS, band, not_run

JOINED = 3  # points at least: fewer are no course, and stand alone


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
    """Columns by label. A label that is no search begins with the one whose colour it has (`DARTS-20`).

    Where lines coincide each is thinner than the one below it, so that all are seen.
    """
    parts = {label: points[points["column"] == column] for label, column in columns.items()}
    parts = {label: part for label, part in parts.items() if len(part)}
    nested = _coincide([part.set_index("x")["value"] for part in parts.values()])
    for above, (label, part) in zip(reversed(range(len(parts))), parts.items(), strict=True):
        search = label if label in COLOURS else label.partition(",")[0].removesuffix("-20")
        size = 1 + 0.6 * above if nested else 1.0
        look = {"marker": "", "linestyle": ":" if label in dotted else "-", "linewidth": 1.2 * size}
        if len(part) < JOINED:
            look = {"marker": "o", "linestyle": "", "markersize": 3 * size}
        band(axes, part, COLOURS[search], label, **look)
    axes.set_xlabel("epoch")
    if not axes.lines:
        not_run(axes)
        for axis in (axes.xaxis, axes.yaxis):
            axis.label.set_visible(False)  # also of what is written there later
    elif legend:
        axes.legend()


def _coincide(values: Sequence[pd.Series]) -> bool:
    """Whether two are equal at a point that stands alone, or at two neighbours: something is hidden."""
    return any(
        bool((same if len(same) < JOINED else same & same.shift(fill_value=False)).any())
        for first, second in combinations(values, 2)
        for same in [(first - second).dropna() == 0]
    )
