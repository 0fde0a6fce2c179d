"""Figure 4.7: correlation and top 10 for several learning rates and batch sizes of fine-tuning."""

import pandas as pd
from matplotlib.figure import Figure

from harness.drawing.style import COLOURS, WIDE, band, not_run

SERIES = ("lr 0.01", "lr 0.001", "batch 128", "batch 256")
LABELS = {"correlation": "Spearman correlation", "top 10": "true accuracy (%) of the top 5 %"}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.8)
    panels = figure.subplots(1, 2)
    points = cells.dropna(subset=["value"]).assign(x=lambda c: c["row"].astype(int))
    for axes, (what, label) in zip(panels, LABELS.items(), strict=True):
        for name in SERIES:
            mine = points[points["column"] == f"{what} {name}"]
            if len(mine):
                batch = " (batch 64)" if name.startswith("lr") else " (lr 0.01)"
                band(axes, mine, COLOURS[name], name + batch)
        params = points[points["column"] == f"{what} Params"].sort_values("x")
        if len(params):
            axes.plot(params["x"], params["value"], color=COLOURS["Params"], linestyle=":", label="Params")
        if not axes.lines:
            not_run(axes)
        axes.set(xlabel="minibatches of fine-tuning", ylabel=label)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
