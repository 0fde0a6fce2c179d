"""Figure 4.14: accuracy, depth and 3x3 convolutions of what searches in NB101-3 would choose, by epoch."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.searches import along, by_epoch
from harness.drawing.style import WIDE

PANELS = {"accuracy": "a) test accuracy (%)", "depth": "b) depth", "3x3": "c) 3x3 convolutions"}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.4)
    for axes, (what, title) in zip(figure.subplots(1, 3), PANELS.items(), strict=True):
        axes.set_title(title)
        along(axes, by_epoch(cells), {search: f"{search} {what}" for search in ("DARTS", "SoTL-DARTS")})
