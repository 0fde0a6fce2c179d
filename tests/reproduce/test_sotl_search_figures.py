"""Figures 4.10 and 4.12 to 4.16: each panel has its searches where there are numbers, and says where not."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.base.files import ROOT
from harness.drawing.searches import along, by_epoch
from harness.drawing.style import use_colours
from harness.make.make import _drawing
from harness.spec import artefacts

LINES = {
    "figure_4_10": [2, 2, 5, 5],
    "figure_4_12": [4, 2, 4, 2],  # accuracy with 20 layers alone
    "figure_4_13": [2, 2],
    "figure_4_14": [2, 2, 2],
    "figure_4_15": [2, 2, 2],
    "figure_4_16": [2, 2, 2, 2, 2, 2],
}


def drawn(name: str, value: float) -> tuple[Figure, pd.DataFrame]:
    use_colours(ROOT / "figures/sotl/colours.yaml")
    figure, artefact = Figure(layout="constrained"), artefacts.load(ROOT / f"figures/sotl/{name}.yaml")
    cells = pd.DataFrame([(c.row, c.column) for c in artefact.cells], columns=["row", "column"])
    _drawing(artefact)(cells.assign(value=value + np.arange(len(cells)), spread=0.1), figure)
    return figure, cells


@pytest.mark.parametrize("name", LINES)
def test_every_search_is_drawn_along_all_its_epochs(name):
    figure, cells = drawn(name, 1.0)
    assert [len(axes.lines) for axes in figure.axes] == LINES[name]
    epochs = sorted(set(cells["row"].astype(int)))
    for axes in figure.axes:
        assert not axes.texts and axes.get_xlabel() == "epoch"
        assert all(list(line.get_xdata()) == epochs for line in axes.lines)
        shown = [tuple(line.get_ydata()) for line in axes.lines]
        assert len(set(shown)) == len(shown)  # no two of the same column


@pytest.mark.parametrize("name", LINES)
def test_a_panel_without_numbers_says_so(name):
    figure, _ = drawn(name, np.nan)
    for axes in figure.axes:
        assert not axes.lines and axes.texts[0].get_text() == "not run at this scale"
        assert not axes.xaxis.label.get_visible() and not axes.yaxis.label.get_visible()


def lines(first: list[float], second: list[float]) -> list[Line2D]:
    use_colours(ROOT / "figures/sotl/colours.yaml")
    columns = {"DARTS": first, "SoTL-DARTS": second}
    axes, rows = Figure().subplots(), []
    for column, values in columns.items():
        rows += [{"column": column, "row": str(x), "value": y, "spread": 0.0} for x, y in enumerate(values)]
    along(axes, by_epoch(pd.DataFrame(rows)), {name: name for name in columns})
    return axes.lines


def test_two_points_are_not_joined():
    """Bug of its name: a smoke run's first and last epoch looked like a course."""
    for line in lines([1.0, 2.0], [2.0, 4.0]):
        assert line.get_linestyle() == "None" and line.get_marker() == "o"
    for line in lines([1.0, 2.0, 3.0], [2.0, 4.0, 5.0]):
        assert line.get_linestyle() == "-"


@pytest.mark.parametrize(
    ("second", "hidden"),
    [([1.0, 2.0, 2.0, 4.0], True), ([1.0, 1.0, 2.0, 4.0], False), ([0.0, 0.0, 0.0, 0.0], False)],
)
def test_a_line_below_another_is_wider(second, hidden):
    """Bug of its name: of searches with the same cells the last one's line was seen alone."""
    below, above = lines([1.0, 2.0, 2.0, 3.0], second)
    assert (below.get_linewidth() > above.get_linewidth()) == hidden


def test_a_point_below_another_is_larger():
    """Of two points one coincides: the first search's is seen around the second's."""
    below, above = lines([1.0, 2.0], [1.0, 4.0])
    assert below.get_markersize() > above.get_markersize()
