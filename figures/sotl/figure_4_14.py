"""Figure 4.14: accuracy, depth and 3x3 convolutions of what searches in NB101-3 would choose, by epoch."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.style import COLOURS, WIDE, band, not_run

PANELS = {"accuracy": "a) test accuracy (%)", "depth": "b) depth", "3x3": "c) 3x3 convolutions"}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.4)
    points = cells.dropna(subset=["value"]).assign(x=lambda c: c["row"].astype(int))
    for axes, (what, title) in zip(figure.subplots(1, 3), PANELS.items(), strict=True):
        axes.set(title=title, xlabel="epoch")
        for search in ("DARTS", "SoTL-DARTS"):
            mine = points[points["column"] == f"{search} {what}"]
            if len(mine):
                band(axes, mine, COLOURS[search], search, marker="")
        if axes.lines:
            axes.legend()
        else:
            not_run(axes)
