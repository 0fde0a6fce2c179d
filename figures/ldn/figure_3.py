"""Figure 3: the functions learnt at depths of a LDN (Eq. 3, then each depth alone) and of a DDN."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.maps import draw_grid
from harness.drawing.style import WIDE

DEPTHS = (0, 1, 2, 3, 5, 7, 10, 12, 15, 20)


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.1)
    texts = cells.set_index(["column", "row"])["text"]
    lines = {"LDN": "LDN, Eq. 3", "LDN alone": "LDN alone", "DDN": "DDN"}
    rows = [[texts.get((line, row), "") for row in ["points", *(f"i={i}" for i in DEPTHS)]] for line in lines]
    rows[1][0] = ""  # the same points as above
    draw_grid(figure, rows, ["train points", *(f"i = {i}" for i in DEPTHS)], list(lines.values()))
