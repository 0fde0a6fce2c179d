"""Figure 4: accuracy of ensembles against their members."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.style import COLUMN
from harness.drawing.wired import lines


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(COLUMN, 2.4)
    axes = figure.subplots()
    if lines(axes, cells, {"NSA-i": "NSA-i", "NSA-id": "NSA-id"}):
        axes.set(xlabel="members", ylabel="accuracy (%)", xscale="log")
        axes.legend()
