"""Figure 11: forward time that pruning saves, by the clock and by counting, for each image set."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.style import BARS, BLACK, BLUE, GREY, ORANGE, WIDE, not_run, say

SETS = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST", "svhn": "SVHN"}
SERIES = {  # column → label, colour, style
    "clock": ("measured, as the authors did", BLUE, "o-"),
    "clock, last depth": ("measured, DDN reads one depth", ORANGE, "^-"),
    "operations": ("counted operations", BLACK, "s:"),
    "blocks": ("1 − d/D", GREY, "--"),
}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.6)
    panels = figure.subplots(1, 3, sharey=True)
    cells = cells[~cells["row"].str.endswith("printed")]
    cells = cells.assign(
        set=cells["row"].str.split(" ").str[0], D=cells["row"].str.split(" ").str[1].astype(int)
    )
    for axes, (name, title) in zip(panels, SETS.items(), strict=True):
        mine = cells[cells["set"] == name]
        labels = mine.loc[(mine["column"] == "data") & (mine["text"] != ""), "text"]
        axes.set_title(labels.iloc[0] if len(labels) else title)
        points = mine.dropna(subset=["value"])
        if points.empty:
            not_run(axes)
            continue
        axes.set_xlabel("D (maximum depth)")
        for column, (label, colour, style) in SERIES.items():
            line = points[points["column"] == column].sort_values("D")
            if len(line):
                error = None if column == "blocks" else line["spread"].fillna(0)
                say(BARS)
                axes.errorbar(
                    line["D"], line["value"], yerr=error, fmt=style, color=colour, markersize=3, label=label
                )
    panels[0].set_ylabel("time saved, %")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
