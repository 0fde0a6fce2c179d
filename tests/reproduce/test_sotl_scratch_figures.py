"""Figures 4.4, 4.5 and 4.9: what is drawn of given cells, and that YAML, rows and drawing fit together."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from harness.base.files import ROOT
from harness.drawing.curves import estimators
from harness.drawing.style import COLOURS, save, use_colours
from harness.make.make import _drawing
from harness.spec import artefacts
from harness.spec.artefacts import Artefact

NAMES = ("figure_4_4", "figure_4_5", "figure_4_9")


@pytest.fixture(autouse=True)
def colours():
    use_colours(ROOT / "figures/sotl/colours.yaml")


def artefact(name: str) -> Artefact:
    return artefacts.load(ROOT / "figures" / "sotl" / f"{name}.yaml")


def cells(rows: list[str], columns: list[str], values: np.ndarray | None = None) -> pd.DataFrame:
    value = np.linspace(0.1, 0.9, len(rows) * len(columns)) if values is None else values
    frame = pd.DataFrame([(row, column) for row in rows for column in columns], columns=["row", "column"])
    return frame.assign(value=value, lo=value - 0.1, hi=value + 0.1, text="", spread=0.05, reported="")


def test_a_line_per_estimator_in_its_colour_and_its_interval_behind():
    axes = Figure().subplots()
    rows = ["a 1", "a 10", "a 2", "b 1", "own a 1"]
    assert estimators(
        axes, cells(rows, ["SoTL", "SoTL, all epochs", "Params"]), ("SoTL, all epochs", "SoTL"), "a"
    )
    lines = {line.get_label(): line for line in axes.lines}
    assert set(lines) == {"SoTL", "SoTL, all epochs"}  # Params was not asked for
    assert lines["SoTL"].get_xdata().tolist() == [1, 2, 10]
    assert {to_hex(line.get_color()).upper() for line in lines.values()} == {COLOURS["SoTL"]}
    assert [lines[name].get_linestyle() for name in lines] == ["--", "-"]
    (band,) = axes.collections
    box = band.get_paths()[0].get_extents()
    shown = lines["SoTL"].get_ydata()
    assert (box.y0, box.y1) == pytest.approx((min(shown) - 0.1, max(shown) + 0.1))


def test_a_single_epoch_stands_side_by_side_and_an_empty_panel_says_so():
    """Once Figure 4.4 showed one point per estimator at the edge of an empty panel."""
    axes, empty = Figure().subplots(1, 2)
    both = cells(["a 100", "a 200"], ["SoTL", "Params"])
    both.loc[both["row"] == "a 100", "value"] = np.nan
    assert estimators(axes, both, ("SoTL", "Params"), "a")
    assert [list(line.get_xdata()) for line in axes.lines] == [[0], [1]]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["SoTL", "Params"]
    assert axes.get_xlabel() == "at this scale epoch 200 alone"
    assert not estimators(empty, cells(["a 200"], ["SoTL"]).assign(value=np.nan), ("SoTL",), "a")
    assert empty.texts[0].get_text() == "not run at this scale" and not empty.lines


@pytest.mark.parametrize("name", NAMES)
def test_every_estimator_that_is_drawn_is_a_column(name):
    """Of cells as the YAML names them, all panels are drawn; equal cells give equal bytes."""
    figure = artefact(name)
    rows = list(dict.fromkeys(cell.row for cell in figure.cells))
    columns = list(dict.fromkeys(cell.column for cell in figure.cells))
    draw, drawn = _drawing(figure), Figure(layout="constrained")
    draw(cells(rows, columns), drawn)
    for axes in drawn.axes:
        labels = {line.get_label() for line in axes.lines}
        assert labels <= set(columns) and {"SoTL", "Params"} <= labels, axes.get_title()
    assert {t.get_text() for t in drawn.legends[0].get_texts()} == set.union(
        *({line.get_label() for line in axes.lines} for axes in drawn.axes)
    )


def test_the_same_cells_give_the_same_bytes(tmp_path: Path):
    figure = artefact("figure_4_9")
    given = cells([f"b {e}" for e in range(1, 4)], ["SoTL", "SoG", "SoGN", "SoGN, L1", "Params"])
    for name in ("one", "other"):
        save(_drawing(figure), given, tmp_path / name)
    for kind in ("png", "svg", "pdf"):
        assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"other.{kind}").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_beside_each_correlation_stand_size_and_what_is_left_without_it(name):
    figure = artefact(name)
    of = {(cell.row, cell.column): cell.select for cell in figure.cells}
    for row in {row for row, _ in of}:
        assert of[row, "Params"]["of"] == "params" and of[row, "SoTL"]["of"] == "sotl"
        given = of[row, "SoTL given Params"]
        assert (given["reduce"], given["given"]) == ("partial_spearman", "params")
        assert given["against"] == of[row, "SoTL"]["against"]


def test_the_rows_of_other_image_sets_are_ranked_by_their_own_truth():
    for cell in artefact("figure_4_5").cells:
        expected = {"own a": "truth_cifar100", "own b": "truth_imagenet16_120"}.get(cell.row[:5], "truth")
        assert cell.select["against"] == expected
