"""Figure 3: improvement above, correlation while pruning below."""

import pandas as pd
import seaborn
from matplotlib.figure import Figure

from harness.figstyle import COLOURS, COLUMN, RULE
from harness.figstyle_pruning import TRIVIAL


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(COLUMN, 3.6)
    top, bottom = figure.subplots(2, 1, sharex=True)
    points = cells.dropna(subset=["value"]).assign(remaining=lambda c: c["row"].astype(int))
    points[["panel", "predictor"]] = points["column"].str.split(": ", expand=True)
    for axes, panel in ((top, "improvement"), (bottom, "tau")):
        seaborn.lineplot(
            points[points["panel"] == panel],
            x="remaining",
            y="value",
            hue="predictor",
            palette=COLOURS,
            style="predictor",
            dashes={name: (1, 1.5) if name in TRIVIAL else "" for name in COLOURS},
            marker="o",
            markersize=4,
            errorbar=None,
            legend="brief" if axes is top else False,
            ax=axes,
        )
        axes.axhline(0, color=RULE, linewidth=0.6, zorder=0)
    top.set_ylabel("improvement")
    top.legend(title=None)
    bottom.set(ylabel="Kendall's τ-b", xlabel="remaining architectures", xscale="log")
    bottom.set_xticks(ticks := [64, 40, 25, 16, 10], [str(t) for t in ticks])
    bottom.minorticks_off()
    bottom.invert_xaxis()
