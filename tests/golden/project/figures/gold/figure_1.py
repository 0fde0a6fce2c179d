"""Figure 1: improvement while pruning."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.style import BLUE, COLUMN, ORANGE


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(COLUMN, 2.0)
    axes = figure.subplots()
    for (name, series), colour in zip(cells.groupby("column", sort=False), (BLUE, ORANGE), strict=True):
        axes.plot(series["row"].astype(int), series["value"], color=colour, label=name)
    axes.set_xlabel("remaining networks")
    axes.legend()
