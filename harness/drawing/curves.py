"""Curves of estimators: a line per estimator in its colour, its 95 % interval as a band."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from harness.drawing.style import BAR_INTERVAL, BLACK, COLOURS, INTERVAL, WIDE, not_run, say

LINES = {"Params": ":", "TLMini": "-", "ValAccMini": "-"}  # their intervals are in the cells only
HIGHEST = 1.05  # of a correlation, with room for what is drawn there


def four_panels(cells: pd.DataFrame, figure: Figure, names: tuple[str, ...], titles: dict[str, str]) -> None:
    """Two by two panels of curves over epochs, by the prefix of their rows; one scale, one legend below."""
    figure.set_size_inches(WIDE, 4.8)
    every, lowest = {}, []
    for axes, (prefix, title) in zip(figure.subplots(2, 2).flat, titles.items(), strict=True):
        axes.set_title(title)
        if estimators(axes, cells, names, prefix):
            axes.set_ylabel("Spearman correlation")
            drawn = axes.get_legend_handles_labels()
            every |= dict(zip(drawn[1], drawn[0], strict=True))
            lowest.append((axes, axes.get_ylim()[0]))
    for axes, _ in lowest:
        axes.set_ylim(min(low for _, low in lowest), HIGHEST)
    figure.legend(every.values(), every, loc="outside lower center", ncols=7)


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
    there = [name for name in names if (mine["column"] == name).any()]
    if mine["x"].nunique() == 1 < asked["x"].nunique():
        _side_by_side(axes, mine, there, f"{unit} {mine['x'].iloc[0]}")
    else:
        for name in there:
            _one(axes, mine[mine["column"] == name], name)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        axes.set_xlabel(unit)
        _printed(axes, asked)
    axes.set_ylim(max(axes.get_ylim()[0], -1.02), HIGHEST)
    return True


def _side_by_side(axes: Axes, mine: pd.DataFrame, names: list[str], when: str) -> None:
    """At a single epoch there is no curve: a point with its interval for each estimator."""
    for k, name in enumerate(names):
        point = mine[mine["column"] == name].iloc[0]
        colour = COLOURS[name.partition(", ")[0]]
        axes.plot([k], [point["value"]], "o", color=colour, markersize=4)
        if point["hi"] > point["lo"]:
            axes.vlines(k, point["lo"], point["hi"], color=colour, linewidth=1.3)
            say(BAR_INTERVAL)
        axes.annotate(
            f"{point['value']:.2f}",
            (k, point["value"]),
            (5, 0),
            textcoords="offset points",
            va="center",
            fontsize=6.5,
        )
    _printed(axes, mine[mine["column"].isin(names)].assign(x=lambda c: c["column"].map(names.index)))
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.2)
    axes.set_ylim(0, HIGHEST)
    axes.set_xlabel(f"at this scale {when} alone")


def _printed(axes: Axes, there: pd.DataFrame) -> None:
    """The paper's own numbers, where it prints any, at their `x`."""
    numbers = pd.to_numeric(there["reported"].str.split().str[0], errors="coerce")
    mine = there.assign(printed=numbers).dropna(subset=["printed"])
    if len(mine):
        axes.plot(mine["x"], mine["printed"], "x", color=BLACK, markersize=5, label="printed", zorder=4)


def _one(axes: Axes, points: pd.DataFrame, name: str) -> None:
    estimator, _, variant = name.partition(", ")
    colour = COLOURS[estimator]
    line = "--" if variant else LINES.get(estimator, "-")
    if len(points) == 1 and estimator == "Params":  # the same at every epoch
        axes.axhline(points["value"].iloc[0], color=colour, label=name, linestyle=line, linewidth=1.3)
        return
    look = {"linestyle": line, "linewidth": 0.7 if estimator.endswith("Mini") else 1.3}
    if len(points) == 1:
        look |= {"marker": "o", "markersize": 4}
    axes.plot(points["x"], points["value"], color=colour, label=name, **look)
    if variant or estimator in LINES:
        return
    low, high = points["lo"].fillna(points["value"]), points["hi"].fillna(points["value"])
    if len(points) == 1:
        axes.vlines(points["x"], low, high, color=colour, linewidth=1)
    else:
        axes.fill_between(points["x"], low, high, color=colour, alpha=0.15, linewidth=0)
    say(INTERVAL)
