"""Figure 4: the depth posterior of a LDN as bars, with the likelihoods of DDNs over it."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.drawing.style import BARS, COLOURS, GREY, WIDE, not_run, say

SETS = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST", "svhn": "SVHN"}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.6)
    panels = figure.subplots(1, 3)
    handles, labels = [], []
    cells = cells.assign(set=cells["row"].str.split(" ").str[0], rest=cells["row"].str.split(" ", n=1).str[1])
    for axes, (name, title) in zip(panels, SETS.items(), strict=True):
        mine = cells[cells["set"] == name]
        label = mine.loc[mine["column"] == "data", "text"]
        title = label.iloc[0] if len(label) and label.iloc[0] else title
        axes.set_title(title)
        if mine["value"].notna().any():
            axes.set_xlabel("d (no. active blocks)")
            right = _panel(axes, mine.dropna(subset=["value"]), title)
            bars = axes.patches[0]
            handles, labels = right.get_legend_handles_labels()
            handles, labels = [bars, *handles], ["q(d) of the LDN", *labels]
        else:
            not_run(axes)
    panels[0].set_ylabel("q(d)")
    figure.legend(handles, labels, loc="outside lower center", ncols=3)


def _panel(axes: Axes, mine: pd.DataFrame, title: str) -> Axes:
    bars = mine[mine["rest"].str.startswith("q ") & (mine["column"] == "q")]
    depth = bars["rest"].str[2:].astype(int)
    axes.bar(
        depth, bars["value"], width=0.8, color=COLOURS["q"], yerr=bars["spread"].fillna(0), error_kw=_THIN
    )
    say(BARS)
    right = axes.twinx()
    right.spines["right"].set_visible(True)
    points = mine[mine["rest"].str.startswith("DDN") & (mine["column"] == "mean probability")]
    right.errorbar(
        points["rest"].str[4:].astype(int),
        points["value"],
        yerr=points["spread"].fillna(0),
        color=COLOURS["DDN"],
        marker="o",
        markersize=3,
        label="DDN",
    )
    pruned = mine[mine["rest"] == "LDN-95"].set_index("column")
    d_opt, likelihood = pruned.loc["depth", "value"], pruned.loc["mean probability", "value"]
    axes.axvline(d_opt, color=COLOURS["LDN-95"], linestyle=":", linewidth=1)
    right.errorbar(
        [d_opt],
        [likelihood],
        yerr=[0 if pd.isna(s := pruned.loc["mean probability", "spread"]) else s],
        color=COLOURS["LDN-95"],
        marker="D",
        markersize=4,
        linestyle="none",
        label="LDN, pruned to $d_{opt}$",
    )
    # Networks without blocks are far below all others and would flatten them.
    shown = points.loc[points["rest"] != "DDN 0", "value"].tolist() + [likelihood]
    room = max(max(shown) - min(shown), 0.01)
    right.set_ylim(min(shown) - 0.5 * room, min(max(shown) + 0.5 * room, 1))
    axes.set_title(f"{title}\n$d_{{opt}}$ = {d_opt:.3g}")
    right.set_ylabel("mean probability (test)")
    return right


_THIN = {"linewidth": 0.5, "ecolor": GREY}
