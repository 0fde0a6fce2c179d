"""The supplement's histograms: the share of candidates by test error."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from harness.drawing.style import COLOURS, COLUMN, LABELS, not_run

WIDTH = 2  # of a bin, in percent


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(COLUMN, 3.4)
    points = cells.dropna(subset=["value"]).assign(x=lambda c: c["row"].astype(int))
    for axes, net in zip(figure.subplots(2, 1, sharex=True), ("MI", "M"), strict=True):
        shown = points[points["column"].str.startswith(f"{net}: ")]
        if shown.empty:
            not_run(axes)
            continue
        for number, (way, colour) in enumerate(COLOURS.items()):
            bars = shown[shown["column"] == f"{net}: {way}"].sort_values("x")
            if bars.empty:
                continue
            ends = [*bars["x"], bars["x"].iloc[-1] + WIDTH]
            axes.stairs(bars["value"], ends, color=colour, label=LABELS[way], zorder=3 - number / 10)
        axes.set(title=f"SupNet-{net}", ylabel="candidates (%)")
    if not points.empty:
        seen = points.loc[points["value"] > 0, "x"]
        axes.set_xlim(max(seen.min() - WIDTH, 0), min(seen.max() + 2 * WIDTH, 100))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 4, 5, 10]))  # at ends of bins
    axes.set_xlabel("test error (%)")
    figure.axes[0].legend()
