"""Figure 9: learnt depth, likelihood and error against the maximum depth; a column per image set."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.drawing.style import BARS, COLOURS, WIDE, not_run, say

SETS = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST", "svhn": "SVHN"}
ROWS = [  # quantity, series, axis label
    ("depth", ("LDN-95", "LDN-E"), "learnt depth"),
    ("mean probability", ("DDN", "LDN-95"), "mean probability\nagainst DDNs"),
    ("mean probability", ("LDN-95", "LDN-E", "LDN-full"), "mean probability\nby pruning"),
    ("error", ("DDN", "LDN-95"), "test error, %\nagainst DDNs"),
    ("error", ("LDN-95", "LDN-E", "LDN-full"), "test error, %\nby pruning"),
]
STYLES = {"DDN": "o-", "LDN-95": "D-", "LDN-E": "^--", "LDN-full": "s:"}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 6.4)
    panels = figure.subplots(len(ROWS), 3, sharex=True)
    cells = cells.assign(
        set=cells["row"].str.split(" ").str[0], D=cells["row"].str.split(" ").str[1].astype(int)
    )
    for i, (name, title) in enumerate(SETS.items()):
        mine = cells[cells["set"] == name]
        labels = mine.loc[(mine["column"] == "data") & (mine["text"] != ""), "text"]
        panels[0][i].set_title(labels.iloc[0] if len(labels) else title)
        for axes, (quantity, series, label) in zip(panels[:, i], ROWS, strict=True):
            _panel(axes, mine, quantity, series)
            if i == 0:
                axes.set_ylabel(label)
        if len(mine.dropna(subset=["value"])):
            panels[-1][i].set_xlabel("D (maximum depth)")
    drawn = {}
    for axes in panels.flat:
        handles, names = axes.get_legend_handles_labels()
        drawn |= dict(zip(names, handles, strict=True))
    there = [name for name in STYLES if name in drawn]
    figure.legend([drawn[name] for name in there], there, loc="outside lower center", ncols=4)


def _panel(axes: Axes, mine: pd.DataFrame, quantity: str, series: tuple[str, ...]) -> None:
    drawn = False
    for k, name in enumerate(series):
        line = mine[mine["column"] == f"{name} {quantity}"].dropna(subset=["value"]).sort_values("D")
        if quantity != "depth":
            line = line[line["D"] > 0]  # without blocks: far off
        if len(line):
            drawn = True
            aside = 0.7 * (k - (len(series) - 1) / 2)  # bars beside each other instead of one upon another
            say(BARS)
            axes.errorbar(
                line["D"] + aside,
                line["value"],
                yerr=line["spread"].fillna(0),
                fmt=STYLES[name],
                color=COLOURS[name],
                markersize=3,
                elinewidth=0.6,
                label=name,
            )
    if not drawn:
        not_run(axes)
