"""Figure 4.15: eigenvalue, skip connections and predicted accuracy along searches in S2."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.searches import along, by_epoch
from harness.drawing.style import WIDE

OWN = {"DARTS": "validation", "SoTL-DARTS": "training"}  # whose loss, as the thesis has it


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.4)
    panels = {
        "a) largest eigenvalue": {search: f"{search} eigenvalue, {part}" for search, part in OWN.items()},
        "b) skip connections of 16": {search: f"{search} skips" for search in OWN},
        "c) predicted accuracy (%)": {search: f"{search} accuracy" for search in OWN},
    }
    for axes, (title, columns) in zip(figure.subplots(1, 3), panels.items(), strict=True):
        axes.set_title(title)
        along(axes, by_epoch(cells), columns)
