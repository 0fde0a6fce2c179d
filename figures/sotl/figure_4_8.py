"""Figure 4.8: top 10, mean training loss, and the loss of two groups of architectures; two learning rates."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.drawing.style import BLACK, COLOURS, COLUMN, WIDE, band, not_run

SETS = {"imagenet16-120": "ImageNet16-120", "cifar10": "CIFAR-10"}
LABELS = (
    "true accuracy (%)\nof the top 5 %",
    "training loss, all",
    "training loss\nof two groups",
)


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    points = cells.dropna(subset=["value"]).assign(x=lambda c: c["row"].astype(int))
    there = {name: title for name, title in SETS.items() if points["column"].str.startswith(name).any()}
    there = there or SETS  # where one was not run the other has the column to itself
    figure.set_size_inches(WIDE if len(there) > 1 else COLUMN, 5.4)
    panels = figure.subplots(3, len(there), sharex="col", squeeze=False)
    for column, (name, title) in zip(panels.T, there.items(), strict=True):
        instead = "\n(the thesis: ImageNet16-120)" if list(there) == ["cifar10"] else ""
        column[0].set_title(title + instead)
        mine = points[points["column"].str.startswith(name)]
        for axes, lines in zip(column, _lines(name), strict=True):
            if mine.empty:
                not_run(axes)
            else:
                _panel(axes, mine, lines)
        column[-1].set_xlabel("minibatches of fine-tuning")
    for axes, label in zip(panels[:, 0], LABELS, strict=True):
        axes.set_ylabel(label)
    drawn = max((axes.get_legend_handles_labels() for axes in panels[1]), key=lambda legend: len(legend[1]))
    lines = [Line2D([], [], color=BLACK, linestyle=style) for style in ("-", "--")]
    handles, labels = [*drawn[0], *lines], [*drawn[1], "best 10 %", "median 10 %"]
    figure.legend(handles, labels, loc="outside lower center", ncols=2)


def _lines(name: str) -> list[dict[str, tuple[str, str]]]:
    """For each panel: column → learning rate and line style."""
    rates = ("lr 0.01", "lr 0.001")
    styles = {"top": "-", "median": "--"}
    return [
        {f"{name} top 10 {rate}": (rate, "-") for rate in rates},
        {f"{name} loss all {rate}": (rate, "-") for rate in rates},
        {f"{name} loss {group} {rate}": (rate, style) for rate in rates for group, style in styles.items()},
    ]


def _panel(axes: Axes, points: pd.DataFrame, lines: dict[str, tuple[str, str]]) -> None:
    for column, (rate, style) in lines.items():
        mine = points[points["column"] == column]
        if len(mine):
            band(axes, mine, COLOURS[rate], rate, alpha=0.1, linestyle=style)
