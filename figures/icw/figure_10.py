"""Figure 10: a panel per method, in it every pair of three super-networks."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.drawing.style import BLUE, GREEN, LABELS, RULE, VERMILION, WIDE, not_run

METHODS = ("baseline", "bias1", "split400", "split500")
PAIRS = {("0", "1"): BLUE, ("0", "2"): VERMILION, ("1", "2"): GREEN}


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    figure.set_size_inches(WIDE, 2.4)
    texts = cells.set_index(["column", "row"])["text"]
    for axes, method in zip(figure.subplots(1, len(METHODS), sharex=True, sharey=True), METHODS, strict=True):
        _panel(axes, {seed: _numbers(texts.get((method, seed))) for seed in "012"})
        axes.set_title(LABELS[method])
    figure.axes[0].set_ylabel("another's prediction, %")
    # One square range for all panels: the diagonal is one, and methods can be compared.
    there = [value for method in METHODS for seed in "012" for value in _numbers(texts.get((method, seed)))]
    if there:
        room = 0.03 * (max(there) - min(there)) + 0.1
        ends = (min(there) - room, max(there) + room)
        figure.axes[0].set(xlim=ends, ylim=ends)
    for axes in figure.axes:
        axes.set_aspect("equal", adjustable="box")
    drawn = max((axes.get_legend_handles_labels() for axes in figure.axes), key=lambda found: len(found[1]))
    figure.legend(*drawn, loc="outside lower center", ncols=3, markerscale=3)


def _numbers(text: object) -> list[float]:
    return [float(word) for word in text.split()] if isinstance(text, str) else []


def _panel(axes: Axes, predictions: dict[str, list[float]]) -> None:
    there = [value for found in predictions.values() for value in found]
    if not there:
        not_run(axes)
        return
    for (first, second), colour in PAIRS.items():
        x, y = predictions[first], predictions[second]
        if x and y:
            label = f"seeds {first} and {second}"
            axes.plot(x, y, ".", markersize=2 if len(x) > 100 else 4, color=colour, alpha=0.5, label=label)
    axes.set_xlabel("one prediction, %")
    axes.axline((0, 0), slope=1, color=RULE, linewidth=0.6, zorder=0)
