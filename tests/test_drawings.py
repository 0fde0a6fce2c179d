"""Every figure can be drawn from the cells that were accepted of it, at each scale."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from harness import artefacts
from harness.cellfile import read_cells
from harness.layout import SCALES, Layout, artefact_file
from harness.make import _drawing

ACCEPTED = {
    f"{artefact.name} {scale}": (artefact, path)
    for artefact in artefacts.artefacts()
    for scale in SCALES
    if artefact.kind == "figure"
    and (path := artefact_file(Layout(scale).published, artefact.name, ".cells.csv")).is_file()
}


def points(figure: Figure) -> int:
    """Places that lines, dots and bars were drawn at, and images."""
    n = 0
    for axes in figure.axes:
        n += sum(np.isfinite(np.asarray(line.get_ydata(), float)).sum() for line in axes.lines)
        n += sum(np.isfinite(np.asarray(dots.get_offsets(), float)).sum() for dots in axes.collections)
        n += sum(np.isfinite(bar.get_height()) for bar in axes.patches if hasattr(bar, "get_height"))
        n += len(axes.images)
    return int(n)


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_figure_is_drawn_from_accepted_cells(name):
    artefact, path = ACCEPTED[name]
    drawn = Figure(layout="constrained")
    _drawing(artefact)(read_cells(path), drawn)
    assert drawn.axes and points(drawn) > 10
