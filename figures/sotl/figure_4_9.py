"""Figure 4.9: gradients against losses, fine-tuned from a super-network and trained from scratch."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.curves import estimators
from harness.drawing.style import WIDE

NAMES = ("SoTL", "SoG", "SoGN", "SoGN, L1", "Params")
PANELS = {
    "a": ("a) from SPOS super-networks", "updates"),
    "b": ("b) from scratch", "epoch"),
}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.7)
    panels = figure.subplots(1, 2)
    handles, labels = [], []
    for axes, (prefix, (title, x)) in zip(panels, PANELS.items(), strict=True):
        axes.set_title(title)
        if estimators(axes, cells, NAMES, prefix, x.removesuffix("s")):
            axes.set_xlabel(x)
            handles, labels = axes.get_legend_handles_labels()
    panels[0].set_ylabel("Spearman correlation")
    figure.legend(handles, labels, loc="outside lower center", ncols=5)
