"""What differs between two makings of an artefact, cell by cell."""

import numpy as np
import pytest
from gold import accepted
from hypothesis import given
from hypothesis import strategies as st

from harness.accepted import differences
from harness.numbers import cellfile
from harness.numbers.cells import Filled, to_frame
from harness.numbers.claim_record import TEXTS, Claim, Part
from harness.numbers.judge import Verdict
from harness.numbers.stats import Estimate, exact, of_runs


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


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("value", "0.25; 2.000003", "its value was '0.25; 2.0' and is '0.25; 2.000003'"),
        ("value", "0.25", "its value was '0.25; 2.0' and is '0.25'"),
        ("lo", "", "its lo was '-0.75; 1.0' and is ''"),
        (
            "sensitive",
            "agrees with our margin halved",
            "its sensitive was '' and is 'agrees with our margin halved'",
        ),
        ("runs", "3; 4", "its runs was '3; 3' and is '3; 4'"),
        ("value", "0.25; 2.000001", None),
    ],
)
def test_of_the_same_records_no_number_of_a_claim_moves(field, value, what):
    parts = tuple(Part("", ">", v, v - 1, v + 1, runs=3, word="unclear") for v in (0.25, 2.0))
    line = Claim("one", "It is so.", "here", "unclear", "why", parts).line()
    other = line | {field: value}
    assert differences.of_claims([line], [other], exact=True) == ({"one": what} if what else {})
    assert differences.of_claims([line], [other], exact=False) == {}
    earlier = {name: line[name] for name in TEXTS}  # accepted before there were such columns
    assert differences.of_claims([earlier], [other], exact=True) == {}
