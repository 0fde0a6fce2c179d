"""A truth that other runs found: looked up by name, averaged over them, and never guessed."""

import numpy as np
import pytest
import tiny
from sealed import seal

from harness.base.errors import HarnessError
from harness.base.layout import Layout
from harness.numbers import cells, rows
from harness.spec import artefacts

HEAD = tiny.TABLE[: tiny.TABLE.index("cells:")]
NAMES = ["a", "b", "c", "d"]
OURS = "experiment: noise, method: strong, setting: low, table: scores, paired_by: [name, truth]"
TRUTH = "truth: {experiment: noise, method: weak, setting: high, table: values, of: t, by: name}"
KENDALL = "reduce: kendall, of: p, against: truth"


def table(which: str, **columns) -> dict[str, dict[str, list]]:
    return {which: {column: list(values) for column, values in columns.items()}}


def scores(*values: float, names: list[str] = NAMES) -> dict:
    return table("scores", name=names, p=values)


def values(*values: float, names: list[str] = NAMES, **more) -> dict:
    return table("values", name=names, t=values, **more)


@pytest.fixture
def filled(tmp_path):
    """The only cell of a table, over three runs that left `ours` and three that left `theirs`."""

    def fill(
        ours: list[dict], theirs: list[dict], select: str = f"{OURS}, {KENDALL}, {TRUTH}", scale="smoke"
    ):
        lines = f"rows: [{{name: r}}]\ncolumns: [{{name: c}}]\ncells: {{{select}}}\n"
        allowed = tiny.EXPERIMENTS.replace("seeds: [0, 1, 2]", "seeds: [0, 1, 2]\n    undefined: [truth]")
        root = tiny.project(tmp_path, TABLE=HEAD + lines, EXPERIMENTS=allowed)
        artefact, layout = artefacts.find("mini/table_1", root), Layout(scale, root)
        for which, tables in (("strong/low", ours), ("weak/high", theirs)):
            for seed, left in enumerate(tables):
                seal(layout, f"mini/noise/{which}/s{seed}", {"seed": seed}, left)
        (cell,) = artefact.cells
        stacked, records = rows.collect(artefact.runs(scale, root), layout, artefact.cells)
        return cells.fill(artefact, stacked, scale, root)[0], records

    yield fill
    tiny.forget()


def test_the_truth_is_the_mean_of_the_other_runs(filled):
    """No single run of the truth ranks as their mean does: b, a, d, c."""
    theirs = [values(4, 3, 0, 0), values(0, 9, 0, 0), values(0, 0, 1, 2)]
    ours = [scores(1.2, 3, 0.1, 0.9), scores(1.2, 3, 0.9, 0.1), scores(0.1, 0.9, 1.2, 3)]
    cell, _ = filled(ours, theirs)
    assert cell.estimate.per_run == pytest.approx((1, 2 / 3, -1 / 3))


def test_rows_find_their_truth_by_name_whatever_their_order(filled):
    theirs = [values(1, 2, 3, 4), values(4, 3, 2, 1, names=NAMES[::-1]), values(1, 2, 3, 4)]
    ours = [scores(1, 2, 3, 4), scores(4, 3, 2, 1, names=NAMES[::-1]), scores(3, 1, 4, 2, names=list("cadb"))]
    cell, _ = filled(ours, theirs)
    assert cell.estimate.value == 1 and cell.estimate.spread == 0


def test_the_value_itself_can_be_read(filled):
    select = f"{OURS}, only: {{name: b}}, reduce: lookup, of: truth, {TRUTH}"
    cell, _ = filled([scores(0, 0, 0, 0)] * 3, [values(0, v, 0, 0) for v in (1, 2, 6)], select)
    assert cell.estimate.value == 3


def test_the_truth_may_be_narrowed_to_one_run(filled):
    one = TRUTH.replace("by: name", "by: name, only: {seed: 1}")
    theirs = [values(4, 3, 2, 1), values(1, 2, 3, 4), values(4, 3, 2, 1)]
    cell, _ = filled([scores(1, 2, 3, 4)] * 3, theirs, f"{OURS}, {KENDALL}, {one}")
    assert cell.estimate.value == 1


