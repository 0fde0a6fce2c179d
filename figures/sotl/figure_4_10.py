"""Figure 4.10: the true accuracy of what searches would choose, by epoch; skip connections beside it."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.drawing.style import COLOURS, WIDE, interval, not_run

SEARCHES = ("DARTS", "DARTS (second-order)", "SoTL-DARTS", "SoVL-DARTS", "noise")


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.8)
    left, right = figure.subplots(1, 2)
    points = cells.dropna(subset=["value"]).assign(x=lambda c: c["row"].astype(int))
    lines(left, points, "")
    left.set(title="c) NAS-Bench-201, CIFAR-10", ylabel="test accuracy (%)")
    lines(right, points, " skips")
    right.set(title="its skip connections, of six edges", ylim=(-0.2, 6.2))
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5)


def lines(axes: Axes, points: pd.DataFrame, what: str) -> None:
    """What each search would choose after an epoch."""
    for search in SEARCHES:
        mine = points[points["column"] == f"NB201 {search}{what}"]
        if len(mine):
            style = {"linestyle": ":"} if search == "noise" else {}
            interval(axes, mine, COLOURS[search], search, **style)
    if not axes.lines:
        not_run(axes)
    axes.set_xlabel("epoch")
