"""Figure 5: quantiles of the accuracies of seen and unseen architectures; a panel per S."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.style import WIDE
from harness.drawing.wired import quantiles

SIZES = ("5", "50", "500", "5000", "50000")


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.2)
    panels = figure.subplots(1, len(SIZES), sharey=True)
    for axes, size in zip(panels, SIZES, strict=True):
        axes.set_title(f"S = {int(size):,}")
        names = {kind: f"{size} {kind}" for kind in ("seen", "unseen")}
        if quantiles(axes, cells, names) or size == SIZES[0]:
            axes.set_xlabel("share of architectures")
    panels[0].set_ylabel("accuracy (%)")
    if panels[0].get_legend_handles_labels()[0]:
        panels[0].legend()
