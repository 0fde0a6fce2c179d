"""Figure 4.13: depth of the cells that searches in the DARTS space would choose, by epoch."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.searches import along, by_epoch
from harness.drawing.style import WIDE


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.4)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, cell, letter in zip(panels, ("normal", "reduction"), "ab", strict=True):
        along(axes, by_epoch(cells), {search: f"{search} {cell}" for search in ("DARTS", "SoTL-DARTS")})
        axes.set(title=f"{letter}) {cell} cell", ylim=(1.8, 5.2))
    panels[0].set_ylabel("depth")
