"""Figure 6: stand-alone training and test accuracies, of one training and of the average of both."""

import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.drawing.style import BLUE, ORANGE, RULE, WIDE

PANELS = (("training", "training: (1) and (1+2)"), ("test", "test: (1) and (1+2)"))
METRICS = ("KT", "PCC", "SCC")
DOTS = {"s": 8, "linewidth": 0}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.6)
    panels = figure.subplots(1, 3)
    is_point = cells["row"].str.startswith("architecture ")
    points = cells[is_point].pivot(index="row", columns="column", values="value").dropna()
    values = cells[~is_point].set_index(["row", "column"])["value"]
    for axes, (kind, column) in zip(panels, PANELS, strict=False):
        low, high = points[[f"{kind} (1)", f"{kind} (1+2)"]].stack().agg(["min", "max"])
        axes.plot([low, high], [low, high], color=RULE, linewidth=0.6, zorder=0)
        seaborn.scatterplot(points, x=f"{kind} (1)", y=f"{kind} (1+2)", color=BLUE, ax=axes, **DOTS)
        axes.set(xlabel=f"{kind} accuracy (1), %", ylabel=f"{kind} accuracy (1+2), %")
        told(axes, values, column)
    for number, colour in ((1, BLUE), (2, ORANGE)):
        names = {"x": f"training ({number})", "y": f"test ({number})", "label": f"({number})"}
        seaborn.scatterplot(points, color=colour, ax=panels[2], **names, **DOTS)
    panels[2].set(xlabel="training accuracy, %", ylabel="test accuracy, %")
    panels[2].legend(loc="lower right", handletextpad=0.1, borderaxespad=0)
    told(panels[2], values, "training and test", "both: ")


def told(axes: Axes, values: pd.Series, column: str, of: str = "") -> None:
    """The three correlations, above the panel."""
    words = [f"{metric} {values[metric, column]:.2f}" for metric in METRICS]
    axes.set_title(of + "  ".join(words), loc="left")
