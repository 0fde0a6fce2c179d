"""The rows that a cell chooses, against a plain search through whole columns."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from harness.numbers.tables import Tables


@dataclass(frozen=True)
class Spec:
    id: str


RUNS = [Spec("p/e/m/s/s10"), Spec("p/e/m/s/s2"), Spec("p/e/n/s/s0")]
FRAME = pd.DataFrame(
    {
        "run": np.repeat([r.id for r in RUNS], 8),
        "step": np.tile([0, 1, 2, 3], 6),
        "rate": np.tile([0.1, 0.1, 1e-4, np.nan], 6),
        "part": np.tile(["a", "", "b c", "1"], 6),
        "whole": np.tile([True, False], 12),
        "mixed": pd.Series([1, "1", "x", 1.0] * 6, dtype=object),
        "value": np.arange(24),
    }
)


def plainly(runs: list[Spec], only: dict) -> list[int]:
    frame = FRAME[FRAME["run"].isin([run.id for run in runs])]
    for column, value in only.items():
        frame = frame[frame[column].astype(str) == str(value)]
    return frame["value"].tolist()


@pytest.mark.parametrize(
    "only",
    [
        {},
        {"step": 2},
        {"step": "2"},
        {"rate": 0.1},
        {"rate": 1e-4, "step": 2},
        {"rate": "nan"},
        {"part": ""},
        {"part": "b c", "step": 2},
        {"part": 1},
        {"whole": True, "step": 0},
        {"mixed": 1},
        {"mixed": 1.0},
        {"step": 9},
        {"step": 2, "part": "a"},
    ],
    ids=str,
)
def test_rows_are_those_of_a_plain_search(only):
    tables = Tables({"values": FRAME})
    for runs in (RUNS, RUNS[:1], RUNS[1:], RUNS[::-1], [Spec("p/e/m/s/s1")]):
        found = tables.rows("values", runs, only)
        assert found["value"].tolist() == plainly(runs, only)
        assert list(found) == list(FRAME)


def test_every_order_of_the_same_choice_gives_the_same_rows():
    tables = Tables({"values": FRAME})
    one = tables.rows("values", RUNS, {"step": 2, "part": "b c"})
    assert one.equals(tables.rows("values", RUNS, {"part": "b c", "step": 2})) and len(one) == 6


@pytest.mark.parametrize("rate", [1, 1.0, "1", "1.0"])
def test_a_whole_number_among_fractions_is_found_as_it_is_written(rate):
    """One run's rates were 1 and 2, another's 0.5: stacked they are 1.0 and 2.0, and `rate: 1` found none."""
    frame = pd.DataFrame({"run": [RUNS[0].id] * 2 + [RUNS[1].id], "rate": [1, 2, 0.5], "value": [0, 1, 2]})
    assert Tables({"values": frame}).rows("values", RUNS, {"rate": rate})["value"].tolist() == [0]
    assert [*Tables({"values": frame}).left("values", {"rate": rate}, RUNS)] == [RUNS[0].id]
    assert [*Tables({"values": frame}).left("values", {"rate": 0.5}, RUNS)] == [RUNS[1].id]
