"""Figure 4.3a: MaxDeg against its updates from different starts, in four set-ups."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.style import BLACK, BLUE, NOTE, RULE, VERMILION, WIDE, interval

PANELS = {
    "text": "text: data and penalty as the thesis writes",
    "code": "code: as the author's code was first stored",
    "code-last": "code-last: as it was stored last",
    "code-off": "code-off: as the code, without penalties",
}
STARTS = (-1, 0, 1, 2, 3, 4, 5, 6, 8)


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 4.2)
    mine = cells.dropna(subset=["value"])
    mine = mine.assign(x=mine["row"].str.split().str[1].astype(int)).sort_values("x")
    for axes, (name, title) in zip(figure.subplots(2, 2, sharey=True).flat, PANELS.items(), strict=True):
        axes.axhspan(3, 4, color=RULE, alpha=0.4, linewidth=0)
        at = (0.99, 3.5)
        axes.annotate(
            "degree 3",
            at,
            xycoords=("axes fraction", "data"),
            ha="right",
            va="center",
            fontsize=6,
            color=NOTE,
        )
        for start in STARTS:
            name_of = {-1: "from below 3", 3: "from 3", 4: "from above"}.get(start)
            colour = BLACK if start == 3 else BLUE if start < 3 else VERMILION
            points = mine[mine["column"] == f"{name} from {start}"]
            interval(axes, points, colour, name_of, linewidth=0.9)
        axes.set(title=title, ylim=(-1.3, 8.3))
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    for axes in figure.axes[2:]:
        axes.set_xlabel("updates of MaxDeg (25 steps each)")
    for axes in figure.axes[::2]:
        axes.set_ylabel("MaxDeg")
