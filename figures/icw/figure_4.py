"""Figure 4: improvement in three search spaces; bias weights above, split weights below."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.pruning import grid, remaining
from harness.drawing.style import WIDE

SPACES = {"full": "all operations", "no-zero": "no Zero", "only-conv": "only convolutions"}
BIAS = ("baseline", "bias1", "bias2", "bias3")
SPLIT = ("baseline", "split125", "split175", "split200")


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 4.8)
    grid(figure, remaining(cells), SPACES, (BIAS, SPLIT))
