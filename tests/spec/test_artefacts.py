"""An artefact's YAML: its cells, the runs behind them, why some have none, and how it is found."""

import pytest
import tiny

from harness.base.errors import HarnessError
from harness.base.layout import SCALES, Layout, artefact_file
from harness.spec import artefacts, experiments

TABLE = """\
artefact: mini/table_1
where: "Table 1, section 1"
title: A table
cells: {experiment: noise, only: {kind: x}, metric: mean}
rows:
  - {name: 0, setting: low, only: {part: stem}}
  - {name: high, setting: high, method: weak, columns: [strong, both], only: {kind: z}}
  - {name: none, absent: nobody ever ran this row}
columns:
  - {name: strong, method: strong}
  - {name: other, method: weak, absent: nobody ever ran this column}
  - {name: both, only: {kind: y}, format: ".3f"}
printed: |
  |      | strong | other | both |
  | 0    | 1      | -     | 0.5  |
  | none | 2.0    |       |      |
"""


@pytest.fixture
def artefact(tmp_path):
    root = tiny.project(tmp_path, TABLE=TABLE)
    return artefacts.find("mini/table_1", root)


def cell(artefact, row, column):
    (found,) = [c for c in artefact.cells if (c.row, c.column) == (row, column)]
    return found


def test_the_row_decides_over_the_column_over_what_all_share(artefact):
    assert cell(artefact, "0", "strong").select["method"] == "strong"
    assert cell(artefact, "high", "strong").select["method"] == "weak"
    assert cell(artefact, "0", "strong").select["only"] == {"kind": "x", "part": "stem"}
    assert cell(artefact, "0", "both").select["only"] == {"kind": "y", "part": "stem"}
    assert cell(artefact, "high", "both").select["only"] == {"kind": "z"}
    assert "name" not in cell(artefact, "0", "both").select
    assert not [c for c in artefact.cells if (c.row, c.column) == ("high", "other")]


def test_what_the_paper_prints(artefact):
    assert cell(artefact, "0", "strong").reported == "1"
    assert cell(artefact, "0", "other").reported is None  # a dash is no number
    assert cell(artefact, "0", "both").reported == "0.5"
    assert cell(artefact, "high", "strong").reported is None
    assert cell(artefact, "none", "strong").reported == "2.0"


def test_among_settings_a_dash_is_a_setting(tmp_path):
    root = tiny.project(
        tmp_path, TABLE=TABLE.replace("metric: mean", "table: values, reduce: text, of: truth")
    )
    assert cell(artefacts.find("mini/table_1", root), "0", "other").reported == "-"


def test_the_runs_of_a_cell(artefact, tmp_path):
    def ids(row, column, scale="smoke"):
        return [r.id for r in artefacts.runs_of(cell(artefact, row, column), "mini", scale, tmp_path)]

    assert ids("0", "strong") == [f"mini/noise/strong/low/s{s}" for s in range(3)]
    assert len(ids("0", "both")) == 6  # every method of the setting
    assert ids("0", "other") == ids("none", "strong") == []
    assert ids("high", "strong", "cpu") == []
    assert len(artefact.runs("smoke", tmp_path)) == 9  # each once: 6 of low, 3 of weak/high
    assert [r.id for r in artefacts.needed_runs("smoke", tmp_path)] == [
        r.id for r in artefact.runs("smoke", tmp_path)
    ]


def test_why_a_cell_has_no_runs(artefact, tmp_path):
    def why(row, column, scale="smoke"):
        found = artefacts.absence(cell(artefact, row, column), "mini", scale, tmp_path)
        return found.verdict, found.reason

    assert why("none", "both") == ("not run", "nobody ever ran this row")
    assert why("0", "other") == ("not run", "nobody ever ran this column")
    assert why("high", "strong", "cpu") == ("not run", "this method takes longer than anybody would wait")
    assert why("0", "strong") == ("not run", "none of its runs at scale smoke is there yet")


def test_a_cost_out_of_reach_is_its_own_verdict(tmp_path):
    root = tiny.project(tmp_path, EXPERIMENTS=tiny.EXPERIMENTS.replace("skip:", "out_of_reach:"), TABLE=TABLE)
    found = artefacts.find("mini/table_1", root)
    assert artefacts.absence(cell(found, "high", "strong"), "mini", "cpu", root).verdict == "out of reach"


