"""Figure 2: posterior bars with the DDNs' test performance over them; chosen depth against D."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.drawing.style import BLACK, COLOURS, RULE, WIDE, band


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.5)
    left, right = figure.subplots(1, 2)
    cells = cells.dropna(subset=["value"]).copy()
    cells[["axis", "x"]] = cells["row"].str.split("=", expand=True)
    cells["x"] = cells["x"].astype(int)
    _posterior(left, cells)
    _scan(right, cells)


def _of(cells: pd.DataFrame, column: str, axis: str) -> pd.DataFrame:
    return cells[(cells["column"] == column) & (cells["axis"] == axis)]


def _posterior(axes: Axes, cells: pd.DataFrame) -> None:
    q, exact = _of(cells, "q", "d"), _of(cells, "exact posterior", "d")
    bars = axes.bar(q["x"], q["value"], color=COLOURS["q"], width=0.8, label="q(d)")
    step = axes.step(exact["x"], exact["value"], where="mid", color=BLACK, lw=0.7, label="exact posterior")[0]
    highest = max(q["value"].max(), exact["value"].max())
    axes.set(xlabel="d (no. active blocks)", ylabel="q(d)", xlim=(-1, 51), ylim=(0, 1.1 * highest))
    test = _twin(axes)
    ddn = _of(cells, "DDN", "d")
    line = band(test, ddn[ddn["x"] <= 50], COLOURS["DDN"], "DDN")
    ldn = _of(cells, "LDN", "D").set_index("x").loc[50]
    pruned = test.axhline(ldn["value"], color=COLOURS["full"], linestyle="--", label="LDN, pruned")
    if ldn["spread"] > 0:
        ends = ldn["value"] - ldn["spread"], ldn["value"] + ldn["spread"]
        test.axhspan(*ends, color=COLOURS["full"], alpha=0.2, linewidth=0)
    axes.legend(handles=[bars, step, line, pruned], ncols=4, columnspacing=1, **_ABOVE)


def _scan(axes: Axes, cells: pd.DataFrame) -> None:
    chosen = _of(cells, "d_opt", "D")
    depth = band(axes, chosen, COLOURS["d_opt"], "$d_{opt}$")
    deepest = chosen["x"].max()
    axes.plot([0, deepest], [0, deepest], color=RULE, linewidth=0.6, linestyle=":", zorder=0)
    axes.set(xlabel="D (maximum depth)", ylabel="d (no. active blocks)", xlim=(0, deepest), ylim=(0, deepest))
    pruned = _of(cells, "LDN", "D")
    line = band(_twin(axes), pruned, COLOURS["full"], "LDN, pruned: test probability", linestyle="--")
    axes.legend(handles=[depth, line], ncols=2, **_ABOVE)


def _twin(axes: Axes) -> Axes:
    other = axes.twinx()
    other.spines["right"].set_visible(True)
    other.set_ylabel("test probability")
    return other


_ABOVE = {"loc": "upper center", "bbox_to_anchor": (0.5, 1.2)}
