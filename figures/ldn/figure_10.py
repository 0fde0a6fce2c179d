"""Figure 10: reliability diagrams, by the authors' code as bars, by Guo as a line; one row per image set."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from harness.drawing.style import COLOURS, GREY, WIDE, not_run

SETS = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST", "svhn": "SVHN"}
SERIES = ("DDN", "LDN-95", "LDN-full")


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    table = cells.pivot(index="row", columns="column", values="value")
    run = [row.split(" ")[0] for row in table.dropna(how="all").index]
    there = {name: title for name, title in SETS.items() if name in run} or SETS
    figure.set_size_inches(WIDE, 0.7 + 2.1 * len(there))
    panels = figure.subplots(len(there), 3, sharex=True, sharey=True, squeeze=False)
    labels = cells[cells["column"] == "data"].set_index("row")["text"]
    for i, (name, title) in enumerate(there.items()):
        label = labels.get(f"{name} data", "") or title
        panels[i][0].set_ylabel(f"{label}\nfraction correct")
        for axes, series in zip(panels[i], SERIES, strict=True):
            _panel(axes, table, name, series)
    for axes in panels[-1]:
        axes.set_xlabel("confidence")
    handles = next((axes.get_legend_handles_labels() for axes in panels.flat if len(axes.patches)), ([], []))
    drawn = [Patch(color=GREY, alpha=0.45) if isinstance(h, BarContainer) else h for h in handles[0]]
    figure.legend(drawn, handles[1], loc="outside lower center", ncols=2)


def _panel(axes: Axes, table: pd.DataFrame, name: str, series: str) -> None:
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    edges = table[table.index.str.startswith(f"{name} upper edge ")].dropna(subset=[f"{series} accuracy"])
    chosen = table[table.index.str.startswith(f"{name} guo ")].dropna(subset=[f"{series} accuracy"])
    if edges.empty:
        axes.set_title(series)
        not_run(axes)
        return
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.6, linestyle="--")
    upper = edges.index.str.split(" ").str[-1].astype(int) / 10
    axes.bar(
        upper - 0.05,
        edges[f"{series} accuracy"],
        width=0.092,
        color=COLOURS[series],
        alpha=0.45,
        label="authors' rule: every class, at a bin's upper edge",
    )
    axes.scatter(upper, edges[f"{series} accuracy"], s=6, color=COLOURS[series])
    chosen = chosen.sort_values(f"{series} confidence")
    axes.plot(
        chosen[f"{series} confidence"],
        chosen[f"{series} accuracy"],
        color="black",
        marker=".",
        markersize=4,
        linewidth=0.9,
        label="Guo et al.: predicted class, at its mean confidence",
    )
    ours, guo = table.loc[f"{name} ECE upper edge", series], table.loc[f"{name} ECE guo", series]
    axes.set_title(f"{series}\nECE {ours:.2f} % (paper's rule), {guo:.2f} % (Guo's)", fontsize=7)
