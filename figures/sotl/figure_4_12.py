"""Figure 4.12: skip connections and predicted accuracy along searches with 20 layers."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.style import COLOURS, WIDE, band, not_run

SPACES = ("S2", "DARTS space")
WHAT = {"skips": "skip connections of 16", "accuracy": "predicted accuracy (%)"}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 4.2)
    points = cells.dropna(subset=["value"]).assign(x=lambda c: c["row"].astype(int))
    for row, space in zip(figure.subplots(2, 2), SPACES, strict=True):
        for axes, (what, label) in zip(row, WHAT.items(), strict=True):
            axes.set(title=space, ylabel=label, xlabel="epoch")
            for search in ("DARTS", "SoTL-DARTS"):
                mine = points[points["column"] == f"{space} {search}-20 {what}"]
                if len(mine):
                    band(axes, mine, COLOURS[search], f"{search}-20", marker="")
                shallow = points[points["column"] == f"{space} {search} {what}"]
                if len(shallow):
                    band(axes, shallow, COLOURS[search], f"{search}, 8 layers", marker="", linestyle=":")
            if axes.lines:
                axes.legend()
            else:
                not_run(axes)
