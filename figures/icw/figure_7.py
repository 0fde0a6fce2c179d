"""Figure 7: baselines by epochs and augmentation; batch norm adjusted on the left, reset on the right."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.pruning import grid, note_reliability, remaining
from harness.drawing.style import WIDE

NORMS = {"adjusted": "statistics adjusted", "reset": "statistics reset"}
METHODS = ("weak300", "weak600", "weak900", "strong150", "strong600")


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 3.0)
    left, _ = grid(figure, remaining(cells), NORMS, (METHODS,), legend_columns=4)
    note_reliability(left, cells)
