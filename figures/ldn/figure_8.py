"""Figure 8: the functions that single depths of a LDN learn from more and more train points."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.maps import draw_grid
from harness.drawing.style import WIDE


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    texts = cells.pivot(index="row", columns="column", values="text")
    there = [row for row in dict.fromkeys(cells["row"]) if texts.loc[row, "points"]]
    columns = list(dict.fromkeys(cells["column"]))
    figure.set_size_inches(WIDE, 0.45 + 0.58 * len(there))
    across = [column.replace("points", "train points").replace("=", " = ") for column in columns]
    rows = [[texts.loc[row, column] for column in columns] for row in there]
    draw_grid(figure, rows, across, [row for row in there])