def test_names(artefact, tmp_path):
    assert artefact.paper == "mini" and artefact.target == "mini_table_1" and artefact.kind == "table"
    assert artefacts.find("mini_table_1", tmp_path) == artefact
    assert artefacts.names(tmp_path) == ["mini/table_1"]
    with pytest.raises(
        HarnessError, match="artefact 'mini/table_2' does not exist: did you mean 'mini/table_1'?"
    ):
        artefacts.find("mini/table_2", tmp_path)


def test_a_figure_needs_its_drawing(tmp_path):
    root = tiny.project(tmp_path)
    text = tiny.TABLE.replace("mini/table_1", "mini/figure_1")
    tiny.write(root, "figures/mini/figure_1.yaml", text)
    with pytest.raises(HarnessError, match="a figure needs the key 'figure' and figure_1.py"):
        artefacts.artefacts(root)
    tiny.write(root, "figures/mini/figure_1.yaml", text + "figure: {x: row, y: value}\n")
    with pytest.raises(HarnessError, match=r"figure_1.py beside it"):
        artefacts.artefacts(root)
    tiny.write(root, "figures/mini/figure_1.py", '"""Draws."""\n\n\ndef draw(cells, figure):\n    pass\n')
    assert [a.kind for a in artefacts.artefacts(root)] == ["table", "figure"]


def test_a_file_is_named_after_its_kind(tmp_path):
    """By its name alone it is found in results and published."""
    root = tiny.project(tmp_path)
    for wrong in ("sizes", "figure_2", "tables"):
        tiny.write(root, f"tables/mini/{wrong}.yaml", tiny.TABLE.replace("mini/table_1", f"mini/{wrong}"))
        with pytest.raises(
            HarnessError, match=f"{wrong}.yaml: the name of a table's file begins with 'table_'"
        ):
            artefacts.artefacts(root)
        (root / f"tables/mini/{wrong}.yaml").unlink()


def test_deviations_are_read_from_the_notes(tmp_path):
    root = tiny.project(
        tmp_path, NOTES=tiny.NOTES + "\n### D12 — Another one\n\nD3 — no heading\n\n#### D4 — too deep\n"
    )
    assert artefacts.notes("mini", root) == {"D1": "The values are drawn at random", "D12": "Another one"}
    (root / "reproduce/mini/NOTES.md").unlink()
    tiny.forget()
    with pytest.raises(HarnessError, match="deviation 'D1' does not exist"):
        artefacts.artefacts(root)


def test_folders(tmp_path):
    layout = Layout("cpu", tmp_path)
    assert (
        artefact_file(layout.results, "mini/table_1", ".md")
        == tmp_path / "results/cpu/tables/mini/table_1.md"
    )
    assert (
        artefact_file(layout.published, "mini/figure_1", ".svg").parent
        == tmp_path / "published/cpu/figures/mini"
    )
    assert layout.relative(layout.run_folder("a/b/c/d/s0")) == "runs/a/b/c/d/s0"
    with pytest.raises(HarnessError, match="scale 'big' does not exist"):
        Layout("big")


REAL = artefacts.artefacts()


@pytest.mark.parametrize("artefact", REAL, ids=lambda a: a.name)
def test_every_cell_of_the_project_has_runs_or_a_reason(artefact):
    for scale in SCALES:
        for one in artefact.cells:
            if not artefacts.runs_of(one, artefact.paper, scale):
                absent = artefacts.absence(one, artefact.paper, scale)
                assert "has no such run" not in absent.reason, f"{one.row} / {one.column} at {scale}"
    places = [(c.row, c.column) for c in artefact.cells]
    assert len(places) == len(set(places))


@pytest.mark.parametrize("artefact", REAL, ids=lambda a: a.name)
def test_every_reported_number_of_the_project_is_a_cell(artefact):
    numbers = artefact.data.get("reported", {}).get("numbers", {})
    printed = {(str(r), str(c)) for r, columns in numbers.items() for c in columns}
    assert printed <= {(c.row, c.column) for c in artefact.cells}, "a number that would never be compared"


def test_every_experiment_of_the_project_is_shown_somewhere():
    shown = {run.id.rsplit("/", 3)[0] for a in REAL for run in a.runs("paper")}
    assert shown == {run.id.rsplit("/", 3)[0] for run in experiments.all_runs("paper")}
