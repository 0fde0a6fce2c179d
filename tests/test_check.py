"""What counts as a change against the accepted outcome, at its boundaries (the red cases: faulty/)."""

import json
import shutil
from collections import Counter

import numpy as np
import pytest
import tiny
from faulty.falsify import ARCHIVE, out_of_provenance, resealed
from faulty.spoilt import ACCEPTED, gone
from gold import NUMBERS, accept_all, accepted, build, remake
from hypothesis import given
from hypothesis import strategies as st
from sealed import edit_record

from harness import cellfile, check, differences
from harness.cells import Filled, to_frame
from harness.checked import _alike
from harness.errors import HarnessError
from harness.expect import Verdict
from harness.layout import Layout
from harness.stats import Estimate, exact, of_runs


def cell(estimate: Estimate | None, **changed):
    filled = Filled("row", "column", estimate, "", "0.5", Verdict("agrees", "why"), ("p/e/m/s/s0",))
    line = to_frame([filled]).iloc[0].copy()
    for key, value in changed.items():
        line[key] = value
    return line


def told(before, after, free=False, clock=False, exact=False) -> list[str]:
    return differences._cell(before, after, free, clock, exact)


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


def line(value: float, lo: float, hi: float):
    return cell(of_runs([1.0, 2.0, 3.0]), value=value, lo=lo, hi=hi)


def test_the_wider_of_the_two_intervals_decides_whichever_it_is_and_its_end_is_inside():
    narrow, wide = line(0.0, -0.125, 0.125), line(0.5, 0.0, 1.0)
    assert told(narrow, wide) == told(wide, narrow) == []
    assert told(narrow, line(0.75, 0.25, 1.25)) == ["value was 0 and is 0.75"]


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
        ({"runs": "p/e/m/s/s0 p/e/m/s/s1 p/e/m/s/s2"}, "is newly made of p/e/m/s/s1 and 1 more"),
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
    assert told(before, cell(of_runs([0.7, 0.8, 0.9]), spread=9.0), clock=True) == []


def test_a_scatter_is_told_to_ten_digits_and_held_to_the_size_of_its_number():
    """A spread of a thousandth beside a number of a thousand is its last digits."""
    for value in (1000.0, -1000.0):
        before = cell(of_runs([value - 1e-3, value, value + 1e-3]))
        assert told(before, cell(of_runs([value - 1e-3, value, value + 1e-3]), spread=1.5e-3)) == []
        other = cell(of_runs([value - 1e-3, value, value + 1e-3]), spread=2 / 3)
        assert told(before, other) == ["spread was 0.001 and is 0.6666666667"]
        assert told(other, before) == ["spread was 0.6666666667 and is 0.001"]


def test_a_number_is_told_to_ten_digits():
    third, two_thirds = cell(exact(1 / 3)), cell(exact(2 / 3))
    assert told(third, two_thirds) == ["value was 0.3333333333 and is 0.6666666667"]
    assert told(two_thirds, third) == ["value was 0.6666666667 and is 0.3333333333"]


def test_a_setting_stays_where_numbers_may_move():
    assert told(cell(None), cell(None, text="SGD"), free=True) == ["was '' and is 'SGD'"]


def test_reasons_may_change_with_the_digits_that_they_tell():
    assert told(cell(exact(3)), cell(exact(3), reason="another")) == []


def test_order_of_cells_and_of_runs_is_no_change(tmp_path):
    cells = cellfile.cells(accepted(tmp_path).results / "tables/gold/table_1.cells.csv")
    turned = [{**cell, "runs": " ".join(reversed(cell["runs"].split()))} for cell in reversed(cells)]
    assert differences.of_cells(cells, turned, exact=True) == {}


def test_of_the_same_records_nothing_moves():
    """Also inside an interval, and with its reason."""
    before, after = cell(of_runs([0.70, 0.71, 0.72])), cell(of_runs([0.71, 0.72, 0.73]))
    assert told(before, after) == [] and len(told(before, after, exact=True)) == 1
    assert told(before, cell(of_runs([0.70, 0.71, 0.72]), reason="another"), exact=True) == [
        "the reason was 'why' and is 'another'"
    ]


