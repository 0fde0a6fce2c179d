"""Lines that stand for several (`each`), rows that some networks lack (`missing`), resources of a scale."""

from pathlib import Path

import pytest
import tiny
from sealed import seal

from harness.base.errors import HarnessError
from harness.base.layout import Layout
from harness.numbers import cells, rows
from harness.spec import artefacts, experiments
from harness.spec.expand import expanded

HEAD = tiny.TABLE[: tiny.TABLE.index("cells:")]
REASON = "the network is shallower than that"
TABLE = (
    HEAD
    + f"""\
cells: {{experiment: noise, table: values, of: q, method: strong, missing: {REASON}}}
rows:
  - {{name: plain, setting: low, only: {{depth: 0}}}}
  - name: "{{where}} {{depth}}"
    each: {{where: [low, high], depth: [0, 7]}}
    setting: "{{where}}"
    only: {{depth: "{{depth}}", kind: "at {{depth}} of {{other}}"}}
    columns: [q, "{{where}} too"]
columns:
  - {{name: q}}
  - {{name: "{{c}} too", each: {{c: [low, high]}}}}
claims:
  - {{id: a, text: b, where: section 1, tests: [high 7 | q > 0]}}
"""
)


@pytest.fixture(autouse=True)
def _forget():
    yield
    tiny.forget()


def test_a_line_with_each_becomes_one_per_combination(tmp_path):
    artefact = artefacts.find("mini/table_1", tiny.project(tmp_path, TABLE=TABLE))
    names = list(dict.fromkeys(c.row for c in artefact.cells))
    assert names == ["plain", "low 0", "low 7", "high 0", "high 7"]
    (cell,) = [c for c in artefact.cells if (c.row, c.column) == ("high 7", "q")]
    assert cell.select["setting"] == "high"
    assert cell.select["only"] == {"depth": "7", "kind": "at 7 of {other}"}  # an unknown word stays as it is
    assert [c.column for c in artefact.cells if c.row == "high 7"] == ["q", "high too"]
    assert "each" not in artefact.data["rows"][1]


def test_a_mistake_in_such_a_line_is_told_with_its_own_line_of_the_file(tmp_path):
    wrong = TABLE.replace('setting: "{where}"', 'setting: "{where}est"')
    line = wrong.splitlines().index('    setting: "{where}est"') + 1
    with pytest.raises(HarnessError, match=rf"line {line}: setting 'lowest' does not exist"):
        artefacts.find("mini/table_1", tiny.project(tmp_path, TABLE=wrong))


def test_words_of_a_row_are_replaced_in_its_columns(tmp_path):
    words = """rows:
  - {name: plain, words: {where: low, how: strong}, only: {depth: 0}}
  - {name: other, words: {where: high, how: weak}, setting: low}
columns:
  - {name: q, setting: "{where}", method: "{how}", only: {kind: "{where} {depth}"}, words: {where: nowhere}}
  - {name: fixed, method: weak, setting: high}
"""
    text = (TABLE[: TABLE.index("rows:")] + words).replace("method: strong, missing", "missing")
    artefact = artefacts.find("mini/table_1", tiny.project(tmp_path, TABLE=text))
    chosen = {(c.row, c.column): (c.select["setting"], c.select["method"]) for c in artefact.cells}
    assert chosen == {
        ("plain", "q"): ("low", "strong"),
        ("plain", "fixed"): ("high", "weak"),
        ("other", "q"): ("low", "weak"),  # the row's own setting decides
        ("other", "fixed"): ("low", "weak"),
    }
    assert artefact.cells[0].select["only"] == {"kind": "low {depth}", "depth": 0}
    assert "words" not in artefact.cells[0].select
    wrong = text.replace("how: weak", "how: week")
    line = wrong[: wrong.index("how: week")].count("\n") + 1
    with pytest.raises(
        HarnessError, match=rf"line {line}: method 'week' does not exist: did you mean 'weak'"
    ):
        artefacts.find("mini/table_1", tiny.project(tmp_path, TABLE=wrong))


def test_two_lines_of_one_name_are_refused(tmp_path):
    wrong = TABLE.replace('name: "{where} {depth}"', 'name: "{where}"')
    with pytest.raises(HarnessError, match="rows has 'low' twice"):
        artefacts.find("mini/table_1", tiny.project(tmp_path, TABLE=wrong))


