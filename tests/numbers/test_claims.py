"""Claims of an artefact, tested on its cells."""

import pytest
import tiny
from support import cells

from harness.base.errors import HarnessError
from harness.numbers import claim_record, claims
from harness.numbers.cells import Filled
from harness.numbers.judge import Verdict
from harness.numbers.stats import of_runs
from harness.spec import artefacts

HEAD, _, CLAIMS = tiny.TABLE.partition("claims:")


def test_order_between_two_cells(judged):
    order = '{left: [high, strong], relation: ">", right: [low, strong]}'
    assert judged(order, high_strong=2, low_strong=1).word == "agrees"
    assert judged(order, high_strong=1, low_strong=2).word == "contradicts"


def test_order_against_a_number_and_with_a_margin(judged):
    assert judged('{left: [low, weak], relation: "<", right: 3}', low_weak=2).word == "agrees"
    assert judged('{left: [low, weak], relation: "<", right: 3, margin: 1}', low_weak=2).word == "contradicts"
    assert judged('{left: [low, weak], relation: "=", right: 3, margin: 1}', low_weak=2).word == "agrees"


def test_a_margin_is_told_beside_the_difference(judged):
    """Once a lead of 0.1 was told as "by -0.2" where 0.3 was asked for."""
    order = '{left: [low, weak], relation: "<", right: 3, margin: 0.3}'
    told = judged(order, low_weak=2.9).reason
    assert told == "by +0.1, asked for 0.3 at least"
    wide = judged(order, low_weak=of_runs([2.5, 2.8, 2.2]))
    assert wide == Verdict("unclear", "+0.5 ± 0.79, asked for 0.3 at least")


def test_a_verdict_that_hangs_on_our_margin_says_so(judged):
    order = '{left: [low, weak], relation: "<", right: 3, margin: 0.3}'
    told = judged(order, low_weak=2.5).reason
    assert told == "by +0.5, asked for 0.3 at least; contradicts with our margin doubled"
    assert "margin" not in judged(order, low_weak=1).reason
    assert "margin" not in judged('{left: [low, weak], relation: "<", right: 3}', low_weak=2.9).reason


def test_of_many_tests_one_that_is_off_by_chance_does_not_refute_the_claim(judged):
    """A test alone fails at 95 %; of several, one of so many may by chance."""
    test = '{left: [low, weak], relation: ">", right: 0}'
    sure = [test.replace("low, weak", f"high, {name}") for name in ("weak", "strong", "correlation")]
    values = {"high_weak": 1, "high_strong": 1, "high_correlation": 1}
    off = of_runs([-1.0, -0.2, -0.6, -0.9, -0.1])  # -0.56 ± 0.5
    assert judged(test, low_weak=off).word == "contradicts"
    verdict = judged(", ".join([test, *sure]), low_weak=off, **values)
    assert verdict.word == "unclear" and "4 settings; taken alone 3 hold, 1 fails" in verdict.reason
    far = of_runs([-1.0, -0.9, -0.95, -0.98, -0.92])
    assert judged(", ".join([test, *sure]), low_weak=far, **values).word == "contradicts"


def test_the_mean_of_several(judged):
    mean = "{mean: [[low, weak], [low, strong], [high, weak]]}"
    values = {"low_weak": 1, "low_strong": 2, "high_weak": 6, "high_strong": 2}
    assert judged(f'{{left: {mean}, relation: ">", right: [high, strong]}}', **values).reason == "by +1"
    other_way = f'{{left: [high, strong], relation: ">", right: {mean}}}'
    assert judged(other_way, **values).reason == "by -1"
    with pytest.raises(HarnessError, match="row 'lov' does not exist"):
        judged(f'{{left: {mean.replace("high", "lov")}, relation: ">", right: 0}}')


def test_a_trend_over_cells(judged):
    trend = "{trend: falling, over: [[high, strong], [high, weak], [low, weak]]}"
    assert judged(trend, high_strong=3, high_weak=2.5, low_weak=1).word == "agrees"
    assert judged(trend, high_strong=1, high_weak=2.5, low_weak=3).word == "contradicts"


def test_a_trend_over_gaps(judged):
    gaps = "{gap: [[low, strong], [low, weak]]}, {gap: [[high, strong], [low, weak]]}, [high, weak]"
    values = {"low_strong": 3, "low_weak": 2, "high_strong": 4, "high_weak": 9}
    assert judged(f"{{trend: rising, over: [{gaps}]}}", **values).word == "agrees"  # 1, 2, 9
    assert judged(f"{{trend: falling, over: [{gaps}]}}", **values).word == "contradicts"
    with pytest.raises(HarnessError, match="claims.0.tests.0"):
        judged("{trend: rising, over: [[low, weak], [low, weak], 3]}", **values)


