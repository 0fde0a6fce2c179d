"""Every figure can be drawn from the cells that were accepted of it, at each scale."""

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness import artefacts
from harness.cellfile import read_cells
from harness.figstyle import style
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


def cut_off(figure: Figure) -> list[str]:
    """Legends and titles that do not fit into the picture."""
    figure.draw_without_rendering()
    parts = [figure, *figure.subfigs]
    words = [legend for part in parts for legend in part.legends]
    words += [axes.get_legend() for axes in figure.axes if axes.get_legend()]
    words += [axes.title for axes in figure.axes]
    whole = figure.bbox.padded(1)
    boxes = {str(word): word.get_window_extent() for word in words}
    return [name for name, box in boxes.items() if not (whole.x0 <= box.x0 and box.x1 <= whole.x1)]


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_figure_is_drawn_from_accepted_cells_and_its_words_fit(name):
    """At scale cpu, where no method is missing, the legend of icw Figure 7 was wider than the picture."""
    artefact, path = ACCEPTED[name]
    with matplotlib.rc_context(style()):
        drawn = Figure(layout="constrained")
        FigureCanvasAgg(drawn)
        _drawing(artefact)(read_cells(path), drawn)
        assert drawn.axes and points(drawn) > 10
        assert not cut_off(drawn)
