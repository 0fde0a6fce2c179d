"""Figure 4.16: the largest eigenvalue of the architecture's Hessian along a search; accuracy beside it."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.drawing.style import COLOURS, WIDE, interval, not_run

PART = {"DARTS": "validation", "SoTL-DARTS": "training"}  # whose loss, as the thesis has it


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.6)
    left, right = figure.subplots(1, 2)
    points = cells.dropna(subset=["value"]).assign(x=lambda c: c["row"].astype(int))
    lines(left, points, {search: f"eigenvalue, {part}" for search, part in PART.items()})
    left.set(title="c) NAS-Bench-201", ylabel="largest eigenvalue")
    lines(right, points, dict.fromkeys(PART, "accuracy"))
    right.set(title="d) NAS-Bench-201, CIFAR-10", ylabel="test accuracy (%)")


def lines(axes: Axes, points: pd.DataFrame, columns: dict[str, str]) -> None:
    """A line per search."""
    for search, what in columns.items():
        mine = points[points["column"] == f"NB201 {search} {what}"]
        if len(mine):
            interval(axes, mine, COLOURS[search], search)
    axes.set_xlabel("epoch")
    if axes.lines:
        axes.legend()
    else:
        not_run(axes)
