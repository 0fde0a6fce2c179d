"""Claims of an artefact, tested on its cells."""

import pytest
import tiny

from harness import artefacts, claims
from harness.cells import Filled
from harness.errors import HarnessError
from harness.expect import Verdict
from harness.stats import Estimate, exact, of_runs

HEAD, _, CLAIMS = tiny.TABLE.partition("claims:")


def cells(**values: float | Estimate | None) -> list[Filled]:
    """`low_strong=3` fills the cell low / strong."""
    filled = []
    for name, value in values.items():
        estimate = exact(value) if isinstance(value, int | float) else value
        filled.append(Filled(*name.split("_"), estimate, "", None, Verdict(""), ()))
    return filled


@pytest.fixture
def judged(tmp_path):
    """The verdicts of the claims whose tests are given as YAML."""

    def judge(tests: str, scale: str = "smoke", more: str = "", **values) -> Verdict:
        claim = f"claims:\n  - {{id: it, text: It holds., where: here, {more} tests: [{tests}]}}\n"
        root = tiny.project(tmp_path, TABLE=HEAD + claim)
        artefact = artefacts.find("mini/table_1", root)
        ((found, verdict),) = claims.judge_claims(artefact, cells(**values), scale)
        assert found["id"] == "it"
        return verdict

    yield judge
    tiny.forget()


def test_order_between_two_cells(judged):
    order = '{left: [high, strong], relation: ">", right: [low, strong]}'
    assert judged(order, high_strong=2, low_strong=1).word == "agrees"
    assert judged(order, high_strong=1, low_strong=2).word == "contradicts"


def test_order_against_a_number_and_with_a_margin(judged):
    assert judged('{left: [low, weak], relation: "<", right: 3}', low_weak=2).word == "agrees"
    assert judged('{left: [low, weak], relation: "<", right: 3, margin: 1}', low_weak=2).word == "contradicts"
    assert judged('{left: [low, weak], relation: "=", right: 3, margin: 1}', low_weak=2).word == "agrees"


def test_a_trend_over_cells(judged):
    trend = "{trend: falling, over: [[high, strong], [high, weak], [low, weak]]}"
    assert judged(trend, high_strong=3, high_weak=2.5, low_weak=1).word == "agrees"
    assert judged(trend, high_strong=1, high_weak=2.5, low_weak=3).word == "contradicts"


def test_all_parts_must_hold(judged):
    tests = '{left: [low, weak], relation: ">", right: 0}, {left: [low, weak], relation: ">", right: 9}'
    assert judged(tests, low_weak=10).word == "agrees"
    assert judged(tests, low_weak=5).word == "contradicts"


def test_what_was_not_run_is_not_judged(judged):
    order = '{left: [high, strong], relation: ">", right: [low, strong]}'
    verdict = judged(order, high_strong=2, low_strong=None)
    assert verdict == Verdict("not run", "low / strong has no number at this scale")
    assert judged(order, high_strong=2).word == "not run"
    assert judged(f'{order}, {{left: [high, strong], relation: ">", right: 9}}', high_strong=2).word == (
        "contradicts"
    )


def test_a_claim_waits_for_its_scale(judged):
    order = '{left: [high, strong], relation: ">", right: 0}'
    verdict = judged(order, more="from: cpu,", high_strong=-1)
    assert verdict == Verdict("not comparable", "tested from scale cpu on")
    assert judged(order, scale="cpu", more="from: cpu,", high_strong=-1).word == "contradicts"
    assert judged(order, scale="paper", more="from: cpu,", high_strong=1).word == "agrees"


@pytest.mark.parametrize(
    "test",
    [
        "{}",
        "{left: [low, weak]}",
        '{left: [low, weak], relation: ">"}',
        '{relation: ">", right: 3}',
        "{trend: rising}",
        "{margin: 1, right: 3}",
        "{over: [[low, weak], [high, weak], [high, strong]]}",
    ],
)
def test_a_test_that_says_half_of_it_is_refused_with_its_line(judged, test):
    with pytest.raises(HarnessError, match=r"table_1\.yaml, line \d+: claims\.0\.tests\.0"):
        judged(test, low_weak=1)


def test_cells_that_do_not_exist_are_refused(judged):
    with pytest.raises(HarnessError, match=r"column 'wek' does not exist: did you mean 'weak'\?"):
        judged('{left: [low, wek], relation: ">", right: 0}')
    with pytest.raises(HarnessError, match=r"row 'lov' does not exist: did you mean 'low'\?"):
        judged("{trend: rising, over: [[low, weak], [lov, weak], [high, weak]]}")


def test_claims_become_a_table(judged, tmp_path):
    root = tiny.project(tmp_path)
    artefact = artefacts.find("mini/table_1", root)
    frame = claims.to_frame(claims.judge_claims(artefact, cells(high_strong=2, low_strong=1), "smoke"))
    assert frame.to_dict("records") == [
        {
            "id": "high-above-low",
            "text": "The mean is higher where it was set higher.",
            "where": "section 1",
            "verdict": "agrees",
            "reason": "by +1",
        }
    ]
    assert list(claims.to_frame([]).columns) == ["id", "text", "where", "verdict", "reason"]


def test_numbers_of_the_same_runs_are_compared_run_by_run():
    runs = ("p/e/m/s/s0", "p/e/m/s/s1", "p/e/m/s/s2")
    full, pruned = of_runs([0.70, 0.80, 0.90]), of_runs([0.71, 0.811, 0.909])
    claim = {"tests": [{"left": ["pruned", "c"], "relation": ">", "right": ["full", "c"]}]}

    def verdict(other_runs: tuple[str, ...]) -> str:
        filled = [
            Filled("full", "c", full, "", None, Verdict(""), runs),
            Filled("pruned", "c", pruned, "", None, Verdict(""), other_runs),
        ]
        return claims._test(claim, {(f.row, f.column): f for f in filled}, "smoke").word

    assert verdict(runs) == "agrees"
    assert verdict(tuple(run.replace("/m/", "/n/") for run in runs)) == "unclear"
