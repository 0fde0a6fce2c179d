"""Every figure can be drawn from the cells that were accepted of it, at each scale."""

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness.base.layout import SCALES, Layout, artefact_file
from harness.drawing.style import style
from harness.make.make import _drawing
from harness.make.render import of_own_scale
from harness.numbers.cellfile import read_cells
from harness.spec import artefacts

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
        n += sum(len(bar.get_data().values) for bar in axes.patches if hasattr(bar, "get_data"))  # outlines
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
    boxes = [(word, word.get_window_extent()) for word in words if getattr(word, "get_text", lambda: "x")()]
    return [str(word) for word, box in boxes if not all(whole.contains(*corner) for corner in box.corners())]


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_figure_is_drawn_from_accepted_cells_and_its_words_fit(name):
    """At scale cpu, where no method is missing, the legend of icw Figure 7 was wider than the picture."""
    artefact, path = ACCEPTED[name]
    with matplotlib.rc_context(style()):
        drawn = Figure(layout="constrained")
        FigureCanvasAgg(drawn)
        cells = of_own_scale(read_cells(path))
        _drawing(artefact)(cells, drawn)
        assert drawn.axes and points(drawn) >= min(11, cells["value"].count())
        assert not cut_off(drawn)


def test_each_legend_is_looked_at():
    drawn = Figure(layout="constrained")
    FigureCanvasAgg(drawn)
    for axes in drawn.subplots(1, 2):
        axes.plot([0, 1], label="a")
    first, _ = [axes.legend() for axes in drawn.axes]
    assert not cut_off(drawn)
    first.set_in_layout(False)
    first.set_bbox_to_anchor((-3, 0))
    assert cut_off(drawn) == ["Legend"]
