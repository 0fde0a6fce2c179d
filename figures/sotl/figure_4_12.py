"""Figure 4.12: skip connections and predicted accuracy along searches with 20 layers."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.searches import along, by_epoch
from harness.drawing.style import WIDE

SPACES = ("S2", "DARTS space")
WHAT = {"skips": "skip connections of 16", "accuracy": "predicted accuracy (%)"}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 4.2)
    for row, space in zip(figure.subplots(2, 2), SPACES, strict=True):
        for axes, (what, label) in zip(row, WHAT.items(), strict=True):
            axes.set(title=space, ylabel=label)
            columns = {}
            for search in ("DARTS", "SoTL-DARTS"):
                columns[f"{search}-20"] = f"{space} {search}-20 {what}"
                columns[f"{search}, 8 layers"] = f"{space} {search} {what}"
            along(axes, by_epoch(cells), columns, dotted=[name for name in columns if "," in name])
