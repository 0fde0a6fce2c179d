"""How many runs an unclear verdict would take, if mean and spread stayed as they are."""

import re

import pytest
import tiny

from harness.accepted import runs_needed
from harness.numbers.judge import Context, judge, parse
from harness.numbers.stats import of_runs
from harness.numbers.verdict_words import OPEN
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


def test_at_so_many_runs_a_number_is_judged_and_at_one_less_it_is_not(artefact):
    """Against the policy itself, on samples that have just this mean and spread."""
    ours = cell("high", value=6.0, spread=2.5)
    runs = int(re.fullmatch(r"about (\d+) runs instead of 3", runs_needed.for_number(artefact, ours))[1])
    assert runs > 4
    for n, clear in ((runs, True), (runs - 1, False)):
        scattered = [0.0] * (n % 2) + [-1.0, 1.0] * (n // 2)
        scale = 2.5 / of_runs(scattered).spread
        sample = of_runs([6.0 + scale * x for x in scattered])
        assert (judge(sample, parse("5.0 (0.2)"), Context(3, 0, "sample_sd")).word not in OPEN) == clear


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
