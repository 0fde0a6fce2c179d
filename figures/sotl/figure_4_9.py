"""Figure 4.9: gradients against losses, fine-tuned from a super-network and trained from scratch."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.curves import estimators
from harness.drawing.style import WIDE

NAMES = ("SoTL", "SoGN", "SoGN, L1", "SoG", "Params")  # what would be covered comes last
PANELS = {
    "a": ("a) from SPOS super-networks, learning rate 0.001", "minibatch of fine-tuning"),
    "b": ("b) from scratch, learning rate 0.1", "epoch"),
}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.7)
    panels = figure.subplots(1, 2)
    handles, labels = [], []
    for axes, (prefix, (title, x)) in zip(panels, PANELS.items(), strict=True):
        axes.set_title(title)
        if estimators(axes, cells, NAMES, prefix, x):
            handles, labels = axes.get_legend_handles_labels()
    panels[0].set_ylabel("Spearman correlation")
    figure.legend(handles, labels, loc="outside lower center", ncols=5)
