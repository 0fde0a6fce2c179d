"""Figure 4.5: correlation along training from scratch on CIFAR-100 and ImageNet16-120."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.curves import four_panels

NAMES = ("SoTL", "SoTL, all epochs", "TLMini", "ValAcc", "ValAccMini", "Params")
PANELS = {
    "a": "a) CIFAR-100, the benchmark's trainings",
    "b": "b) ImageNet16-120, the benchmark's trainings",
    "own a": "own a) CIFAR-10 trainings, truth of CIFAR-100",
    "own b": "own b) CIFAR-10 trainings, truth of ImageNet16-120",
}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    four_panels(cells, figure, NAMES, PANELS)
