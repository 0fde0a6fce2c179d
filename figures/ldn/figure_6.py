"""Figure 6: test performance and chosen depth against the rotation (left) and the amount of data (right)."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from harness.drawing.style import COLOURS, WIDE, band


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 3.2)
    grid = figure.subplots(2, 2, sharex="col")
    points = cells.dropna(subset=["value"])
    for (top, bottom), unit, label in zip(
        grid.T, ("°", " points"), ("rotation (degrees)", "train points"), strict=True
    ):
        mine = points[points["row"].str.endswith(unit)]
        mine = mine.assign(x=mine["row"].str.removesuffix(unit).astype(int))
        for name, look in (("full", "-"), ("pruned", "--")):
            band(top, mine[mine["column"] == name], COLOURS[name], name, linestyle=look)
        band(bottom, mine[mine["column"] == "d_opt"], COLOURS["d_opt"], "d_opt")
        bottom.set_xlabel(label)
        bottom.yaxis.set_major_locator(MaxNLocator(integer=True))
    grid[0, 0].set_ylabel("test probability")
    grid[0, 0].legend()
    grid[1, 0].set_ylabel("$d_{opt}$ (no. active blocks)")
