"""Figure 4.16: the largest eigenvalue of the architecture's Hessian along a search; accuracy beside it."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.drawing.style import COLOURS, WIDE, band, not_run

PART = {"DARTS": "validation", "SoTL-DARTS": "training"}  # whose loss, as the thesis has it
SPACES = {"DARTS": "DARTS space", "NB201": "NAS-Bench-201", "NB101-3": "NB101-3"}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 6.2)
    points = cells.dropna(subset=["value"]).assign(x=lambda c: c["row"].astype(int))
    letters = iter("abcdef")
    for (left, right), (space, title) in zip(figure.subplots(3, 2), SPACES.items(), strict=True):
        lines(left, points, space, {search: f"eigenvalue, {part}" for search, part in PART.items()})
        left.set(title=f"{next(letters)}) {title}", ylabel="largest eigenvalue")
        lines(right, points, space, dict.fromkeys(PART, "accuracy"))
        right.set(title=f"{next(letters)}) {title}", ylabel="accuracy (%)")


def lines(axes: Axes, points: pd.DataFrame, space: str, columns: dict[str, str]) -> None:
    """A line per search."""
    for search, what in columns.items():
        mine = points[points["column"] == f"{space} {search} {what}"]
        if len(mine):
            band(axes, mine, COLOURS[search], search, marker="")
    axes.set_xlabel("epoch")
    if axes.lines:
        axes.legend()
    else:
        not_run(axes)
