"""Figure 4.1: test accuracy along training, and below it the learning rate that each T led to."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, ScalarFormatter

from harness.figstyle import BLUE, GREEN, ORANGE, SKY, VERMILION, WIDE

COLOURS = {"T = 2": VERMILION, "T = 10": ORANGE, "T = 50": GREEN, "T = 150": SKY, "T = 250": BLUE}
PANELS = {"a": "a) perceptron", "b": "b) VGG"}
EPOCHS = [1, 2, 5, 10, 20, 50]


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 4.4)
    panels = figure.subplots(2, 2, sharex="col")
    for (prefix, title), (top, bottom) in zip(PANELS.items(), panels.T, strict=True):
        top.set_title(title)
        lines(top, cells, prefix, "")
        lines(bottom, cells, prefix, "rate, ")
        bottom.set(yscale="log", xlabel="epoch")
        bottom.xaxis.set(major_formatter=ScalarFormatter(), minor_locator=NullLocator())
        bottom.set_xticks([epoch for epoch in EPOCHS if epoch <= max(bottom.dataLim.x1, 1)])
    panels[0, 0].set_ylabel("test accuracy (%)")
    panels[1, 0].set_ylabel("learning rate")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5)


def lines(axes: Axes, cells: pd.DataFrame, prefix: str, quantity: str) -> None:
    """A line per T over epochs, drawn in powers: some are trained far longer than others."""
    mine = cells[cells["row"].str.startswith(f"{prefix} ")].dropna(subset=["value"])
    mine = mine.assign(x=mine["row"].str.split().str[1].astype(int)).sort_values("x")
    axes.set_xscale("log")
    for name, colour in COLOURS.items():
        points = mine[mine["column"] == quantity + name]
        if not len(points):
            continue
        axes.plot(points["x"], points["value"], color=colour, label=name, marker=".", markersize=3)
        low, high = points["lo"].fillna(points["value"]), points["hi"].fillna(points["value"])
        # A rate below zero is no rate: on the logarithmic axis the band ends at a tenth of its line.
        floor = points["value"] / 10 if quantity else 0
        axes.fill_between(points["x"], low.clip(lower=floor), high, color=colour, alpha=0.15, linewidth=0)
