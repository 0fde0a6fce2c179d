"""Figure 4.6: estimators while SPOS is fine-tuned; SoTL across algorithms."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.drawing.style import BARS, COLOURS, WIDE, band, not_run, say

ESTIMATORS = ("SoTL", "TLMini", "ValAcc", "ValAccMini")
APART = 4  # points of a series that is not measured all along
ALGORITHMS = ("SPOS", "FairNAS", "MultiPath", "Reptile", "Metaprox")


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 3.3)
    left, right = figure.subplots(1, 2, sharey=True)
    points = cells.dropna(subset=["value"]).assign(x=lambda c: c["row"].astype(int))
    _panel(left, points, {name: f"SPOS {name}" for name in ESTIMATORS}, "estimator")
    _panel(right, points, {name: f"{name} SoTL" for name in ALGORITHMS}, "algorithm, ranked by SoTL")
    left.set(title="a) estimators, SPOS", ylabel="Spearman correlation")
    right.set_title("b) SoTL, all algorithms")


def _panel(axes: Axes, points: pd.DataFrame, series: dict[str, str], title: str) -> None:
    for name, column in series.items():
        mine = points[points["column"] == column]
        if len(mine):
            if len(mine) < APART:  # no line between points that far apart
                bars = mine["spread"].fillna(0)
                look = {"fmt": "D", "markersize": 4, "color": COLOURS[name], "label": name}
                axes.errorbar(mine["x"], mine["value"], yerr=bars, capsize=2, **look)
                say(BARS)
            else:
                band(axes, mine, COLOURS[name], name, alpha=0.12)
    params = points[points["column"] == "Params"].sort_values("x")
    if len(params):
        axes.plot(params["x"], params["value"], color=COLOURS["Params"], linestyle=":", label="Params")
    axes.set_xlabel("minibatches of fine-tuning")
    if axes.lines:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, title=title, title_fontsize=7)
    else:
        not_run(axes)
