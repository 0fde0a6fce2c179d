"""Figure 4.16: the largest eigenvalue of the architecture's Hessian along a search; accuracy beside it."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.searches import along, by_epoch
from harness.drawing.style import WIDE

PART = {"DARTS": "validation", "SoTL-DARTS": "training"}  # whose loss, as the thesis has it
SPACES = {"DARTS": "DARTS space", "NB201": "NAS-Bench-201", "NB101-3": "NB101-3"}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 6.2)
    points = by_epoch(cells)
    letters = iter("abcdef")
    for (left, right), (space, title) in zip(figure.subplots(3, 2), SPACES.items(), strict=True):
        along(left, points, {search: f"{space} {search} eigenvalue, {part}" for search, part in PART.items()})
        left.set(title=f"{next(letters)}) {title}", ylabel="largest eigenvalue")
        along(right, points, {search: f"{space} {search} accuracy" for search in PART})
        right.set(title=f"{next(letters)}) {title}", ylabel="accuracy (%)")
