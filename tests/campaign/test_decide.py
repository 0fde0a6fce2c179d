"""Seeds that decide what is open: what is expected, what is written, and the second look at it."""

import numpy as np
import pytest
import tiny
from support import within

from harness.base.errors import HarnessError
from harness.base.layout import Layout
from harness.campaign import decide
from harness.numbers import claims, looks
from harness.numbers.contrast import contrast
from harness.numbers.stats import exact, of_runs
from harness.spec import artefacts, experiments

CLAIM = """claims:
  - id: strong-above-weak
    text: The strong are above the weak.
    where: section 1
    tests: [low | strong > low | weak]
  - id: ours
    ours: true
    text: The weak are above the strong.
    where: section 1
    tests: [low | weak > low | strong]
"""


@pytest.fixture
def root(tmp_path):
    yield tiny.project(tmp_path, TABLE=tiny.TABLE[: tiny.TABLE.index("claims:")] + CLAIM)
    tiny.forget()


def test_the_seeds_that_decide_what_is_open_are_added_and_no_others(root):
    tiny.run_all(root)
    before = {run.id for run in experiments.all_runs("smoke", root)}
    told = list(decide.decide("smoke", 100, root))
    assert "strong/low, weak/low" in told[0] and told[1].endswith("The strong are above the weak.")
    assert "sentences that are open" in told[-2] and not any("ours" in line for line in told)
    tiny.forget()
    added = {run.id for run in experiments.all_runs("smoke", root)} - before
    assert added == experiments.added("mini", "smoke", root)
    assert {run.rsplit("/", 1)[0] for run in added} == {"mini/noise/strong/low", "mini/noise/weak/low"}
    assert min(int(run.rsplit("s", 1)[1]) for run in added) == 3


def test_a_second_look_is_harder_and_there_is_no_third(root):
    tiny.run_all(root)
    artefact, layout = artefacts.find("mini/table_1", root), Layout("smoke", root)
    list(decide.decide("smoke", 100, root))
    tiny.forget()
    tiny.run_all(root)
    artefact = artefacts.find("mini/table_1", root)
    filled = decide.filled_of(artefact, layout, root)[0]
    _, had = claims.estimates_of(artefact, filled, "smoke")
    assert had["low", "strong"] < 1 and had["high", "strong"] == 1
    with pytest.raises(HarnessError, match="decide nothing of the 0 sentences"):
        list(decide.decide("smoke", 100, root))


def test_what_is_only_shown_is_not_written(root):
    tiny.run_all(root)
    list(decide.decide("smoke", 100, root, keep=False))
    assert not experiments.more_path("mini", root).exists()


def test_two_looks_are_wrong_as_often_as_one():
    rng, hits = np.random.default_rng(27), 0
    for _ in range(3000):
        values = rng.normal(size=10)
        for n, side in ((5, looks.FIRST), (10, looks.side(0.5))):
            found = contrast([1], [of_runs(values[:n])])
            if min(found.above(0), found.below(0)) <= side:
                hits += 1
                break
    assert within(hits, 3000, 0.04, 0.05)
    assert looks.side(1) == looks.FIRST > looks.side(0.9) > looks.side(0.5) > looks.side(0.2) > 0.0025


def test_a_claim_on_added_runs_is_judged_at_its_second_look():
    test = {"left": ["a", "c"], "relation": ">", "right": ["b", "c"]}
    claim = {"id": "it", "text": "So.", "where": "here", "tests": [test]}
    cells = {("a", "c"): of_runs([1.0, 2.0, 3.0, 0.5, 1.5, 2.5]), ("b", "c"): exact(0.6)}
    words = [claims.judge_one(claim, cells, "smoke", {("a", "c"): had}).verdict for had in (1.0, 0.5)]
    assert words == ["agrees", "unclear"]


def test_a_seed_that_is_in_both_files_is_one_run(tmp_path):
    """Once it counted twice, as two runs that agree to the last digit."""
    root = tiny.project(tmp_path)
    tiny.write(root, "reproduce/mini/more_seeds.yaml", "smoke:\n  noise:\n    strong/low: [2, 3]\n")
    runs = experiments.paper("mini", root).experiments["noise"].runs("smoke")
    assert [run.seed for run in runs if (run.method, run.setting) == ("strong", "low")] == [0, 1, 2, 3]
