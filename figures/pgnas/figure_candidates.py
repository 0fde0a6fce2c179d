"""The supplement's histograms: the share of candidates by test error."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.style import COLOURS, COLUMN, LABELS, not_run

WIDTH = 2  # of a bin, in percent


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(COLUMN, 3.4)
    points = cells.dropna(subset=["value"]).assign(x=lambda c: c["row"].astype(int))
    for axes, net in zip(figure.subplots(2, 1, sharex=True), ("M", "MI"), strict=True):
        shown = points[points["column"].str.startswith(f"{net}: ")]
        if shown.empty:
            not_run(axes)
            continue
        for way, colour in COLOURS.items():
            bars = shown[shown["column"] == f"{net}: {way}"].sort_values("x")
            if bars.empty:
                continue
            ends = [*bars["x"], bars["x"].iloc[-1] + WIDTH]
            axes.stairs(bars["value"], ends, color=colour, label=LABELS[way])
        axes.set(title=f"SupNet-{net}", ylabel="candidates (%)")
        seen = shown.loc[shown["value"] > 0, "x"]
        low, high = axes.get_xlim() if net == "MI" else (seen.min(), seen.max() + WIDTH)
        axes.set_xlim(min(low, seen.min()) - WIDTH, max(high, seen.max() + WIDTH) + WIDTH)
    axes.set_xlabel("test error (%)")
    figure.axes[0].legend()
