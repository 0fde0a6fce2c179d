"""Figure 4.13: depth of the cells that searches in the DARTS space would choose, by epoch."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.style import COLOURS, WIDE, band, not_run


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.4)
    points = cells.dropna(subset=["value"]).assign(x=lambda c: c["row"].astype(int))
    panels = figure.subplots(1, 2, sharey=True)
    for axes, cell, letter in zip(panels, ("normal", "reduction"), "ab", strict=True):
        for search in ("DARTS", "SoTL-DARTS"):
            mine = points[points["column"] == f"{search} {cell}"]
            if len(mine):
                band(axes, mine, COLOURS[search], search, marker="")
        axes.set(title=f"{letter}) {cell} cell", xlabel="epoch", ylim=(1.8, 5.2))
        if axes.lines:
            axes.legend()
        else:
            not_run(axes)
    panels[0].set_ylabel("depth")
