"""Figure 5: improvement in the sequential search space."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.pruning import grid, note_reliability, remaining
from harness.drawing.style import COLUMN

METHODS = ("baseline", "bias1", "split400", "split500")


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(COLUMN, 2.9)
    (axes,) = grid(figure, remaining(cells), {"": "sequential search space"}, (METHODS,), legend_columns=3)
    note_reliability(axes, cells)