def test_a_drawing_is_not_told_in_its_code():
    """Encoded arrays filled 44 lines of a terminal."""
    before, after = (cell(exact(3), text=letter * 60) for letter in "xy")
    assert told(before, after) == ["what its drawing shows has changed"]
    for other in ("x" * 24, "words that " * 9):
        assert told(cell(exact(3)), cell(exact(3), text=other)) == [f"was '' and is {other!r}"]
    for pair in (("", "x" * 25), ("x" * 25, "")):
        before, after = (cell(exact(3), text=text) for text in pair)
        assert told(before, after) == ["what its drawing shows has changed"]


def test_all_changes_of_all_artefacts_are_told_in_order(tmp_path):
    layout = accepted(tmp_path)
    for name in ("tables/gold/table_1", "figures/gold/figure_1"):
        path = layout.published / f"{name}.cells.csv"
        text = path.read_text().replace("0.4323809524", "0.5").replace("782938,", "782930,")
        path.write_text(text.replace("plain,a,70.875", "plain,a,71"))
    for name in ("a.tar.xz", "z.tar.xz"):
        (layout.published / "records" / name).write_bytes(b"no archive")
    found = list(dict.fromkeys((c.artefact, c.place) for c in check.check(layout, layout.root).changes))
    records = "published/smoke/records"
    assert found == [
        ("gold/table_1", "counted / a"),
        ("gold/table_1", "plain / a"),
        ("gold/table_1", ""),
        ("gold/figure_1", "20 / oracle"),
        ("gold/figure_1", ""),
        *((f"{records}/{name}.tar.xz", "") for name in ("a", "z")),
    ]


def test_scales_are_accepted_apart(tmp_path):
    layout = accepted(tmp_path)
    shutil.copytree(layout.results, layout.root / "results" / "cpu")
    with pytest.raises(HarnessError, match="nothing was ever accepted at scale cpu"):
        check.compare(Layout("cpu", layout.root), layout.root)


def test_nothing_made_or_nothing_accepted_is_red(tmp_path):
    root = tiny.project(tmp_path)
    layout = Layout("smoke", root)
    with pytest.raises(HarnessError, match="nothing was made at scale smoke yet"):
        check.compare(layout, root)
    tiny.made(tmp_path)
    with pytest.raises(HarnessError, match="nothing was ever accepted at scale smoke"):
        check.compare(layout, root)


def test_a_cause_that_many_artefacts_share_is_one_line():
    """An edit of the code that makes tables was told in fifty lines."""
    what = "was made before its code changed"
    stale = [
        check.Change(f"gold/table_{i}", "", what, f"snakemake gold_table_{i} --config x") for i in range(5)
    ]
    number = check.Change(
        "gold/table_9", "a / b", "value was 1 and is 2", "python -m harness find gold/table_1"
    )
    names = ", ".join(change.artefact for change in stale)
    targets = " ".join(f"gold_table_{i}" for i in range(5))
    assert list(check.lines([*stale[:2], number, *stale[2:]], "smoke")) == [
        f"{names}: each {what}. Look closer: snakemake {targets} --config x",
        str(number),
    ]
    assert list(check.lines(stale[:3], "smoke")) == [str(change) for change in stale[:3]]


def test_of_one_artefact_three_places_are_told_and_how_many_more():
    places = [check.Change("g/t", f"p{i}", f"value was {i} and is 9", "look") for i in range(4)]
    more = "Look closer: python -m harness check g/t --scale smoke"
    told = [f"p{i}: value was {i} and is 9" for i in range(3)]
    assert list(check.lines(places[:3], "smoke")) == [f"g/t: {'; '.join(told)}. {more}"]
    assert list(check.lines(places, "smoke")) == [f"g/t: {'; '.join(told)}; and 1 more. {more}"]


def test_what_befell_places_of_several_artefacts_alike_is_told_of_each():
    """A cell of each gone is no cause that they share; nor is it one of an artefact that has others."""
    gone = [check.Change(f"g/t_{i}", "a / b", "is gone", f"look {i}") for i in range(5)]
    assert list(check.lines(gone, "smoke")) == [str(change) for change in gone]
    whole = [check.Change(f"g/t_{i}", "", "is gone", f"look {i}") for i in range(5)]
    other = check.Change("g/t_0", "", "is new", "look")
    first, together = check.lines([*whole, other], "smoke")
    assert first == "g/t_0: is gone; is new. Look closer: python -m harness check g/t_0 --scale smoke"
    assert together.startswith("g/t_1, g/t_2, g/t_3, g/t_4: each is gone")


