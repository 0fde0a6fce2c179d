"""Figure 4.10: the accuracy of what searches would choose, by epoch; on NAS-Bench-201 also the skips."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.searches import along, by_epoch
from harness.drawing.style import WIDE

NB201 = ("DARTS", "DARTS (second-order)", "SoTL-DARTS", "SoVL-DARTS", "noise")


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 5.0)
    (first, second), (third, fourth) = figure.subplots(2, 2)
    points = by_epoch(cells)
    for axes, letter, baseline in ((first, "a", "DARTS"), (second, "b", "DrNAS")):
        names = {name: f"DARTS space {name}" for name in (baseline, f"SoTL-{baseline}")}
        along(axes, points, names, dotted=["noise"], legend=False)
        axes.set(title=f"{letter}) {baseline}, DARTS space", ylabel="predicted accuracy (%)")
    along(third, points, {name: f"NB201 {name}" for name in NB201}, dotted=["noise"], legend=False)
    third.set(title="c) NAS-Bench-201, CIFAR-10", ylabel="test accuracy (%)")
    along(fourth, points, {name: f"NB201 {name} skips" for name in NB201}, dotted=["noise"], legend=False)
    fourth.set(title="d) its skip connections, of six edges", ylim=(-0.2, 6.2))
    legend: dict[str, object] = {}
    for axes in (first, second, third):
        legend |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(legend.values(), legend.keys(), loc="outside lower center", ncols=4)
