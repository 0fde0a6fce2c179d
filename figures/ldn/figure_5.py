"""Figure 5: test performance, full and pruned, and chosen depth against width."""

import pandas as pd
from matplotlib.figure import Figure

from harness.figstyle import COLOURS, COLUMN, band


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(COLUMN, 3.2)
    top, bottom = figure.subplots(2, 1, sharex=True)
    points = cells.dropna(subset=["value"]).assign(x=lambda c: c["row"].astype(int))
    for name, look in (("full", "-"), ("pruned", "--")):
        band(top, points[points["column"] == name], COLOURS[name], name, linestyle=look)
    band(bottom, points[points["column"] == "d_opt"], COLOURS["d_opt"], "d_opt")
    top.legend()
    top.set_ylabel("test probability")
    bottom.set(xlabel="w (width)", ylabel="d (no. active blocks)", xscale="log")