def test_green_says_what_was_looked_at():
    found = check.Checked([], Counter({check.KEPT: 1200, check.SEALED: 3, check.HERE: 4}))
    first, looked, not_looked = check.summary(found, "cpu", 0)
    assert first == "check: every accepted number and verdict of scale cpu still stands"
    assert looked == (
        "of them 1,200 follow from kept records, 3 rest on their digests alone, 4 were compared with runs"
        " made here"
    )
    assert not_looked.startswith("not looked at: ")
    found.loosely[check.TIMES] = 2
    _, _, loosely, replayed = check.summary(found, "cpu", 5)
    assert loosely == "compared loosely: 2 measured times"
    assert replayed == "run again, with the same numbers to the last digit: 5 runs"


def test_the_command_for_many_names_these_and_no_other():
    """`accept` without a name would have accepted what differs elsewhere too."""
    never = [
        check.Change(f"g/t_{i}", "", "was never accepted", f"python -m harness accept g/t_{i} --reason …")
        for i in range(4)
    ]
    (line,) = check.lines(never, "smoke")
    assert line.endswith("Look closer: python -m harness accept g/t_0 g/t_1 g/t_2 g/t_3 --reason …")
    rule = [check.Change(f"g/t_{i}", "", "by a rule", f"python -m harness find g/t_{i}") for i in range(4)]
    (line,) = check.lines(rule, "smoke")
    assert line == "g/t_0, g/t_1, g/t_2, g/t_3: each by a rule. Look closer: python -m harness find g/t_0"
    other = ["git checkout -- a", "git diff HEAD -- b", "git checkout -- c", "git checkout -- a"]
    (line,) = check.lines(
        [check.Change(f"g/t_{i}", "", "went", look) for i, look in enumerate(other)], "smoke"
    )
    assert line.endswith("Look closer: git checkout -- a; git diff HEAD -- b; git checkout -- c")


def test_an_artefact_that_was_never_accepted_is_red_though_nobody_made_it(tmp_path):
    layout = accepted(tmp_path)
    (table,) = (layout.root / "tables").glob("*/table_1.yaml")
    table.with_name("table_9.yaml").write_text(table.read_text().replace("/table_1", "/table_9"))
    tiny.forget()
    (change,) = check.compare(layout, layout.root)
    assert (change.artefact, change.what) == ("gold/table_9", "was never accepted")


def test_a_measured_time_may_be_another_and_its_verdict_may_not():
    single, other = cell(of_runs([1.0])), cell(of_runs([2.0]))
    assert told(single, other) and not told(single, other, free=True)
    assert told(single, cell(of_runs([2.0]), verdict="differs"), free=True)
    assert told(cell(exact(1)), cell(exact(2)), free=True)
    assert told(cell(of_runs([1, 1.1, 1.2])), cell(of_runs([9, 9.1, 9.2])), free=True)


def test_a_measured_time_is_not_held_to_the_interval_that_its_own_run_gave():
    """A slower day moves all blocks of a run together (icw Table 1 failed in a second clone)."""
    before, after = cell(of_runs([0.20, 0.21, 0.22])), cell(of_runs([0.35, 0.36, 0.37]))
    assert told(before, after, free=True, clock=True) == []
    assert len(told(before, after, free=True)) == 1
    assert told(before, cell(of_runs([np.nan] * 3)), free=True, clock=True) != []
    fewer = told(before, cell(of_runs([0.35, 0.36])), free=True, clock=True)
    assert fewer == ["was made of 3 runs or repeats and is made of 2"]