def test_a_trend_runs_along_the_last_word_and_has_a_line_for_each_value_of_another(judged):
    """Once it was one slope through all lines, end to end: two that fall, the second higher up, rose."""
    trend = "{trend: rising, each: {r: [low, high], c: [weak, strong, correlation]}, over: "
    falls = {"low_weak": 3, "low_strong": 2, "low_correlation": 1}
    falls |= {"high_weak": 30, "high_strong": 28, "high_correlation": 26}
    told = judged(trend + '["{r}", "{c}"]}', **falls)
    assert told.word == "contradicts" and told.reason.startswith("by -1.5 (on average over 2 settings")
    gap = '{gap: [["{r}", "{c}"], [low, weak]]}}'
    assert judged(trend + gap, **falls | {"high_correlation": 90}).word == "agrees"
    with pytest.raises(HarnessError, match="row 'lov' does not exist"):
        judged(trend.replace("low", "lov") + '["{r}", "{c}"]}')
    with pytest.raises(HarnessError, match="a trend needs three points"):
        judged(trend.replace(", correlation", "") + '["{r}", "{c}"]}')


def test_a_trend_along_a_list_has_a_line_for_each_value_of_a_word(judged):
    """Once the first value alone was tested."""
    listed = '[["{r}", weak], ["{r}", strong], ["{r}", correlation]]}'
    values = {"low_weak": 1, "low_strong": 2, "low_correlation": 3}
    values |= {"high_weak": 30, "high_strong": 28, "high_correlation": 26}
    told = judged("{trend: rising, each: {r: [low, high]}, over: " + listed, **values)
    assert told.word == "contradicts" and told.reason.startswith("by -0.5 (on average over 2 settings")


def test_all_parts_must_hold(judged):
    tests = '{left: [low, weak], relation: ">", right: 0}, {left: [low, weak], relation: ">", right: 9}'
    assert judged(tests, low_weak=10).word == "agrees"
    assert judged(tests, low_weak=5).word == "contradicts"


def test_how_far_one_lies_above_another(judged):
    """The gap between two cells against a number, against another gap, on either side."""
    values = {"high_strong": 9, "high_weak": 5, "low_strong": 4, "low_weak": 3}
    gap = "{gap: [[high, strong], [high, weak]]}"
    assert judged(f'{{left: {gap}, relation: "=", right: 4}}', **values).word == "agrees"
    other = "{gap: [[low, strong], [low, weak]]}"
    assert judged(f'{{left: {gap}, relation: "=", right: {other}, margin: 3}}', **values).word == "agrees"
    verdict = judged(f'{{left: {gap}, relation: ">", right: {other}}}', **values)
    assert (verdict.word, verdict.reason) == ("agrees", "by +3")
    assert judged(f'{{left: [low, weak], relation: ">", right: {gap}}}', **values).word == "contradicts"
    del values["low_weak"]
    assert judged(f'{{left: {gap}, relation: ">", right: {other}}}', **values).word == "not run"


def test_how_far_runs_scatter(judged):
    calm, wild = of_runs([0.70, 0.71, 0.72]), of_runs([0.5, 0.7, 0.9])
    spread = '{of: spread, left: [low, strong], relation: "<", right: [low, weak]}'
    assert judged(spread, low_strong=calm, low_weak=wild).word == "agrees"
    assert judged(spread, low_strong=wild, low_weak=calm).word == "contradicts"
    assert judged(spread.replace("<", ">"), low_strong=wild, low_weak=calm).word == "agrees"
    assert judged(spread, low_strong=of_runs([0.6, 0.7, 0.8]), low_weak=wild).word == "unclear"
    assert judged(spread, low_strong=of_runs([0.7]), low_weak=wild) == Verdict(
        "unclear", "a single run has no spread"
    )


def test_a_test_with_each_is_one_per_combination(judged):
    test = '{each: {r: [low, high]}, left: ["{r}", strong], relation: ">", right: ["{r}", weak]}'
    values = {"low_strong": 2, "low_weak": 1, "high_strong": 4, "high_weak": 1}
    told = "by +2 (on average over 2 settings; taken alone 2 hold)"
    assert judged(test, **values) == Verdict("agrees", told)
    assert judged(test, **values | {"high_strong": -9}).word == "contradicts"


def test_what_no_pair_tells_several_may(judged):
    one, other = of_runs([0.6, 0.7, 0.8]), of_runs([0.3, 0.7, 1.1])
    pooled = (
        '{of: spread, each: {r: [low, high]}, left: ["{r}", strong], relation: "<", right: ["{r}", weak]}'
    )
    single = '{of: spread, left: [low, strong], relation: "<", right: [low, weak]}'
    values = {"low_strong": one, "low_weak": other, "high_strong": one, "high_weak": other}
    assert judged(single, **values).word == "unclear"
    told = "6% of the scatter over runs, where equals have 11% to 89%"
    assert judged(pooled, **values) == Verdict("agrees", told)
    del values["high_weak"]
    assert judged(pooled, **values) == Verdict("not run", "high / weak has no number at this scale")


def test_what_was_not_run_is_not_judged(judged):
    order = '{left: [high, strong], relation: ">", right: [low, strong]}'
    verdict = judged(order, high_strong=2, low_strong=None)
    assert verdict == Verdict("not run", "low / strong has no number at this scale")
    assert judged(order, high_strong=2).word == "not run"
    assert judged(f'{order}, {{left: [high, strong], relation: ">", right: 9}}', high_strong=2).word == (
        "contradicts"
    )


