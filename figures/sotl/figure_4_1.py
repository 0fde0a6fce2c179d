"""Figure 4.1: test accuracy along training, and below it the learning rate that each T led to."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, ScalarFormatter

from harness.drawing.style import COLOURS, GREY, NOTE, WIDE, interval

LENGTHS = ("T = 2", "T = 10", "T = 50", "T = 150", "T = 250")
PANELS = {"a": "a) perceptron", "b": "b) VGG (a reduced one at scales smoke and cpu)"}
CHANCE = 10  # per cent, of ten classes
EPOCHS = [1, 2, 5, 10, 20, 50]


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 4.4)
    panels = figure.subplots(2, 2, sharex="col")
    for (prefix, title), (top, bottom) in zip(PANELS.items(), panels.T, strict=True):
        top.set_title(title)
        lines(top, cells, prefix, "")
        lines(bottom, cells, prefix, "rate, ")
        bottom.set(yscale="log" if _spans_decade(bottom) else "linear", xlabel="epoch")
        bottom.xaxis.set(major_formatter=ScalarFormatter(), minor_locator=NullLocator())
        bottom.set_xticks([epoch for epoch in EPOCHS if epoch <= max(bottom.dataLim.x1, 1)])
    for axes in panels[0]:
        if axes.lines and axes.get_ylim()[0] < CHANCE:
            axes.axhline(CHANCE, color=GREY, linewidth=0.7, linestyle=":", zorder=0)
            at = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
            axes.annotate("chance", (1, CHANCE), (-2, 2), ha="right", fontsize=6, color=NOTE, **at)
    panels[0, 0].set_ylabel("test accuracy, %\n(a line ends with its training)")
    panels[1, 0].set_ylabel("learning rate")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5)


def _spans_decade(axes: Axes) -> bool:
    """Less has no powers of ten to label a logarithmic axis with."""
    rates = [rate for line in axes.lines for rate in line.get_ydata()]
    return bool(rates) and max(rates) > 10 * min(rates)


def lines(axes: Axes, cells: pd.DataFrame, prefix: str, quantity: str) -> None:
    """A line per T over epochs, drawn in powers: some are trained far longer than others."""
    mine = cells[cells["row"].str.startswith(f"{prefix} ")].dropna(subset=["value"])
    mine = mine.assign(x=mine["row"].str.split().str[1].astype(int)).sort_values("x")
    axes.set_xscale("log")
    for name in LENGTHS:
        points = mine[mine["column"] == quantity + name]
        # A rate below zero is no rate: on the logarithmic axis the band ends at a tenth of its line.
        floor = points["value"] / 10 if quantity else 0
        if len(points):
            interval(axes, points, COLOURS[name], name, floor=floor, marker=".", markersize=3)