def on_another_processor(layout: Layout) -> None:
    """Every run of the table was made on one, and came out otherwise."""
    for run in (
        f"gold/accuracy/{m}/{s}/s{seed}" for m in ("plain", "fancy") for s in "ab" for seed in range(3)
    ):
        record = json.loads((layout.run_folder(run) / "run.json").read_text())
        machine = {**record["machine"], "processor": "another one"}
        edit_record(layout.run_folder(run), reseal=True, machine=machine)
    for run in ("gold/ranking/params/a/s0", "gold/setup/training/a/s0"):
        machine = {"processor": "another one", "cores": 2, "system": "Linux"}
        edit_record(layout.run_folder(run), reseal=True, machine=machine)
    remake(layout)


def test_other_versions_are_compared_loosely_where_both_name_them():
    """Records of a time when none were noted count as made with today's."""
    one = {"machine": {"processor": "a", "torch": "2.13.0"}}
    assert _alike([one], [one, {"machine": {"processor": "a"}}])
    assert not _alike([one], [{"machine": {"processor": "a", "torch": "2.14.0"}}])
    assert not _alike([one], [{"machine": {"processor": "b", "torch": "2.13.0"}}])


def test_what_another_processor_gave_is_compared_loosely_and_green_says_so(tmp_path):
    layout = accepted(tmp_path)
    assert not check.check(layout, layout.root).loosely[check.ELSEWHERE]
    on_another_processor(layout)
    found = check.check(layout, layout.root)
    assert found.changes == [] and found.loosely[check.ELSEWHERE] > 0
    told = "\n".join(check.summary(found, "smoke", 0))
    assert f"{found.loosely[check.ELSEWHERE]} numbers of runs on another processor" in told


def number_of_cells(layout: Layout) -> int:
    """Of those that `on_another_processor` makes anew."""
    return sum(len(cellfile.cells(path)) for path in layout.results.glob("*/*/*_1.cells.csv"))


def again(layout: Layout, *values: float) -> Layout:
    """The runs of plain / a came out otherwise, and everything was made of them."""
    for seed, value in enumerate(values):
        metrics = [{"name": "accuracy", "value": value, "unit": ""}, {"name": "count", "value": 782938}]
        run = layout.run_folder(f"gold/accuracy/plain/a/s{seed}")
        edit_record(run, reseal=True, metrics=[{"unit": "", **metric} for metric in metrics])
    remake(layout)
    return layout


def test_runs_that_come_out_inside_the_interval_are_green_and_each_number_is_counted(tmp_path):
    layout = accepted(tmp_path)
    cells = number_of_cells(layout)
    found = check.check(again(layout, 70.5, 71.25, 71.0), layout.root)
    assert found.changes == [] and not +found.loosely
    assert found.looked == {check.KEPT: NUMBERS, check.HERE: NUMBERS}
    on_another_processor(layout)
    found = check.check(layout, layout.root)
    assert found.changes == [] and found.loosely[check.ELSEWHERE] == cells


def test_a_measured_time_is_counted_apart_and_may_be_any_number(tmp_path):
    layout = build(tmp_path)
    for row in ("counted", "plain"):
        tiny.edit(layout.root, "tables/gold/table_1.yaml", f"name: {row},", f"name: {row}, clock: true,")
    remake(layout)
    accept_all(layout)
    cells = number_of_cells(layout)
    found = check.check(again(layout, 70.0, 72.0, 70.5), layout.root)
    assert found.changes == [] and found.loosely == {check.TIMES: 3, check.ELSEWHERE: 0}
    on_another_processor(layout)
    assert check.check(layout, layout.root).loosely == {check.TIMES: 3, check.ELSEWHERE: cells - 3}


def test_what_was_accepted_alone_needs_no_runs(tmp_path):
    layout = again(accepted(tmp_path), 1.0, 2.0, 3.0)
    for _ in range(2):  # nor looks at those that are there
        found = check.check(layout, layout.root, here=False)
        assert found.changes == [] and found.looked == {check.KEPT: NUMBERS}
        shutil.rmtree(layout.results, ignore_errors=True)


def test_outcomes_that_were_accepted_without_records_rest_on_their_digests(tmp_path):
    layout = accepted(tmp_path)
    resealed(out_of_provenance("digest"), gone(ARCHIVE))(layout)
    found = check.check(layout, layout.root, here=False)
    assert "gold/table_1" not in {change.artefact for change in found.changes}
    assert found.looked == {check.SEALED: len(cellfile.cells(layout.root / ACCEPTED)) + 5}  # and its claims
