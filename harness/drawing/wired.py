"""Figures of networks with many architectures: curves of a training, and quantiles of accuracies."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.drawing.style import COLOURS, LABELS, WIDE, band, not_run

QUANTITIES = {"loss": "loss", "accuracy": "accuracy (%)"}
MODES = ("training mode", "test mode", "estimated")


def curves_and_modes(cells: pd.DataFrame, figure: Figure, sizes: tuple[str, ...]) -> None:
    """Loss, accuracy and the accuracies in each mode, below each other; a column per size."""
    figure.set_size_inches(WIDE, 5.2)
    panels = figure.subplots(3, len(sizes), sharey="row")
    for size, column in zip(sizes, panels.T, strict=True):
        column[0].set_title(f"S = {int(size):,}")
        for axes, quantity in zip(column, QUANTITIES, strict=False):
            names = {kind: f"{size} {kind} {quantity}" for kind in ("training", "test")}
            if lines(axes, cells, names) or size == sizes[0]:
                axes.set_xlabel("training (%)")
        if quantiles(column[2], cells, {mode: f"{size} {mode}" for mode in MODES}) or size == sizes[0]:
            column[2].set_xlabel("share of architectures")
    for axes, label in zip(panels[:, 0], [*QUANTITIES.values(), "accuracy (%)"], strict=True):
        axes.set_ylabel(label)
    for row in panels[1:]:
        if row[0].get_legend_handles_labels()[0]:
            row[0].legend()


def lines(axes: Axes, cells: pd.DataFrame, names: dict[str, str]) -> bool:
    """Columns by what they are called in the paper's colours, against rows that are numbers."""
    points = cells[cells["row"].str.fullmatch(r"\d+")].dropna(subset=["value"])
    points = points.assign(x=points["row"].astype(int))
    return _bands(axes, points, names)


def quantiles(axes: Axes, cells: pd.DataFrame, names: dict[str, str]) -> bool:
    """Columns against the share of architectures at most as good; rows `quantile q`."""
    points = cells[cells["row"].str.startswith("quantile ")].dropna(subset=["value"])
    points = points.assign(x=points["row"].str.split().str[-1].astype(float))
    return _bands(axes, points, names)


def _bands(axes: Axes, points: pd.DataFrame, names: dict[str, str]) -> bool:
    drawn = False
    for name, column in names.items():
        mine = points[points["column"] == column]
        if len(mine):
            band(axes, mine, COLOURS[name], LABELS[name])
            drawn = True
    if not drawn:
        not_run(axes)
    return drawn
