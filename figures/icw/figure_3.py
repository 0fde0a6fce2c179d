"""Figure 3: improvement above, correlation while pruning below."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.pruning import curves, remaining
from harness.drawing.style import COLUMN


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(COLUMN, 3.6)
    top, bottom = figure.subplots(2, 1)
    for axes, prefix in ((top, "improvement:"), (bottom, "tau:")):
        curves(axes, remaining(cells), prefix, ("baseline", "12 epochs"))
    top.set_ylabel("improvement")
    top.legend(title=None, loc="upper left")
    bottom.set(ylabel="Kendall's τ-b", xlabel="remaining architectures")