def test_a_claim_of_one_scale_is_tested_there_only(judged):
    order = '{left: [high, strong], relation: ">", right: 0}'
    verdict = judged(order, more="at: cpu,", scale="paper", high_strong=1)
    assert verdict == Verdict("not comparable", "judged at scale cpu only")
    assert judged(order, more="at: cpu,", scale="cpu", high_strong=1).word == "agrees"


def test_a_claim_waits_for_its_scale(judged):
    order = '{left: [high, strong], relation: ">", right: 0}'
    verdict = judged(order, more="from: cpu,", high_strong=-1)
    assert verdict == Verdict("not comparable", "judged from scale cpu on")
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
        "{of: spread}",
        '{of: spread, left: [low, weak], relation: "=", right: [high, weak]}',
        '{of: spread, left: [low, weak], relation: ">", right: 3}',
        "{each: {r: [low]}, trend: rising}",
        "{each: {r: [low]}, margin: 1}",
        "{trend: rising, over: [[low, weak], [high, weak]]}",
        '{left: {gap: [low, weak]}, relation: ">", right: 3}',
    ],
)
def test_a_test_that_says_half_of_it_is_refused_with_its_line(judged, test):
    with pytest.raises(HarnessError, match=r"table_1\.yaml, line \d+: claims\.0\.tests\.0"):
        judged(test, low_weak=1)


def test_cells_that_do_not_exist_are_refused(judged):
    with pytest.raises(HarnessError, match=r"column 'wek' does not exist: did you mean 'weak'\?"):
        judged('{left: [low, wek], relation: ">", right: 0}')
    with pytest.raises(HarnessError, match=r"row 'lov' does not exist"):
        judged('{left: [low, weak], relation: ">", right: {gap: [[low, weak], [lov, weak]]}}')
    with pytest.raises(HarnessError, match=r"row 'lov' does not exist: did you mean 'low'\?"):
        judged("{trend: rising, over: [[low, weak], [lov, weak], [high, weak]]}")


def test_claims_become_a_table(judged, tmp_path):
    root = tiny.project(tmp_path)
    artefact = artefacts.find("mini/table_1", root)
    frame = claims.to_frame(claims.judge_claims(artefact, cells(high_strong=2, low_strong=1), "smoke"))
    texts = ("high-above-low", "The mean is higher where it was set higher.", "section 1", "agrees", "by +1")
    numbers = ("on average", "1", "1", "0", "", "0", "0", "")
    numbers += ("", ">", "1.0", "1.0", "1.0", "0.0", "0.0", "0", "0", "agrees", "False")
    assert frame.to_dict("split")["data"] == [[*texts, *numbers]]
    assert tuple(claims.to_frame([]).columns) == claim_record.COLUMNS


def test_numbers_of_the_same_runs_are_compared_run_by_run():
    runs = ("p/e/m/s/s0", "p/e/m/s/s1", "p/e/m/s/s2")
    full, pruned = of_runs([0.70, 0.80, 0.90]), of_runs([0.71, 0.811, 0.909])
    test = {"left": ["pruned", "c"], "relation": ">", "right": ["full", "c"]}
    claim = {"id": "it", "text": "It is more.", "where": "here", "tests": [test]}

    def verdict(other_runs: tuple[str, ...]) -> str:
        filled = [
            Filled("full", "c", full, "", None, Verdict(""), runs),
            Filled("pruned", "c", pruned, "", None, Verdict(""), other_runs),
        ]
        estimates = {(f.row, f.column): claims._of_its_runs(f) for f in filled}
        return claims.judge_one(claim, estimates, "smoke").verdict

    assert verdict(runs) == "agrees"
    assert verdict(tuple(run.replace("/m/", "/n/") for run in runs)) == "unclear"


def test_a_claim_over_words_of_its_id_becomes_one_per_combination(tmp_path):
    claim = """claims:
  - id: "{where}-{Which}"
    over: {where: [low, high], Which: [strong, weak]}
    settings: "{where}"
    text: "{Which} is above 0."
    where: section 1
    tests: ["{where} | {Which} > 0"]
"""
    with pytest.raises(HarnessError, match=r"line \d+: claims.0.id"):  # an id is in small letters
        artefacts.find("mini/table_1", tiny.project(tmp_path, TABLE=HEAD + claim))
    root = tiny.project(tmp_path, TABLE=HEAD + claim.replace("Which", "which"))
    artefact = artefacts.find("mini/table_1", root)
    judged = claims.judge_claims(artefact, cells(low_strong=1, low_weak=-1, high_strong=2), "smoke")
    assert [(c.id, c.text, c.verdict) for c in judged] == [
        ("low-strong", "low: strong is above 0.", "agrees"),
        ("low-weak", "low: weak is above 0.", "contradicts"),
        ("high-strong", "high: strong is above 0.", "agrees"),
        ("high-weak", "high: weak is above 0.", "not run"),
    ]
