"""icw's super-network artefacts: which runs their cells are of, what their configs build, what is drawn."""

import importlib

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from harness.base.settings import build
from harness.drawing.style import save
from harness.make.make import _drawing
from harness.spec import artefacts
from harness.spec.artefacts import Artefact, Cell, runs_of
from harness.spec.experiments import paper

FIGURES = ("figure_4", "figure_5", "figure_7", "figure_8", "figure_9")
TABLES = ("table_1", "table_2", "table_deviations")
EXPERIMENTS = ("supernets_nb201", "supernets_only_conv", "supernet_switches", "supernet_costs")
EXPERIMENTS += ("supernets_sequential", "supernets_tuning", "sequential_costs")


def artefact(name: str) -> Artefact:
    return artefacts.find(f"icw/{name}")


def ids(cell: Cell, scale: str) -> list[str]:
    return [run.id for run in runs_of(cell, "icw", scale)]


@pytest.mark.parametrize("scale", ["cpu", "paper"])
@pytest.mark.parametrize("name", [*FIGURES, *TABLES, "figure_10"])
def test_a_cell_is_of_the_seeds_of_one_super_network(name, scale):
    for cell in artefact(name).cells:
        if "absent" not in cell.select:
            assert ids(cell, scale), f"{cell.row} / {cell.column}"
            of_one = {run.rsplit("/", 1)[0] for run in ids(cell, scale)}
            assert len(of_one) == 1, f"{cell.row} / {cell.column}"


@pytest.mark.parametrize("name", ["figure_5", "figure_7", "figure_9"])
def test_the_sequential_truth_is_of_both_seeds(name):
    for cell in artefact(name).cells:
        found = artefact(name).truth_runs(cell, "cpu")
        assert [run.seed for run in found] == [1, 2] and {run.experiment for run in found} == {"standalone"}


@pytest.mark.parametrize("scale", ["smoke", "cpu", "paper"])
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_configured_run_has_a_config(experiment, scale):
    for spec in paper("icw").experiments[experiment].runs(scale):
        config = build(importlib.import_module(spec.module).Config, spec.config, spec.id)
        weights = config.weights
        assert (config.dependence.kind == "split") is (config.split_share is not None)
        assert weights.warmup_epochs < config.epochs / 2 and not config.dropout
        if scale == "paper" and experiment == "supernets_nb201":
            assert (config.epochs, config.batch_size, config.cells, config.side) == (250, 256, 2, 32)
            assert (config.architectures, config.calibration_passes) == (1000, 20)
            assert config.pool_counts_padding and not config.skip_linear


def test_enough_seeds_at_scale_cpu():
    found = {spec.id.rsplit("/", 1)[0]: 0 for spec in paper("icw").runs("cpu")}
    for spec in paper("icw").runs("cpu"):
        found[spec.id.rsplit("/", 1)[0]] += 1
    for method in ("baseline", "bias1", "split175"):
        assert found[f"icw/supernets_only_conv/{method}/only-conv"] >= 5
    assert all(n >= 3 for run, n in found.items() if run.startswith("icw/supernets_"))


def test_splits_come_after_the_published_epochs():
    experiments = paper("icw").experiments
    known = {"supernets_nb201": 250, "supernets_only_conv": 250, "supernets_sequential": 600}
    for name, epochs in known.items():
        for spec in experiments[name].runs("paper"):
            if spec.method.startswith("split"):
                asked = int(spec.method.removeprefix("split"))
                assert spec.config["split_share"] * epochs == pytest.approx(asked, abs=1e-5)
                assert spec.config["epochs"] == epochs


def drawn(name: str, cells: pd.DataFrame, tmp_path) -> Figure:
    kept = []
    draw = _drawing(artefact(name))

    def keep(cells: pd.DataFrame, figure: Figure) -> None:
        draw(cells, figure)
        kept.append(figure)

    save(keep, cells, tmp_path / name)
    return kept[0]


def cells_of(name: str, value) -> pd.DataFrame:
    """Cells with invented numbers: `value(row, column)`, or nan."""
    lines = [(c.row, c.column, value(c.row, c.column)) for c in artefact(name).cells]
    frame = pd.DataFrame(lines, columns=["row", "column", "value"])
    return frame.assign(spread=0.01, text="")


@pytest.mark.parametrize("name", FIGURES)
def test_a_curve_is_drawn_of_its_own_column_at_its_rows(name, tmp_path):
    columns = {c.column: i for i, c in enumerate(artefact(name).cells)}
    figure = drawn(name, cells_of(name, lambda row, column: columns[column]), tmp_path)
    lines = [line for axes in figure.axes for line in axes.lines if len(line.get_xdata()) > 2]
    heights = {float(line.get_ydata()[0]) for line in lines}
    assert heights == {float(i) for i in columns.values()}
    counts = {int(c.row) for c in artefact(name).cells if c.row.isdecimal()}
    assert all(set(line.get_xdata()) == counts for line in lines)
    assert all(axes.get_xlim()[0] > axes.get_xlim()[1] for axes in figure.axes)  # fewer to the right


@pytest.mark.parametrize("name", [*FIGURES, "figure_10"])
def test_a_figure_without_numbers_says_so(name, tmp_path):
    figure = drawn(name, cells_of(name, lambda row, column: np.nan), tmp_path)
    said = {text.get_text() for axes in figure.axes for text in axes.texts}
    assert said == {"not run at this scale"}


def test_figure_10_draws_every_pair_of_three_seeds(tmp_path):
    cells = cells_of("figure_10", lambda row, column: 50.0)
    text = cells["row"].map({"0": "1 2 3", "1": "2 3 4", "2": "5 6 7"}).fillna("")
    figure = drawn("figure_10", cells.assign(text=text), tmp_path)
    pairs = [tuple(map(tuple, line.get_data())) for line in figure.axes[0].lines if line.get_marker() == "."]
    assert pairs == [((1, 2, 3), (2, 3, 4)), ((1, 2, 3), (5, 6, 7)), ((2, 3, 4), (5, 6, 7))]