def test_both_kinds_of_runs_are_needed_and_named_and_only_ours_are_averaged(filled):
    cell, records = filled([scores(1, 2, 3, 4)] * 3, [values(1, 2, 3, 4)] * 3)
    assert len(records) == 6
    assert cell.runs == tuple(f"mini/noise/strong/low/s{s}" for s in range(3)) and cell.estimate.n == 3
    assert cells.to_frame([cell])["runs"][0].split() == [*cell.runs, *cell.truths]
    assert cell.truths == tuple(f"mini/noise/weak/high/s{s}" for s in range(3))


def test_truths_choose_nothing_away(filled):
    """A cell that reads one row of a table must not take the others from a cell whose truth they are."""
    select = f"{OURS}, {KENDALL}, {TRUTH}".replace("table: scores", "table: values")
    select = select.replace("of: p", "of: q").replace("paired_by", "only: {part: x}, paired_by")
    ours = [values(0, 0, 0, 0, q=[1, 2, 3, 4], part=list("xxxy"))] * 3
    cell, _ = filled(ours, [values(1, 2, 3, 4, part=list("yyyy"))] * 3, select)
    assert cell.estimate.value == 1 and cell.estimate.units == 3
    fewer = values(1, 2, 3, names=NAMES[:3], part=list("yyy"))  # d needs no truth where nobody reads it
    assert filled(ours, [fewer] * 3, select)[0].estimate.value == 1


def test_a_name_without_truth_is_refused(filled):
    theirs = [values(1, 2, names=NAMES[:2])] * 3
    with pytest.raises(HarnessError, match="r / c: 2 of its rows have no truth, the first is 'c'"):
        filled([scores(1, 2, 3, 4)] * 3, theirs)


def test_runs_that_found_other_truths_are_refused(filled):
    with pytest.raises(HarnessError, match="the runs of its truth hold different rows"):
        filled([scores(1, 2, 3, 4)] * 3, [values(1, 2, 3, 4)] * 2 + [values(1, 2, 3, names=NAMES[:3])])
    with pytest.raises(HarnessError, match="or one of them twice"):
        filled([scores(1, 2, 3, 4)] * 3, [values(1, 2, 3, 4, 5, names=[*NAMES, "a"])] * 3)


def test_a_table_that_has_a_truth_is_not_given_another(filled):
    for truth in ([1, 2, 3, 4], ["nan", 2, "nan", "nan"]):
        own = {"scores": {**scores(1, 2, 3, 4)["scores"], "truth": truth}}
        with pytest.raises(HarnessError, match="'scores' has a truth of its own"):
            filled([own] * 3, [values(1, 2, 3, 4)] * 3)


def test_columns_that_are_not_there_are_named(filled):
    for wrong in (TRUTH.replace("of: t", "of: u"), TRUTH.replace("table: values", "table: nothing")):
        with pytest.raises(
            HarnessError, match="its truth's runs left no table '(values|nothing)' with a column"
        ):
            filled([scores(1, 2, 3, 4)] * 3, [values(1, 2, 3, 4)] * 3, f"{OURS}, {KENDALL}, {wrong}")
    nameless = {"scores": {"p": [1, 2, 3, 4]}}
    with pytest.raises(HarnessError, match="table 'scores' has no column 'name' to look its truth up by"):
        filled([nameless] * 3, [values(1, 2, 3, 4)] * 3)


def test_a_truth_that_is_not_trained_at_a_scale_says_why(filled):
    """At scale cpu the tiny paper leaves `weak` out."""
    cell, _ = filled([scores(1, 2, 3, 4)] * 3, [], scale="cpu")
    assert cell.estimate is None and cell.verdict.word == "not run"
    assert "longer than anybody would wait" in cell.verdict.reason


def test_a_slip_in_the_names_of_a_truth_is_caught(filled):
    with pytest.raises(HarnessError, match="method 'wek' does not exist: did you mean 'weak'"):
        filled([], [], f"{OURS}, {KENDALL}, {TRUTH.replace('weak', 'wek')}")


def test_correlations_with_the_same_truth_are_compared_resample_by_resample(filled):
    rng = np.random.default_rng(0)
    names = [f"n{i}" for i in range(20)]
    truth = rng.normal(size=20)
    ours = [scores(*(truth + rng.normal(size=20)), names=names) for _ in range(3)]
    first, _ = filled(ours, [values(*truth, names=names)] * 3)
    other, _ = filled(ours, [values(*(truth + 1), names=names)] * 3)
    assert first.estimate.architectures and first.estimate.architectures != other.estimate.architectures
