"""What counts as a change against the accepted outcome, at its boundaries (the red cases: faulty/)."""

import json
import shutil

import numpy as np
import pytest
import tiny
from gold import accepted
from hypothesis import given
from hypothesis import strategies as st

from harness import artefacts, check
from harness.cells import Filled, to_frame
from harness.expect import Verdict
from harness.fresh import require_fresh
from harness.layout import Layout, artefact_file
from harness.make import read_cells
from harness.stats import Estimate, exact, of_runs


def cell(estimate: Estimate | None, **changed):
    filled = Filled("row", "column", estimate, "", "0.5", Verdict("agrees", "why"), ("p/e/m/s/s0",))
    line = to_frame([filled]).iloc[0].copy()
    for key, value in changed.items():
        line[key] = value
    return line


def told(before, after) -> list[str]:
    return check._cell(before, after)


def test_the_same_is_no_change():
    for estimate in (exact(3), of_runs([1, 2, 3]), of_runs([1.0]), None, exact(np.nan), exact(np.inf)):
        assert told(cell(estimate), cell(estimate)) == []


def test_a_number_may_move_inside_the_wider_interval_only():
    before = of_runs([0.70, 0.71, 0.72])  # ± 0.0248
    for value, changed in ((0.734, False), (0.736, True), (0.686, False), (0.684, True)):
        after = of_runs([value - 0.001, value, value + 0.001])
        assert bool(told(cell(before), cell(after))) is changed
        assert bool(told(cell(after), cell(before))) is changed


@given(st.floats(1, 1e9), st.floats(-2e-6, 2e-6))
def test_an_exact_number_may_move_in_its_last_digits_only(value, by):
    moved = value * (1 + by)
    changed = abs(moved - value) > 1.01e-6 * max(value, moved)
    same = abs(moved - value) < 0.99e-6 * max(value, moved)
    found = told(cell(exact(value)), cell(exact(moved)))
    assert found or not changed
    assert not found or not same


def test_a_number_without_an_interval_stays():
    assert told(cell(of_runs([0.7])), cell(of_runs([0.7 + 1e-9]))) == []
    assert told(cell(of_runs([0.7])), cell(of_runs([0.71]))) == ["value was 0.7 and is 0.71"]


def test_an_exact_number_does_not_hide_in_a_new_interval():
    assert told(cell(exact(5)), cell(of_runs([4, 5.5, 7]), n=1)) == ["value was 5 and is 5.5"]


def test_a_number_that_was_constant_over_its_runs_may_move_in_its_last_digits():
    assert told(cell(of_runs([0.7] * 3)), cell(of_runs([0.7 + 1e-9] * 3))) == []


@pytest.mark.parametrize("other", [np.nan, np.inf, -np.inf])
def test_to_and_from_what_is_no_number(other):
    wide = of_runs([-1e9, 0, 1e9])
    assert told(cell(wide), cell(wide, value=other)) == [f"value was 0 and is {other:g}"]
    assert told(cell(wide, value=other), cell(wide)) == [f"value was {other:g} and is 0"]


def test_every_digit_of_a_count_is_told():
    assert told(cell(exact(14_839_700)), cell(exact(14_839_790))) == [
        "value was 14839700 and is 14839790",
    ]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"reported": "0.6"}, "the paper's number was '0.5' and is '0.6'"),
        ({"verdict": "match"}, "verdict was 'agrees' and is 'match' (why)"),
        ({"text": "SGD"}, "was '' and is 'SGD'"),
        ({"n": 2}, "was made of 1 runs or repeats and is made of 2"),
        ({"architectures": 200}, "was made of 0 architectures and is made of 200"),
        ({"runs": "p/e/m/s/s0 p/e/m/s/s1"}, "is newly made of p/e/m/s/s1"),
        ({"runs": ""}, "is no longer made of p/e/m/s/s0"),
    ],
)
def test_anything_that_a_reader_could_see(changed, sentence):
    assert told(cell(exact(3)), cell(exact(3), **changed)) == [sentence]


@pytest.mark.parametrize("key", ["spread", "lo", "hi"])
def test_the_same_number_with_another_scatter_is_told(key):
    """A slip in a standard deviation would change every parenthesis and no value."""
    before = cell(of_runs([0.7, 0.8, 0.9]))
    (said,) = told(before, cell(of_runs([0.7, 0.8, 0.9]), **{key: before[key] * 1.1}))
    assert f" was {before[key]:.10g} and is " in said
    assert told(before, cell(of_runs([0.7, 0.8, 0.9]), **{key: before[key] * (1 + 1e-8)})) == []
    assert told(before, cell(of_runs([0.7, 0.8, 0.93]))) == []  # with a number that moved it may move
    assert check._cell(before, cell(of_runs([0.7, 0.8, 0.9]), spread=9.0), clock=True) == []


def test_reasons_may_change_with_the_digits_that_they_tell():
    assert told(cell(exact(3)), cell(exact(3), reason="another")) == []


def test_order_of_cells_and_of_runs_is_no_change(tmp_path):
    layout = accepted(tmp_path)
    path = layout.results / "tables/gold/table_1.cells.csv"
    frame = read_cells(path)
    frame["runs"] = frame["runs"].map(lambda runs: " ".join(reversed(runs.split())))
    frame.iloc[::-1].to_csv(path, index=False)
    assert check.compare(layout, layout.root) == []


