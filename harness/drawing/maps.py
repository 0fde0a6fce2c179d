"""Maps of a function of the plane and the points that it was learnt from, out of the text of cells."""

import base64

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from harness.drawing.style import BLACK, BLUE, VERMILION

PROBABILITY = LinearSegmentedColormap.from_list("probability", [BLUE, "#FFFFFF", VERMILION])


def draw_map(axes: Axes, text: str) -> None:
    """A square map, row by row from the top: a byte per pixel, 0 to 255 for probability 0 to 1, in base64."""
    pixels = np.frombuffer(base64.b64decode(text), np.uint8)
    side = round(len(pixels) ** 0.5)
    extent = (-1, 1, -1, 1)
    axes.imshow(
        pixels.reshape(side, side), PROBABILITY, vmin=0, vmax=255, extent=extent, interpolation="bilinear"
    )
    _bare(axes)


def draw_points(axes: Axes, text: str) -> None:
    """Points of two kinds: x and y in 127ths of the map's half side, and the kind; signed bytes in base64."""
    x, y, kind = np.frombuffer(base64.b64decode(text), np.int8).reshape(-1, 3).T
    colours = np.where(kind[:, None] == 1, PROBABILITY([255]), PROBABILITY([0]))
    axes.scatter(x / 127, y / 127, s=1.2, c=colours, linewidths=0)
    axes.set(xlim=(-1, 1), ylim=(-1, 1), aspect="equal")
    _bare(axes)


def _bare(axes: Axes) -> None:
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(visible=True, linewidth=0.4, color=BLACK)


def draw_grid(figure: Figure, texts: list[list[str]], across: list[str], down: list[str]) -> None:
    """A grid of pictures with headings; the first of each row shows points, a missing text stays empty."""
    grid = figure.subplots(
        len(down), len(across), squeeze=False, gridspec_kw={"wspace": 0.02, "hspace": 0.02}
    )
    for axes, row, name in zip(grid, texts, down, strict=True):
        for k, (ax, text) in enumerate(zip(axes, row, strict=True)):
            if text:
                (draw_points if k == 0 else draw_map)(ax, text)
            else:
                ax.set(xticks=[], yticks=[], aspect="equal")
                ax.spines[:].set_visible(False)
        axes[0].set_ylabel(name, rotation=0, ha="right", va="center")
    for ax, name in zip(grid[0], across, strict=True):
        ax.set_title(name, fontsize=7)
    key = ScalarMappable(Normalize(0, 1), PROBABILITY)
    bar = figure.colorbar(key, ax=grid, shrink=min(1, 1.6 / figure.get_figheight()), aspect=14, pad=0.01)
    bar.set_ticks([0, 0.5, 1], labels=["0", "0.5", "1"])
    bar.set_label("probability of the orange class", fontsize=7)
    bar.outline.set_linewidth(0.4)
