"""Figure 4.10: the accuracy of what searches would choose, by epoch; on NAS-Bench-201 also the skips."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.drawing.style import COLOURS, WIDE, band, not_run

NB201 = ("DARTS", "DARTS (second-order)", "SoTL-DARTS", "SoVL-DARTS", "noise")


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 5.0)
    (first, second), (third, fourth) = figure.subplots(2, 2)
    points = cells.dropna(subset=["value"]).assign(x=lambda c: c["row"].astype(int))
    for axes, letter, baseline in ((first, "a", "DARTS"), (second, "b", "DrNAS")):
        names = {name: f"DARTS space {name}" for name in (baseline, f"SoTL-{baseline}")}
        lines(axes, points, names)
        axes.set(title=f"{letter}) {baseline}, DARTS space", ylabel="predicted accuracy (%)")
    lines(third, points, {name: f"NB201 {name}" for name in NB201})
    third.set(title="c) NAS-Bench-201, CIFAR-10", ylabel="test accuracy (%)")
    lines(fourth, points, {name: f"NB201 {name} skips" for name in NB201})
    fourth.set(title="d) its skip connections, of six edges", ylim=(-0.2, 6.2))
    legend: dict[str, object] = {}
    for axes in (first, second, third):
        legend |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(legend.values(), legend.keys(), loc="outside lower center", ncols=4)


def lines(axes: Axes, points: pd.DataFrame, columns: dict[str, str]) -> None:
    """A line per search."""
    for search, column in columns.items():
        mine = points[points["column"] == column]
        if len(mine):
            style = {"marker": "", "linestyle": ":" if search == "noise" else "-"}
            band(axes, mine, COLOURS[search], search, **style)
    if not axes.lines:
        not_run(axes)
    axes.set_xlabel("epoch")