def filled(tmp_path, select: str, depths=(0, 1), kinds=()):
    table = f"rows: [{{name: r}}]\ncolumns: [{{name: c}}]\ncells: {{experiment: noise, {select}}}\n"
    root = tiny.project(tmp_path, TABLE=HEAD + table)
    artefact, layout = artefacts.find("mini/table_1", root), Layout("smoke", root)
    for spec in artefact.runs("smoke", root):
        values = {"depth": list(depths), "q": [0.5] * len(depths)} | ({"kind": list(kinds)} if kinds else {})
        seal(layout, spec.id, {"m": spec.seed}, {"values": values})
    stacked, _ = rows.collect(artefact.runs("smoke", root), layout)
    (one,) = cells.fill(artefact, stacked, "smoke", root)
    return one


SELECT = "method: strong, setting: low, table: values, of: q, only: {depth: %d}"


def test_rows_that_no_run_left_are_not_run_with_the_reason(tmp_path):
    cell = filled(tmp_path, f"{SELECT % 7}, missing: {REASON}")
    assert cell.estimate is None and cell.runs == ()
    assert (cell.verdict.word, cell.verdict.reason) == ("not run", REASON)


def test_rows_that_are_there_are_reduced_as_ever(tmp_path):
    cell = filled(tmp_path, f"{SELECT % 1}, missing: {REASON}")
    assert cell.estimate.value == 0.5 and cell.estimate.n == 3


def test_a_table_that_is_empty_has_missing_rows(tmp_path):
    assert filled(tmp_path, f"{SELECT % 1}, missing: {REASON}", depths=()).verdict.word == "not run"


def test_a_name_that_no_run_has_is_an_error_although_rows_may_be_missing(tmp_path):
    with pytest.raises(
        HarnessError, match=r"table_1: r / c: .* nothing for \{'kind': 'lwo'\}, only for other"
    ):
        filled(tmp_path, f"{SELECT[:-1] % 7}, kind: lwo}}, missing: {REASON}", kinds=("low", "high"))
    tiny.forget()
    cell = filled(tmp_path, f"{SELECT[:-1] % 7}, kind: low}}, missing: {REASON}", kinds=("low", "high"))
    assert cell.verdict.word == "not run"


def test_without_the_key_it_is_an_error_and_so_is_a_wrong_column(tmp_path):
    with pytest.raises(HarnessError, match="left nothing for"):
        filled(tmp_path, SELECT % 7)
    tiny.forget()
    with pytest.raises(HarnessError, match="no column 'dept'"):
        filled(tmp_path, f"{(SELECT % 1).replace('depth', 'dept')}, missing: {REASON}")


def test_a_line_behind_one_with_each_keeps_its_number():
    data = {"rows": [{"name": "{a}", "each": {"a": [1, 2]}}, {"name": "x"}], "columns": [{"name": "y"}]}
    lines = {("rows",): 1, ("rows", 0): 2, ("rows", 0, "name"): 3, ("rows", 0, "each", "a"): 4}
    lines |= {("rows", 1): 5, ("rows", 1, "name"): 6, ("columns", 0, "name"): 8}
    _, found = expanded(data, lines, Path("table.yaml"))
    at = {("rows", i): n for i, n in enumerate((2, 2, 5))}
    at |= {("rows", i, "name"): n for i, n in enumerate((3, 3, 6))}
    assert {place: found[place] for place in at} == at and found["columns", 0, "name"] == 8


def test_a_scale_may_ask_for_less(tmp_path):
    changed = tiny.EXPERIMENTS.replace("seeds: [0, 1, 2]", "seeds: [0, 1, 2]\n    resources: {gpu: 1}")
    changed = changed.replace("config: {size: 30}", "config: {size: 30}\n        resources: {gpu: 0}")
    root = tiny.project(tmp_path, EXPERIMENTS=changed)
    wanted = {
        s: {r.resources["gpu"] for r in experiments.all_runs(s, root)} for s in ("smoke", "cpu", "paper")
    }
    assert wanted == {"smoke": {0}, "cpu": {1}, "paper": {1}}
