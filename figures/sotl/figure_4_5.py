"""Figure 4.5: correlation along training from scratch on CIFAR-100 and ImageNet16-120."""

import pandas as pd
from matplotlib.figure import Figure

from harness.figstyle import WIDE
from harness.figstyle_curves import estimators

NAMES = ("SoTL", "SoTL, all epochs", "TLMini", "ValAcc", "ValAccMini", "Params")
PANELS = {
    "a": "a) CIFAR-100, the benchmark's trainings",
    "b": "b) ImageNet16-120, the benchmark's trainings",
    "own a": "our CIFAR-10 trainings, truth of CIFAR-100",
    "own b": "our CIFAR-10 trainings, truth of ImageNet16-120",
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
