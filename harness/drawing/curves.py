"""Curves of estimators: a line per estimator in its colour, its 95 % interval as a band."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from harness.drawing.style import COLOURS, GREY, WIDE, not_run

LINES = {"Params": ":", "TLMini": "-", "ValAccMini": "-"}  # their intervals are in the cells only


def four_panels(cells: pd.DataFrame, figure: Figure, names: tuple[str, ...], titles: dict[str, str]) -> None:
    """Two by two panels of curves over epochs, by the prefix of their rows; one legend below."""
    figure.set_size_inches(WIDE, 4.6)
    handles, labels = [], []
    for axes, (prefix, title) in zip(figure.subplots(2, 2).flat, titles.items(), strict=True):
        axes.set_title(title)
        if estimators(axes, cells, names, prefix):
            axes.set(xlabel="epoch", ylabel="Spearman correlation")
            drawn = axes.get_legend_handles_labels()
            handles, labels = max((handles, labels), drawn, key=lambda legend: len(legend[1]))
    figure.legend(handles, labels, loc="outside lower center", ncols=6)


def estimators(
    axes: Axes, cells: pd.DataFrame, names: tuple[str, ...], prefix: str, unit: str = "epoch"
) -> bool:
    """Rows `<prefix> <x>`; "SoTL, all epochs" is a variant of SoTL, dashed. False where there is nothing."""
    asked = cells[cells["row"].str.fullmatch(rf"{prefix} \d+")]
    asked = asked.assign(x=asked["row"].str.rsplit(" ", n=1).str[-1].astype(int)).sort_values("x")
    mine = asked.dropna(subset=["value"])
    if mine.empty:
        not_run(axes)
        return False
    for name in names:
        points = mine[mine["column"] == name]
        if len(points):
            _one(axes, points, name)
    axes.set_ylim(max(axes.get_ylim()[0], -1.02), 1.02)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    if mine["x"].nunique() == 1:
        axes.set_xlim(0, 1.05 * asked["x"].max())
        axes.text(
            0.04, 0.06, f"only {unit} {mine['x'].iloc[0]} at this scale", color=GREY, transform=axes.transAxes
        )
    return True


def _one(axes: Axes, points: pd.DataFrame, name: str) -> None:
    estimator, _, variant = name.partition(", ")
    colour, alone = COLOURS[estimator], len(points) == 1
    line = "--" if variant else LINES.get(estimator, "-")
    if alone and estimator == "Params":  # the same at every epoch
        axes.axhline(points["value"].iloc[0], color=colour, label=name, linestyle=line, linewidth=1.3)
        return
    marker = {"marker": "o", "markersize": 4} if alone else {}
    width = 0.7 if estimator.endswith("Mini") else 1.3
    axes.plot(
        points["x"], points["value"], color=colour, label=name, linestyle=line, linewidth=width, **marker
    )
    if variant or estimator in LINES:
        return
    low, high = points["lo"].fillna(points["value"]), points["hi"].fillna(points["value"])
    if alone:
        axes.vlines(points["x"], low, high, color=colour, linewidth=1)
    else:
        axes.fill_between(points["x"], low, high, color=colour, alpha=0.15, linewidth=0)
