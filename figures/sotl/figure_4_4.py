"""Figure 4.4: correlation along training from scratch, under the long schedule and under the short one."""

import pandas as pd
from matplotlib.figure import Figure

from harness.figstyle import WIDE
from harness.figstyle_curves import estimators

NAMES = ("SoTL", "SoTL, all epochs", "TLMini", "ValAcc", "ValAccMini", "Params")
PANELS = {
    "a": "a) 200 epochs, the benchmark's trainings",
    "b": "b) 12 epochs, the benchmark's trainings",
    "own a": "a) 20 of 200 epochs, our trainings",
    "own b": "b) 12 epochs, our trainings",
}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 4.6)
    panels = figure.subplots(2, 2)
    handles, labels = [], []
    for axes, (prefix, title) in zip(panels.flat, PANELS.items(), strict=True):
        axes.set_title(title)
        if estimators(axes, cells, NAMES, prefix):
            axes.set(xlabel="epoch", ylabel="Spearman correlation")
            drawn = axes.get_legend_handles_labels()
            handles, labels = max((handles, labels), drawn, key=lambda legend: len(legend[1]))
    figure.legend(handles, labels, loc="outside lower center", ncols=6)
