"""The one-shot tables and figures: which runs their cells are of, and what is drawn of given cells."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from harness.drawing.style import save
from harness.make.make import _drawing
from harness.numbers.reductions import statistic
from harness.spec import artefacts
from harness.spec.artefacts import Artefact, Cell, runs_of

TABLES = ("table_4_1", "table_4_2", "table_4_4", "table_4_5")
FIGURES = ("figure_4_6", "figure_4_7", "figure_4_8")


def artefact(name: str) -> Artefact:
    return artefacts.find(f"sotl/{name}")


def ids(cell: Cell) -> list[str]:
    return [run.id for run in runs_of(cell, "sotl", "paper")]


@pytest.mark.parametrize("name", [*TABLES, *FIGURES])
def test_a_cell_is_of_the_seeds_of_one_super_network(name):
    """Of several methods or settings at once no cell would mean anything."""
    for cell in artefact(name).cells:
        assert ids(cell), f"{cell.row} / {cell.column}"
        assert len({run.rsplit("/", 1)[0] for run in ids(cell)}) == 1, f"{cell.row} / {cell.column}"


@pytest.mark.parametrize("name", [*TABLES, *FIGURES])
def test_the_top_ten_are_ten_of_the_thesis_sample(name):
    """200 architectures, 350 in the DARTS space; every other architecture is worth nothing here."""
    for cell in artefact(name).cells:
        if cell.select.get("reduce") == "top_k":
            n = 350 if "darts" in cell.select["setting"] else 200
            truth = (np.arange(n) < 10).astype(float)
            choose, _ = statistic(cell.select, "here")
            assert choose(-np.arange(n), truth) == 1 and choose(np.arange(n) == 10, truth) < 1


def test_columns_of_table_4_5_meet_their_runs():
    """Params are of an experiment of their own, the rest of a row's super-networks."""
    cells = {(c.row, c.column): c for c in artefact("table_4_5").cells}
    found = {key: ids(cell)[0] for key, cell in cells.items()}
    row = "NB201 (ImageNet)"
    assert found[row, "Params"] == "sotl/params_correlation/sample/nb201-imagenet16-120/s0"
    assert found[row, "SoG (0.01)"] == "sotl/one_shot_nb201/spos/imagenet16-120/s0"
    assert found["NB101-2", "SoTL-P"] == "sotl/one_shot_nb101/spos/nb101-2/s0"
    assert found["DARTS", "SoGN (0.001)"] == "sotl/one_shot_darts/spos/darts/s0"
    against = {c: cells[row, c].select["against"] for c in ("SoTL-P", "SoG-P", "SoTL (0.01)", "SoG (0.01)")}
    assert list(against.values()) == ["params", "params", "truth", "truth"]
    assert cells[row, "SoG (0.001)"].select["only"] == {"finetune": "lr0.001-b64", "step": 100}


def given(figure: Artefact, last: int) -> pd.DataFrame:
    """Cells as the YAML names them; those after the last minibatch have no number."""
    frame = pd.DataFrame([(c.row, c.column) for c in figure.cells], columns=["row", "column"])
    value = np.linspace(0.1, 0.9, len(frame))
    value[frame["row"].astype(int) > last] = np.nan
    return frame.assign(value=value, spread=0.05, text="")


@pytest.mark.parametrize("last", [20, 100, 300])
@pytest.mark.parametrize("name", FIGURES)
def test_every_series_is_drawn_as_far_as_it_goes(name, last, tmp_path):
    figure, drawn = artefact(name), Figure(layout="constrained")
    _drawing(figure)(given(figure, last), drawn)
    for axes in drawn.axes:
        assert len(axes.lines) > 1, axes.get_title()
        for line in (line for line in axes.lines if line.get_label() != "_nolegend_"):  # not what is printed
            every = 100 if line.get_label() == "ValAcc" else 10
            assert max(line.get_xdata()) == last - last % every, line.get_label()
    legends = [*drawn.legends, *(axes.get_legend() for axes in drawn.axes if axes.get_legend())]
    assert legends and all(len(legend.get_texts()) > 1 for legend in legends)
    save(_drawing(figure), given(figure, last), tmp_path / name)
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_without_numbers_says_so(name):
    figure, drawn = artefact(name), Figure(layout="constrained")
    _drawing(figure)(given(figure, -1), drawn)
    for axes in drawn.axes:
        assert not axes.lines and axes.texts[0].get_text() == "not run at this scale"


def test_one_image_set_may_be_missing():
    figure, drawn = artefact("figure_4_8"), Figure(layout="constrained")
    cells = given(figure, 100)
    cells.loc[cells["column"].str.startswith("imagenet16-120"), "value"] = np.nan
    _drawing(figure)(cells, drawn)
    assert [axes.get_title() for axes in drawn.axes] == ["CIFAR-10\n(the thesis: ImageNet16-120)", "", ""]
    assert all(axes.lines and not axes.texts for axes in drawn.axes)
    words = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert words[:2] == ["lr 0.01", "lr 0.001"] and not any("net" in word.lower() for word in words)
