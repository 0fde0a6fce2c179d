"""Figure 4.4: correlation along training from scratch, under the long schedule and under the short one."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.curves import four_panels

NAMES = ("SoTL", "SoTL, all epochs", "TLMini", "ValAcc", "ValAccMini", "Params")
PANELS = {
    "a": "a) 200 epochs, the benchmark's trainings",
    "b": "b) 12 epochs, the benchmark's trainings",
    "own a": "own a) start of a long schedule, our trainings",
    "own b": "own b) a short schedule, our trainings",
}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    four_panels(cells, figure, NAMES, PANELS)
