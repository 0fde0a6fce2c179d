"""Curves over the number of architectures that remain while the worst predicted are removed."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.drawing.style import COLOURS, LABELS, NOTE, RULE, band, not_run

TICKS = 7  # about as many fit below a panel
TRIVIAL = ("oracle", "#params")  # what the truth and the size alone would select


def remaining(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells whose row is a number of architectures, with that number as x."""
    points = cells[cells["row"].str.isdecimal()].dropna(subset=["value"])
    return points.assign(x=points["row"].astype(int))


def curves(axes: Axes, points: pd.DataFrame, prefix: str, methods: tuple[str, ...]) -> bool:
    """The columns `<prefix> <method>`, beside oracle and #params, fewer to the right; False without."""
    names = {f"{prefix} {name}".strip(): name for name in (*TRIVIAL, *methods)}
    drawn = points[points["column"].isin(list(names))]
    if drawn.empty:
        not_run(axes)
        return False
    for column, name in names.items():
        mine = drawn[drawn["column"] == column].sort_values("x")
        if name in TRIVIAL:
            axes.plot(mine["x"], mine["value"], color=COLOURS[name], linestyle=":", linewidth=1, label=name)
        elif len(mine):
            band(axes, mine, COLOURS[name], LABELS[name], alpha=0.12)
    axes.axhline(0, color=RULE, linewidth=0.6, zorder=0)
    log_x(axes, sorted(drawn["x"].unique(), reverse=True))
    return True


def log_x(axes: Axes, there: list[int]) -> None:
    """A logarithmic axis that falls to the right, labelled where there are points and room."""
    apart = (there[0] / there[-1]) ** (1 / TICKS)
    ticks = [there[0]]
    for x in there[1:]:
        if ticks[-1] / x >= apart and x / there[-1] >= apart or x == there[-1]:
            ticks.append(x)
    axes.set_xscale("log")
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.invert_xaxis()


def note_reliability(axes: Axes, cells: pd.DataFrame) -> None:
    """How well two trainings of the truth agree, where they did the truth themselves."""
    for value in cells.loc[cells["row"] == "reliability", "value"].dropna():
        text = f"τ of two trainings of the truth: {value:.2f}"
        # High on the left: all curves start at zero, and a bad predictor's may fall below the others.
        axes.text(0.02, 0.97, text, fontsize=7, color=NOTE, va="top", transform=axes.transAxes)


def grid(
    figure: Figure,
    points: pd.DataFrame,
    spaces: dict[str, str],
    groups: tuple[tuple[str, ...], ...],
    legend_columns: int = 6,
) -> list[Axes]:
    """A column of panels per search space (prefix and title), a row per group of methods with its legend."""
    drawn: list[Axes] = []
    for methods, part in zip(groups, figure.subfigures(len(groups), squeeze=False)[:, 0], strict=True):
        row = part.subplots(1, len(spaces), squeeze=False)[0]
        drawn += row.tolist()
        for (prefix, title), axes in zip(spaces.items(), row, strict=True):
            axes.set_title(title)
            if curves(axes, points, prefix, methods):
                axes.set_xlabel("remaining architectures")
        row[0].set_ylabel("improvement")
        full = max((axes.get_legend_handles_labels() for axes in row), key=lambda legend: len(legend[1]))
        part.legend(*full, loc="outside lower center", ncols=legend_columns)
    return drawn
