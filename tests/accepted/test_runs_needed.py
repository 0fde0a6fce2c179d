"""How many runs an unclear verdict would take, if mean and spread stayed as they are."""

import math
import re
from dataclasses import replace

import pytest
import tiny

from harness.accepted import runs_needed
from harness.numbers.claim_record import Claim, Part, decided
from harness.numbers.judge import Context, judge, parse
from harness.numbers.stats import of_runs
from harness.spec import artefacts


@pytest.fixture(scope="module")
def artefact(tmp_path_factory):
    root = tiny.project(tmp_path_factory.mktemp("mini"))
    yield artefacts.find("mini/table_1", root)
    tiny.forget()


def cell(row: str, column: str = "strong", **other) -> dict:
    noise = {"value": 5.2, "n": 3, "spread": 1.0, "spread_kind": "sample_sd", "architectures": 0}
    noise |= {"lo": -9.0, "hi": 9.0}
    return {"row": row, "column": column, "reported": "5.0 (0.2)"} | noise | other


def part(value: float, half: float, asked: float = 0.0, relation: str = ">", **other) -> Part:
    return Part("", relation, value, half, asked, **{"runs": 3} | other).judged(half)


def told(*parts: Part, each: str = "") -> str:
    together = [replace(part, parts=len(parts)) for part in parts]
    return runs_needed.for_claim(decided({"id": "a", "text": "b", "where": "c"}, together), each)


@pytest.mark.parametrize(
    ("parts", "runs"),
    [
        # Of three runs, ±2 is 4.303 · 0.805 / √3; of six it is 0.845, of seven 2.447 · 0.805 / √7 = 0.745.
        ([part(0.8, 2)], "about 7 runs instead of 3"),
        ([part(-0.8, 2)], "about 7 runs instead of 3"),
        ([part(1.3, 2, asked=0.5)], "about 7 runs instead of 3"),
        ([part(5, 6), part(0.8, 2)], "about 7 runs instead of 3"),
        ([part(1.2, 2, 2, "=")], "about 7 runs instead of 3"),
        ([part(0.5, 2, 2, "="), part(-1.2, 2, 2, "=")], "about 7 runs instead of 3"),
        ([part(2, 1, 2, "=")], ""),  # on the margin to the last digit
        ([part(1e-05, 2)], "more than 1,000 runs instead of 3"),
        ([part(0.54, 0.28, 0.5, "spread <")], "about 33 runs instead of 3"),
        ([part(1, math.nan)], "more than 1,000 runs instead of 3"),
        ([part(3, 2), part(0.8, 2)], "about 7 runs instead of 3"),  # the first holds already
        ([part(3, 2)], ""),
    ],
)
def test_the_runs_that_a_claim_would_take(parts, runs):
    assert told(*parts) == runs


def test_the_first_part_to_fail_refutes_a_claim():
    """Once the most demanding part counted: "more than 1,000 runs", where nine would have refuted it."""
    hopeless, off = part(1e-5, 2), part(-0.8, 2)
    assert told(hopeless, off) == "about 9 runs instead of 3"  # t of both: 2.752 · 0.805 / √9 = 0.738
    assert told(hopeless, off, part(-1.6, 2)) == "about 5 runs instead of 3"


def test_each_part_counts_its_own_runs():
    assert told(part(0.8, 2, runs=5), part(3, 2)) == "about 19 runs instead of 5"


def test_a_claim_without_numbers_or_noise_tells_nothing():
    """Accepted before there were columns for the parts of claims."""
    assert runs_needed.for_claim(Claim("a", "b", "c", "unclear", "+0.8 ± 2")) == ""
    assert told(part(1, 2, runs=0)) == ""


def test_single_runs_have_no_interval():
    assert told(part(1, math.inf, runs=1), part(0.8, 2)) == "at least 3 runs instead of 1"
    assert told(part(0.5, math.inf, 0.5, "spread <", runs=1)) == ""


def test_a_sample_of_architectures_is_not_made_larger_by_runs():
    runs = told(part(0.8, 2, architectures=100), each=" (5 min each)")
    assert runs == "at least 7 runs instead of 3 (5 min each); 100 architectures are a sample too"
    alone = part(0.8, 2, architectures=100, runs=1)
    assert told(alone) == "about 625 architectures instead of 100"


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
