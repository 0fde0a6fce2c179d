"""The stacked rows of an artefact's runs, as frames and as files."""

import pandas as pd
import pytest
import tiny
from sealed import seal

from harness.base.layout import Layout
from harness.numbers import rows
from harness.spec import experiments
from harness.spec.artefacts import Cell

KEYS = "experiment,method,setting,seed,run"
FRONT = [f"noise,strong,low,{seed},mini/noise/strong/low/s{seed}" for seed in (0, 1)]


@pytest.fixture
def stacked(tmp_path):
    """The frames and files of two runs that left these tables."""

    def stack(*tables: dict, cells: tuple[Cell, ...] = ()) -> tuple[dict[str, pd.DataFrame], dict[str, str]]:
        allowed = tiny.EXPERIMENTS.replace("seeds: [0, 1, 2]", "seeds: [0, 1, 2]\n    undefined: [a]")
        layout = Layout("smoke", tiny.project(tmp_path, EXPERIMENTS=allowed))
        names = [f"mini/noise/strong/low/s{seed}" for seed in range(len(tables))]
        runs = [experiments.find_run(name, "smoke", tmp_path) for name in names]
        for run, table in zip(runs, tables, strict=True):
            seal(layout, run.id, {"mean": 12 + run.seed}, table)
        frames, _ = rows.collect(runs, layout, cells)
        folder = layout.rows("mini/table_1")
        rows.write(frames, folder)
        return frames, {path.stem: path.read_text() for path in folder.iterdir()}

    yield stack
    tiny.forget()


def test_runs_are_stacked_behind_their_keys(stacked):
    frames, files = stacked({"values": {"a": [0.5, "nan"], "b": [1, 2]}}, {"values": {"a": [3], "b": [4]}})
    lines = [f"{KEYS},a,b", f"{FRONT[0]},0.5,1", f"{FRONT[0]},,2", f"{FRONT[1]},3.0,4"]
    assert files["values"].splitlines() == lines
    assert files["metrics"].splitlines()[1] == f"{FRONT[0]},mean,12,"
    assert frames["values"]["b"].tolist() == [1, 2, 4]


def test_runs_that_left_other_columns_are_stacked_by_name(stacked):
    _, files = stacked({"values": {"a": [1], "b": [2]}}, {"values": {"b": [3], "c": [4]}, "more": {"d": [5]}})
    assert files["values"].splitlines() == [f"{KEYS},a,b,c", f"{FRONT[0]},1.0,2,", f"{FRONT[1]},,3,4.0"]
    assert files["more"].splitlines() == [f"{KEYS},d", f"{FRONT[1]},5"]


def test_a_table_that_is_no_longer_left_has_no_rows(stacked):
    assert set(stacked({"values": {"a": [1]}, "more": {"d": [5]}})[1]) == {"metrics", "values", "more"}
    assert set(stacked({"values": {"a": [1]}})[1]) == {"metrics", "values"}


TABLE = {"step": [0, 1, 2, 3], "way": ["x", "y", "x", "y"], "score": [0.5, 0.25, 0.125, 1.0]}


def choosing(*lines: dict) -> tuple[Cell, ...]:
    return tuple(Cell("r", "c", line, None) for line in lines)


@pytest.mark.parametrize(
    ("cells", "steps"),
    [
        ((), [0, 1, 2, 3]),
        (choosing({"table": "values"}), [0, 1, 2, 3]),
        (choosing({"metric": "mean", "only": {"step": 1}}), [0, 1, 2, 3]),
        (choosing({"table": "other", "only": {"step": 1}}), [0, 1, 2, 3]),
        (choosing({"table": "values", "only": {"step": 1}}), [1]),
        (
            choosing({"table": "values", "only": {"step": "1"}}, {"table": "values", "only": {"step": 3}}),
            [1, 3],
        ),
        (choosing({"table": "values", "only": {"step": 1}}, {"table": "values"}), [0, 1, 2, 3]),
        (
            choosing(
                {"table": "values", "only": {"step": 1, "way": "y"}},
                {"table": "values", "only": {"step": 0, "way": "x"}},
                {"table": "values", "only": {"way": "y"}},
            ),
            [0, 1, 2, 3],
        ),
        (choosing({"table": "values", "only": {"way": "x", "kind": "z"}}), [0, 2]),
        (choosing({"table": "values", "only": {"step": 9}}), []),
        (choosing({"table": "values", "only": {"step": 1.0}}), [1]),
        (choosing({"table": "values", "only": {"score": 1}}), [3]),
    ],
)
def test_only_rows_that_a_cell_may_choose_are_kept(stacked, cells, steps):
    frames, files = stacked({"values": TABLE}, {"values": TABLE}, cells=cells)
    assert frames["values"]["step"].tolist() == steps * 2
    assert len(files["values"].splitlines()) == 1 + 2 * len(steps)
    assert len(frames["metrics"]) == 2
