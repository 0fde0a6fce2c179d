"""Figures 4.2 and 4.3 and their controls: drawings and YAML agree, and what they show is run."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from harness.base.files import ROOT
from harness.make.make import _drawing
from harness.spec import artefacts
from harness.spec.artefacts import Artefact

FIGURES = ("figure_4_2", "figure_4_3a", "figure_4_3b")


def artefact(name: str) -> Artefact:
    folder = "tables" if name.startswith("table") else "figures"
    return artefacts.load(ROOT / folder / "sotl" / f"{name}.yaml")


def cells(figure: Artefact) -> pd.DataFrame:
    """A number of its own for every cell."""
    frame = pd.DataFrame([(cell.row, cell.column) for cell in figure.cells], columns=["row", "column"])
    value = np.arange(1, len(frame) + 1, dtype=float)
    return frame.assign(value=value, lo=value - 0.5, hi=value + 0.5, text="", spread=0.1)


@pytest.mark.parametrize("name", FIGURES)
def test_every_line_of_a_drawing_has_its_cells(name):
    figure, drawn = artefact(name), Figure(layout="constrained")
    _drawing(figure)(cells(figure), drawn)
    known = set(cells(figure)["value"])
    lines = [line for axes in drawn.axes for line in axes.lines if len(line.get_xdata()) != 2]
    assert len(lines) == {"figure_4_2": 6 + 5 + 5, "figure_4_3a": 4 * 9, "figure_4_3b": 6 * 6}[name]
    for line in lines:
        assert len(line.get_xdata()) > 10 and set(line.get_ydata()) <= known
        assert (np.diff(line.get_xdata()) > 0).all()


@pytest.mark.parametrize("name", FIGURES)
def test_a_scale_that_has_nothing_is_drawn_empty(name):
    figure, drawn = artefact(name), Figure(layout="constrained")
    _drawing(figure)(cells(figure).assign(value=np.nan, lo=np.nan, hi=np.nan), drawn)
    curves = [line for axes in drawn.axes for line in axes.lines if len(set(line.get_xdata())) > 1]
    assert drawn.axes and not any(np.isfinite(np.asarray(line.get_ydata(), float)).any() for line in curves)


@pytest.mark.parametrize("name", ["figure_4_3a", "figure_4_3b", "table_synthetic_controls"])
def test_every_search_and_start_that_is_shown_is_run(name):
    found = artefact(name)
    for run in found.runs("cpu"):
        starts = {one["name"]: one.get("starts", [-1]) for one in run.config["searches"]}
        for cell in found.cells:
            if cell.select["setting"] == run.setting:
                only = cell.select["only"]
                assert float(only["start"]) in starts[only["search"]], f"{cell.row} / {cell.column}"


def test_updates_of_the_long_path_are_its_steps():
    """Of T = 25: beyond 120 updates the path is kept by steps."""
    for line in artefact("figure_4_3a").data["rows"]:
        if "step" in line["only"]:
            assert int(line["name"].removeprefix("update ")) * 25 == line["only"]["step"]
