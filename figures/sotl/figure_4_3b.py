"""Figure 4.3b: MaxDeg from -1 for each T, against its updates and against the steps of the weights."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.drawing.style import COLOURS, RULE, WIDE, interval

SEARCHES = ("T = 2", "T = 5", "T = 10", "T = 25", "T = 50", "T = 2, validation")
PANELS = {
    "code": "code: stored earlier",
    "code-last": "code-last: stored last",
    "text": "text: its data and penalty",
}
AXES = {"update": "updates of MaxDeg", "step": "steps of the weights"}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 4.2)
    panels = figure.subplots(2, 3, sharey=True, sharex="row")
    for row, (prefix, label) in zip(panels, AXES.items(), strict=True):
        for axes, (name, title) in zip(row, PANELS.items(), strict=True):
            lines(axes, cells, prefix, name)
            axes.set_xlabel(label)
            if prefix == "update":
                axes.set_title(title)
        row[0].set_ylabel("MaxDeg")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6)


def lines(axes: Axes, cells: pd.DataFrame, prefix: str, name: str) -> None:
    mine = cells[cells["row"].str.startswith(f"{prefix} ")].dropna(subset=["value"])
    mine = mine.assign(x=mine["row"].str.split().str[1].astype(int)).sort_values("x")
    axes.axhspan(3, 4, color=RULE, alpha=0.4, linewidth=0)
    axes.set_ylim(-1.3, 5)
    for search in SEARCHES:
        points = mine[mine["column"] == f"{name}, {search}"]
        style = "--" if search.endswith("validation") else "-"
        interval(axes, points, COLOURS[search], search, linestyle=style, linewidth=1)
