"""Figure 3: curves of NSA-i, and quantiles of its architectures' accuracies; a column per S."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.wired import curves_and_modes


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    curves_and_modes(cells, figure, ("500", "5000", "50000"))
