"""What counts as a change against the accepted outcome, at its boundaries (the red cases: faulty/)."""

import json
import shutil
from collections import Counter

import pytest
import tiny
from faulty.falsify import ARCHIVE, out_of_provenance, resealed
from faulty.spoilt import ACCEPTED, gone
from gold import NUMBERS, accept_all, accepted, build, remake
from sealed import edit_record

from harness.accepted import check
from harness.accepted.accept import accept
from harness.accepted.artefact_check import _alike
from harness.base.errors import HarnessError
from harness.base.layout import Layout
from harness.numbers import cellfile
from harness.numbers import cells as filling
from harness.spec import artefacts


def test_all_changes_of_all_artefacts_are_told_in_order(tmp_path):
    layout = accepted(tmp_path)
    for name in ("tables/gold/table_1", "figures/gold/figure_1"):
        path = layout.published / f"{name}.cells.csv"
        text = path.read_text().replace("0.4323809524", "0.5").replace("782938,", "782930,")
        path.write_text(text.replace("plain,a,70.875", "plain,a,71"))
    for name in ("a.tar.xz", "z.tar.xz"):
        (layout.published / "records/gold" / name).write_bytes(b"no archive")
    found = list(dict.fromkeys((c.artefact, c.place) for c in check.check(layout, layout.root).changes))
    records = "published/smoke/records/gold"
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


def test_commands_of_another_form_are_told_once_each():
    assert check._of_all(["make one", "make one --again", "make one"]) == "make one; make one --again"


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
    _, _, loosely, replayed = check.summary(found, "cpu", 5, [])
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


def test_what_equal_records_give_is_computed_once(tmp_path, monkeypatch):
    layout, filled, plain = accepted(tmp_path), [], filling.fill
    monkeypatch.setattr(filling, "fill", lambda one, *rest: filled.append(one.name) or plain(one, *rest))
    assert check.compare(layout, layout.root) == [] and len(filled) == len(set(filled)) == 3
    again(layout, 70.5, 71.25, 71.0)
    filled.clear()
    assert check.compare(layout, layout.root) == [] and filled.count("gold/table_1") == 2


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
    assert found.looked[check.SEALED] == len(cellfile.cells(layout.root / ACCEPTED)) + 5  # and its claims


@pytest.mark.parametrize(
    "old, new, place, what",
    [
        ("> low | strong]", "> low | weak]", "claim high-above-low", "is tested otherwise than"),
        (
            "deviations:",
            "paired_by_seed: true\ndeviations:",
            "claim high-above-low",
            "is tested otherwise than",
        ),
        ("{runs: 3,", "{runs: 3, architectures: 9,", "", "was accepted with other cells or printed"),
    ],
)
def test_check_tells_of_equal_verdicts_that_came_about_otherwise(tmp_path, old, new, place, what):
    """Once claims were tested otherwise than when their verdicts were accepted, and nothing told."""
    layout = tiny.made(tmp_path)
    accept(artefacts.find("mini/table_1", tmp_path), layout, "first numbers", tmp_path)
    tiny.edit(tmp_path, "tables/mini/table_1.yaml", old, new)
    tiny.make_all(tmp_path)
    found = [c for c in check.compare(layout, tmp_path) if "since it was accepted" not in c.what]
    assert {c.place for c in found} == {place} and any(c.what.startswith(what) for c in found)
    tiny.forget()