def test_all_changes_of_all_artefacts_are_told_in_order(tmp_path):
    layout = accepted(tmp_path)
    for name in ("tables/gold/table_1", "figures/gold/figure_1"):
        path = layout.results / f"{name}.cells.csv"
        path.write_text(path.read_text().replace("0.4323809524", "0.5").replace("782938,", "782930,"))
    changes = check.compare(layout, layout.root)
    assert [(c.artefact, c.place) for c in changes] == [
        ("gold/table_1", "counted / a"),
        ("gold/figure_1", "20 / oracle"),
    ]


def test_scales_are_accepted_apart(tmp_path):
    layout = accepted(tmp_path)
    shutil.copytree(layout.results, layout.root / "results" / "cpu")
    changes = check.compare(Layout("cpu", layout.root), layout.root)
    assert {c.what for c in changes} == {"was never accepted"}
    assert all("--scale cpu" in c.look for c in changes)


def test_nothing_made_and_nothing_accepted_is_red(tmp_path):
    root = tiny.project(tmp_path)
    (change,) = check.compare(Layout("smoke", root), root)
    said = (
        "mini/table_1: has no cells at this scale. Look closer: snakemake mini_table_1 --config scale=smoke"
    )
    assert str(change) == said


def test_a_cause_that_many_artefacts_share_is_one_line():
    """An edit of the code that makes tables was told in fifty lines."""
    what = "was made before its code changed"
    stale = [
        check.Change(f"gold/table_{i}", "", what, f"snakemake gold_table_{i} --config x") for i in range(5)
    ]
    number = check.Change(
        "gold/table_1", "a / b", "value was 1 and is 2", "python -m harness find gold/table_1"
    )
    names = ", ".join(change.artefact for change in stale)
    targets = " ".join(f"gold_table_{i}" for i in range(5))
    assert list(check.lines([*stale[:2], number, *stale[2:]])) == [
        f"{names}: each {what}. Look closer: snakemake {targets} --config x",
        str(number),
    ]
    assert list(check.lines(stale[:3])) == [str(change) for change in stale[:3]]


def test_the_command_for_many_names_these_and_no_other():
    """`accept` without a name would have accepted what differs elsewhere too."""
    never = [
        check.Change(f"g/t_{i}", "", "was never accepted", f"python -m harness accept g/t_{i} --reason …")
        for i in range(4)
    ]
    (line,) = check.lines(never)
    assert line.endswith("Look closer: python -m harness accept g/t_0 g/t_1 g/t_2 g/t_3 --reason …")
    rule = [check.Change(f"g/t_{i}", "", "by a rule", f"python -m harness find g/t_{i}") for i in range(4)]
    (line,) = check.lines(rule)
    assert line == "g/t_0, g/t_1, g/t_2, g/t_3: each by a rule. Look closer: python -m harness find g/t_0"


def test_what_this_scale_was_never_asked_of_is_no_change(tmp_path):
    layout = accepted(tmp_path)
    (table,) = (layout.root / "tables").glob("*/table_1.yaml")
    other = table.read_text().replace("/table_1", "/table_9")
    table.with_name("table_9.yaml").write_text(other)
    tiny.forget()
    assert not check.compare(layout, layout.root)


def test_a_measured_time_may_be_another_and_its_verdict_may_not():
    single, other = cell(of_runs([1.0])), cell(of_runs([2.0]))
    assert told(single, other) and not check._cell(single, other, free=True)
    assert check._cell(single, cell(of_runs([2.0]), verdict="differs"), free=True)
    assert check._cell(cell(exact(1)), cell(exact(2)), free=True)
    assert check._cell(cell(of_runs([1, 1.1, 1.2])), cell(of_runs([9, 9.1, 9.2])), free=True)


def test_a_measured_time_is_not_held_to_the_interval_that_its_own_run_gave():
    """A slower day moves all blocks of a run together (icw Table 1 failed in a second clone)."""
    before, after = cell(of_runs([0.20, 0.21, 0.22])), cell(of_runs([0.35, 0.36, 0.37]))
    assert check._cell(before, after, free=True, clock=True) == []
    assert len(check._cell(before, after, free=True)) == 1
    assert check._cell(before, cell(of_runs([np.nan] * 3)), free=True, clock=True) != []
    fewer = check._cell(before, cell(of_runs([0.35, 0.36])), free=True, clock=True)
    assert fewer == ["was made of 3 runs or repeats and is made of 2"]


def test_on_another_processor_a_single_training_may_end_elsewhere(tmp_path):
    layout = accepted(tmp_path)
    (artefact, *_) = [a for a in artefacts.artefacts(layout.root) if a.kind == "table"]
    records = require_fresh(artefact, layout, layout.root)
    assert check._free(artefact, layout, records) == set()
    path = artefact_file(layout.published, artefact.name, ".provenance.json")
    provenance = json.loads(path.read_text())
    for run in provenance["runs"]:
        run["machine"]["processor"] = "another one"
    path.write_text(json.dumps(provenance))
    assert check._free(artefact, layout, records) == {(c.row, c.column) for c in artefact.cells}
