"""Figure 4.6: estimators while SPOS is fine-tuned; SoTL across algorithms."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.drawing.style import COLOURS, WIDE, band, not_run

ESTIMATORS = ("SoTL", "TLMini", "ValAcc", "ValAccMini")
ALGORITHMS = ("SPOS", "FairNAS", "MultiPath", "Reptile", "Metaprox")


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 3.0)
    left, right = figure.subplots(1, 2, sharey=True)
    points = cells.dropna(subset=["value"]).assign(x=lambda c: c["row"].astype(int))
    _panel(left, points, {name: f"SPOS {name}" for name in ESTIMATORS})
    _panel(right, points, {name: f"{name} SoTL" for name in ALGORITHMS})
    left.set(title="a) estimators, SPOS", ylabel="Spearman correlation")
    right.set_title("b) SoTL, all algorithms")


def _panel(axes: Axes, points: pd.DataFrame, series: dict[str, str]) -> None:
    for name, column in series.items():
        mine = points[points["column"] == column]
        if len(mine):
            whole = {"marker": "D", "linestyle": "--"} if name == "ValAcc" else {}
            band(axes, mine, COLOURS[name], name, **whole)
    params = points[points["column"] == "Params"].sort_values("x")
    if len(params):
        axes.plot(params["x"], params["value"], color=COLOURS["Params"], linestyle=":", label="Params")
    axes.set_xlabel("minibatches of fine-tuning")
    if axes.lines:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3)
    else:
        not_run(axes)
