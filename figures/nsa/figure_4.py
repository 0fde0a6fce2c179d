"""Figure 4: accuracy of ensembles against their members."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.style import COLUMN
from harness.drawing.wired import lines


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(COLUMN, 2.4)
    axes = figure.subplots()
    axes.set(xlabel="members", ylabel="accuracy (%)")
    if lines(axes, cells, {"NSA-i": "NSA-i", "NSA-id": "NSA-id"}):
        axes.set_xscale("log")
        there = cells.dropna(subset=["value"])["row"]
        members = sorted({int(row) for row in there if row.isdigit() and row[0] in "125"})
        axes.set_xticks(members, [str(number) for number in members])
        axes.minorticks_off()
        axes.legend()
