"""Figure 4.15: eigenvalue, skip connections and predicted accuracy along searches in S2."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.style import COLOURS, WIDE, band, not_run

OWN = {"DARTS": "validation", "SoTL-DARTS": "training"}  # whose loss, as the thesis has it
PANELS = {
    "eigenvalue": "a) largest eigenvalue",
    "skips": "b) skip connections of 16",
    "accuracy": "c) predicted accuracy (%)",
}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.4)
    points = cells.dropna(subset=["value"]).assign(x=lambda c: c["row"].astype(int))
    for axes, (what, title) in zip(figure.subplots(1, 3), PANELS.items(), strict=True):
        axes.set(title=title, xlabel="epoch")
        for search, part in OWN.items():
            column = f"{search} {what}, {part}" if what == "eigenvalue" else f"{search} {what}"
            mine = points[points["column"] == column]
            if len(mine):
                band(axes, mine, COLOURS[search], search, marker="")
        if axes.lines:
            axes.legend()
        else:
            not_run(axes)
