"""Figure 4.11: the normal and the reduction cell at the end of each search, as graphs."""

import re

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.drawing.style import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, WIDE, not_run

SHORT = {
    "sep_conv_3x3": ("sep 3", BLUE),
    "sep_conv_5x5": ("sep 5", BLUE),
    "dil_conv_3x3": ("dil 3", GREEN),
    "dil_conv_5x5": ("dil 5", GREEN),
    "skip_connect": ("skip", VERMILION),
    "max_pool_3x3": ("max", ORANGE),
    "avg_pool_3x3": ("avg", PURPLE),
}
# Two inputs, four nodes, the output.
PLACES = ((0.0, 1.3), (0.0, 0.0), (1.2, 0.95), (2.2, -0.35), (3.2, 1.35), (4.2, 0.35), (5.2, 0.8))
TITLES = {"normal": "normal", "reduce": "reduction"}
NAMES = ("k-2", "k-1", "0", "1", "2", "3", "k")


def draw(cells: pd.DataFrame, figure: Figure) -> None:
    rows, columns = list(dict.fromkeys(cells["row"])), list(dict.fromkeys(cells["column"]))
    figure.set_size_inches(WIDE, 1.5 * len(rows))
    texts = cells.set_index(["column", "row"])["text"]
    panels = figure.subplots(len(rows), 2 * len(columns), squeeze=False)
    for line, row in zip(panels, rows, strict=True):
        for i, axes in enumerate(line):
            column, kind = columns[i // 2], list(TITLES)[i % 2]
            text = texts.get((column, row))
            if isinstance(text, str) and text:
                graph(axes, edges(text, kind))
            else:
                not_run(axes)
            axes.set_title(f"{column}, {TITLES[kind]}, {row}", fontsize=6)


def edges(genotype: str, kind: str) -> list[tuple[str, int, int]]:
    """Operation, source and target of each edge."""
    inside = re.search(rf"{kind}=\[(.*?)\]", genotype)
    found = re.findall(r"\('(\w+)', (\d)\)", inside[1]) if inside else []
    return [(op, int(source), 2 + i // 2) for i, (op, source) in enumerate(found)]


def graph(axes: Axes, found: list[tuple[str, int, int]]) -> None:
    for node in (2, 3, 4, 5):
        arrow(axes, node, 6, GREY)
    for number, (op, source, target) in enumerate(found):
        label, colour = SHORT[op]
        arrow(axes, source, target, colour)
        (x, y), (to_x, to_y) = PLACES[source], PLACES[target]
        share = 0.32 if number % 2 else 0.66  # so that two edges into a node have their words apart
        place = ((1 - share) * x + share * to_x, (1 - share) * y + share * to_y)
        behind = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8}
        axes.text(*place, label, fontsize=4.5, color=colour, ha="center", va="center", bbox=behind)
    for place, name in zip(PLACES, NAMES, strict=True):
        square = {"boxstyle": "square" if name.startswith("k") else "circle", "fc": "white", "lw": 0.6}
        axes.text(*place, name, fontsize=4, ha="center", va="center", bbox=square)
    axes.set(xlim=(-0.4, 5.6), ylim=(-0.55, 1.55))
    axes.axis("off")


def arrow(axes: Axes, source: int, target: int, colour: str) -> None:
    look = {"arrowstyle": "->", "color": colour, "lw": 0.6, "shrinkA": 5, "shrinkB": 5}
    axes.annotate("", PLACES[target], PLACES[source], arrowprops=look)
