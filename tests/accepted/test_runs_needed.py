"""How many runs an unclear verdict would take, if mean and spread stayed as they are."""

import math
import re

import pytest
import tiny

from harness.accepted import runs_needed
from harness.numbers.judge import Context, judge, parse
from harness.numbers.stats import of_runs, quantile
from harness.spec import artefacts

CLAIM = "high-above-low"
WIDE = "the interval is wider than the effect"


@pytest.fixture(scope="module")
def artefact(tmp_path_factory):
    root = tiny.project(tmp_path_factory.mktemp("mini"))
    yield artefacts.find("mini/table_1", root)
    tiny.forget()


def cell(row: str, column: str = "strong", **other) -> dict:
    noise = {"value": 5.2, "n": 3, "spread": 1.0, "spread_kind": "sample_sd", "architectures": 0}
    noise |= {"lo": -9.0, "hi": 9.0}
    return {"row": row, "column": column, "reported": "5.0 (0.2)"} | noise | other


def told(artefact, reason: str, **other) -> str:
    cells = [cell("low", **other), cell("high", **other), cell("low", "weak", n=2)]
    return runs_needed.for_claim(artefact, cells, {"id": CLAIM, "reason": reason})


@pytest.mark.parametrize(
    ("reason", "runs"),
    [
        # Of three runs, ±2 is 4.303 · 0.805 / √3; of six it is 0.845, of seven 2.447 · 0.805 / √7 = 0.745.
        (f"+0.8 ± 2: {WIDE}", "about 7 runs instead of 3"),
        (f"-0.8 ± 2: {WIDE}", "about 7 runs instead of 3"),
        (f"a, b: +5 ± 6: {WIDE}; c: +0.8 ± 2: {WIDE}", "about 7 runs instead of 3"),
        ("difference +1.2 ± 2 against ±2", "about 7 runs instead of 3"),
        ("difference +0.5 ± 2 against ±2; difference -1.2 ± 2 against ±2", "about 7 runs instead of 3"),
        ("difference +2 ± 1 against ±2", ""),  # on the margin to the last digit
        (f"+1e-05 ± 2: {WIDE}", "more than 1,000 runs instead of 3"),
        (
            "against x: 54% of the scatter over runs, where equals have 22% to 78%",
            "about 33 runs instead of 3",
        ),
        ("words that are not known", ""),
    ],
)
def test_the_runs_that_a_claim_would_take(artefact, reason, runs):
    assert told(artefact, reason) == runs


def test_a_claim_without_cells_tells_nothing(artefact):
    assert runs_needed.for_claim(artefact, [], {"id": CLAIM, "reason": f"+1 ± 2: {WIDE}"}) == ""
    assert runs_needed.for_claim(artefact, [cell("low")], {"id": "gone", "reason": f"+1 ± 2: {WIDE}"}) == ""
    assert told(artefact, f"+1 ± 2: {WIDE}", spread_kind="exact") == ""


def test_single_runs_have_no_interval(artefact):
    reason = "a single run has no interval"
    assert told(artefact, reason, n=1, spread_kind="none") == "at least 3 runs instead of 1"


def test_a_sample_of_architectures_is_not_made_larger_by_runs(artefact):
    reason = f"+0.8 ± 2: {WIDE}"
    runs = told(artefact, reason, architectures=100)
    assert runs == "at least 7 runs instead of 3; 100 architectures are a sample too"
    alone = told(artefact, reason, architectures=100, n=1, spread_kind="bootstrap")
    assert alone == "about 625 architectures instead of 100"


def test_a_whole_space_is_no_sample_of_architectures(artefact):
    """The intervals of its cells are those of the runs alone."""
    half = quantile(2) / math.sqrt(3)
    whole = {"architectures": 64, "lo": 5.2 - half, "hi": 5.2 + half}
    assert told(artefact, f"+0.8 ± 2: {WIDE}", **whole) == "about 7 runs instead of 3"


def test_at_so_many_runs_a_number_is_judged_and_at_one_less_it_is_not(artefact):
    """Against the policy itself, on samples that have just this mean and spread."""
    ours = cell("high", value=6.0, spread=2.5)
    runs = int(re.fullmatch(r"about (\d+) runs instead of 3", runs_needed.for_number(artefact, ours))[1])
    assert runs > 4
    for n, clear in ((runs, True), (runs - 1, False)):
        scattered = [0.0] * (n % 2) + [-1.0, 1.0] * (n // 2)
        scale = 2.5 / of_runs(scattered).spread
        sample = of_runs([6.0 + scale * x for x in scattered])
        assert (judge(sample, parse("5.0 (0.2)"), Context(3, 0, "sample_sd")).word != "unclear") == clear


def test_more_runs_of_ours_do_not_sharpen_the_paper_s_number(artefact):
    noisy = cell("high", value=8.0, spread=2.5, reported="5.0 (9.9)")
    assert runs_needed.for_number(artefact, noisy).startswith("no number of runs: the noise of the printed")


def test_a_number_of_one_run_or_of_a_sample(artefact):
    single, sampled = cell("high", n=1), cell("high", architectures=200)
    assert runs_needed.for_number(artefact, single) == "at least 3 runs instead of 1"
    assert runs_needed.for_number(artefact, sampled) == ""


def test_a_number_that_the_yaml_no_longer_has(artefact):
    """Accepted under a name that its row had then; `check` tells that it is gone."""
    assert runs_needed.for_number(artefact, cell("a row that was renamed")) == ""
