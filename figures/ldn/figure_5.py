"""Figure 5: test performance, full and pruned, and chosen depth against width."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from harness.drawing.style import COLOURS, COLUMN, band

WIDTHS = [5, 10, 20, 50, 100, 200, 500, 1000]  # that have a label


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(COLUMN, 3.2)
    top, bottom = figure.subplots(2, 1, sharex=True)
    points = cells.dropna(subset=["value"]).assign(x=lambda c: c["row"].astype(int))
    for name, look in (("full", "-"), ("pruned", "--")):
        band(top, points[points["column"] == name], COLOURS[name], name, linestyle=look)
    band(bottom, points[points["column"] == "d_opt"], COLOURS["d_opt"], "d_opt")
    bottom.yaxis.set_major_locator(MaxNLocator(integer=True))
    top.legend()
    top.set_ylabel("test probability")
    bottom.set(xlabel="w (width)", ylabel="$d_{opt}$ (no. active blocks)", xscale="log")
    ticks = [w for w in WIDTHS if w <= points["x"].max()]
    bottom.set_xticks(ticks, [str(w) for w in ticks])
    bottom.minorticks_off()
