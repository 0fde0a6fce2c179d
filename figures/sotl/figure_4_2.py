"""Figure 4.2: training losses of fixed degrees, and SoTL by degree."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, WIDE, interval

DEGREES = {"0": VERMILION, "1": ORANGE, "3": BLACK, "5": SKY, "11": BLUE, "21": PURPLE}
VARIANTS = {
    "text, masked": (BLUE, "-"),
    "text, masked, zeros": (BLUE, ":"),
    "text, gated": (BLUE, "--"),
    "code, masked": (GREEN, "-"),
    "code, gated": (GREEN, "--"),
}
LOW = 120  # up to where the third panel shows SoTL


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.7)
    losses, sums, low = figure.subplots(1, 3)
    steps, degrees = points(cells, "step "), points(cells, "k = ")
    for k, colour in DEGREES.items():
        mine = steps[steps["column"] == f"loss of k = {k}"]
        # Above k = 3 the losses nearly coincide: it is drawn dashed and above the others.
        look = {"linestyle": (0, (4, 3)), "zorder": 3} if k == "3" else {}
        interval(losses, mine, colour, f"k = {k}", linewidth=1, **look)
    losses.set(yscale="log", xlabel="step", ylabel="training loss", title="a) text's data, masked")
    losses.legend()
    for variant, (colour, style) in VARIANTS.items():
        mine, look = degrees[degrees["column"] == variant], {"linestyle": style, "linewidth": 1}
        interval(sums, mine, colour, variant, **look)
        # Without bands: models of a run are compared.
        low.plot(mine["x"], mine["value"], color=colour, marker=".", markersize=3, **look)
    sums.set(yscale="log", xlabel="degree k", ylabel="SoTL over 1,000 steps", title="b) all variants")
    sums.legend()
    shown = degrees.loc[degrees["value"] < LOW, "value"]
    low.set(xlabel="degree k", title="c) as b), where it is low")
    low.set_ylim(shown.min() - 1 if len(shown) else 0, LOW)
    for axes in (sums, low):
        axes.axvline(3, color=BLACK, linewidth=0.5, linestyle=":")


def points(cells: pd.DataFrame, prefix: str) -> pd.DataFrame:
    mine = cells[cells["row"].str.startswith(prefix)].dropna(subset=["value"])
    return mine.assign(x=mine["row"].str.removeprefix(prefix).astype(int)).sort_values("x")
