"""Figure 8: as Figure 4's top row, down to the last architecture."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.pruning import grid, remaining
from harness.drawing.style import WIDE

SPACES = {"full": "all operations", "no-zero": "no Zero", "only-conv": "only convolutions"}
BIAS = ("baseline", "bias1", "bias2", "bias3")


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.5)
    grid(figure, remaining(cells), SPACES, (BIAS,))
