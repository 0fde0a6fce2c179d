"""What a sentence says of its settings, and how it is judged for it."""

from dataclasses import replace

import pytest
import tiny
from support import cells

from harness.numbers import claims
from harness.numbers.claim_record import needed_of
from harness.numbers.contrast import contrast
from harness.numbers.judge import Verdict
from harness.numbers.quantifiers import at_least, in_at_least, pooled
from harness.numbers.stats import Estimate, exact, of_runs
from harness.spec import artefacts

EACH = '{each: {c: [weak, strong, correlation]}, left: [low, "{c}"], relation: ">", right: 0}'


@pytest.mark.parametrize(
    ("quantifier", "word"),
    [
        ("on average", "agrees"),
        ("usually", "agrees"),
        ("in all", "contradicts"),
        ("consistently", "contradicts"),
        ("in some", "agrees"),
    ],
)
def test_a_sentence_is_judged_once_by_what_it_says_of_its_settings(judged, quantifier, word):
    """Once one sentence on forty settings was forty claims, of which a few held."""
    values = {"low_weak": of_runs([5.0, 5.1, 4.9]), "low_strong": of_runs([6.0, 6.1, 5.9])}
    off = of_runs([-1.0, -1.1, -0.9])
    verdict = judged(EACH, more=f"quantifier: {quantifier},", low_correlation=off, **values)
    assert verdict.word == word
    assert f"{quantifier} over 3 settings; taken alone 2 hold, 1 fails" in verdict.reason


def test_a_sentence_without_a_quantifier_is_of_the_average_and_an_equality_of_all(judged):
    values = {"low_weak": 2, "low_strong": 3, "low_correlation": -1}
    assert judged(EACH, **values) == Verdict(
        "agrees", "by +1.33 (on average over 3 settings; taken alone 2 hold, 1 fails)"
    )
    equal = EACH.replace('">"', '"="').replace("right: 0", "right: 1, margin: 1")
    assert judged(equal, **values).word == "contradicts"  # 1, 2 and -2 away, on average nothing


def test_settings_stand_below_their_sentence_and_are_not_counted():
    claim = {"id": "it", "text": "It is more.", "where": "here", "tests": [
        {"each": {"c": ["weak", "strong"]}, "left": ["low", "{c}"], "relation": ">", "right": 0}
    ]}  # fmt: skip
    found = claims.judge_one(claim, {("low", "weak"): exact(1), ("low", "strong"): exact(3)}, "smoke")
    assert [(p.part, p.value, p.setting) for p in found.parts] == [
        ("", 2, False),
        ("weak", 1, True),
        ("strong", 3, True),
    ]
    assert len(found.tests) == 1 and (found.settings, found.hold) == (2, 2)


def test_at_least_so_many():
    """Of one that must be true it is Simes' test, of all the largest p value."""
    assert at_least(1, [0.04, 0.02, 0.9]) == pytest.approx(0.06)  # min(3 · 0.02, 3/2 · 0.04, 0.9)
    assert at_least(1, [0.02, 0.02, 0.02]) == pytest.approx(0.02)
    assert at_least(3, [0.04, 0.02, 0.9]) == 0.9
    assert at_least(2, [0.01, 0.03, 0.5]) == pytest.approx(0.06)  # without the smallest: min(2 · 0.03, 0.5)
    assert in_at_least(2, [(0.01, 0.9), (0.01, 0.9), (0.9, 0.01)]) == (pytest.approx(0.02), 0.9)


def test_what_holds_in_all_holds_usually():
    """A stronger sentence that holds may not leave the weaker one open."""
    each = [(0.02, 0.98)] * 5
    assert in_at_least(5, each)[0] == in_at_least(3, each)[0] == in_at_least(1, each)[0] == 0.02


def test_settings_of_other_runs_share_how_runs_scatter():
    """Once two runs each stood at ± 12.7 standard errors, whatever fourteen other settings told."""
    values = [[1.0, 1.2], [2.0, 1.7], [0.5, 0.8], [1.4, 1.3]]
    alone = [contrast([1], [of_runs(v)]) for v in values]
    together = pooled(alone)
    assert {c.df for c in together} == {4} and all(c.half() < 0.6 for c in together)
    usual = sum(c.per_run for c in alone) / 4
    assert [c.per_run for c in together] == pytest.approx([max(usual, c.per_run) for c in alone])


def test_settings_of_the_same_runs_are_one_piece_of_evidence():
    runs = ("r", "s", "t")
    alone = [contrast([1], [Estimate(**vars(of_runs(v)) | {"runs": runs})]) for v in ([1, 2, 4], [1, 3, 2])]
    assert pooled(alone) == alone


def test_a_margin_of_a_quarter_of_an_effect(judged):
    """On both sides of an equality, on one side of an order; its own noise counts."""
    values = {"low_weak": 1.0, "low_strong": 1.2, "high_strong": 1.0, "high_weak": 0.0}
    equal = "low | weak = low | strong ± a quarter of high | strong minus high | weak"
    assert judged(f"'{equal}'", **values) == Verdict(
        "agrees", "difference -0.2, inside ±0.25; contradicts with our margin halved"
    )
    assert judged(f"'{equal}'", **values | {"low_strong": 1.3}).word == "contradicts"
    noisy = values | {"high_strong": of_runs([0.2, 1.0, 1.8])}
    assert judged(f"'{equal}'", **noisy).word == "unclear"
    less = "low | weak > low | strong less a quarter of high | strong"
    assert judged(f"'{less}'", **values).word == "agrees"
    assert judged(f"'{less}'", **values | {"low_weak": 0.9}).word == "contradicts"
    turned = "low | strong < low | weak less a quarter of high | strong"
    assert judged(f"'{turned}'", **values).word == "agrees"


@pytest.mark.parametrize(
    ("runs", "left", "word"),
    [
        (3, 84.1234567, "unclear"),
        (4, 84.1234567, "agrees"),
        (4, 80.7654321, "contradicts"),
        (4, 81.7654321, "unclear"),
    ],
)
def test_equal_runs_are_as_sure_as_a_permutation_test(runs, left, word):
    """Once three searches that ended in one architecture were certain, and a tie contradicted by -4.5e-15."""
    test = {"left": ["low", "weak"], "relation": ">", "right": ["low", "strong"]}
    claim = {"id": "it", "text": "So.", "where": "here", "tests": [test]}
    numbers = {("low", "weak"): of_runs([left] * runs), ("low", "strong"): of_runs([81.7654321] * runs)}
    assert claims.judge_one(claim, numbers, "smoke").verdict == word


def test_equal_runs_of_any_rounded_number_leave_open_what_three_cannot_decide():
    """Once what was left of rounding 90.03 counted as its scatter, and three a hundredth apart agreed."""
    test = {"left": ["low", "weak"], "relation": ">", "right": ["low", "strong"]}
    claim = {"id": "it", "text": "So.", "where": "here", "tests": [test]}
    for hundredths in range(9000, 9100):
        higher, lower = ((hundredths + more) / 100 for more in (1, 0))
        numbers = {("low", "weak"): of_runs([higher] * 3), ("low", "strong"): of_runs([lower] * 3)}
        assert claims.judge_one(claim, numbers, "smoke").verdict == "unclear", hundredths


def test_a_quarter_counts_where_a_correlation_is_compared_with_a_constant():
    """Once it was dropped there: 0.35 was asked to be above 0.5, not above 0.5 less a quarter of 0.8."""
    test = {"left": ["low", "weak"], "relation": ">", "right": 0.5, "quarter_of": ["high", "strong"]}
    claim = {"id": "it", "text": "So.", "where": "here", "tests": [test]}
    numbers = {("low", "weak"): replace(exact(0.35), bounded=True), ("high", "strong"): exact(0.8)}
    assert claims.judge_one(claim, numbers, "smoke").verdict == "agrees"
    del test["quarter_of"]
    assert claims.judge_one(claim, numbers, "smoke").verdict == "contradicts"


def test_each_setting_tells_the_margin_that_it_is_judged_by():
    """Once all told the mean of the margins: "inside ±1.5" of a difference of 0.7 with a margin of 0.5."""
    test = {"each": {"c": ["weak", "strong"]}, "left": ["low", "{c}"], "relation": "=", "right": 0}
    test["quarter_of"] = ["high", "{c}"]
    claim = {"id": "it", "text": "So.", "where": "here", "quantifier": "in all", "tests": [test]}
    values = {"low": (0.7, 0.7), "high": (2.0, 10.0)}
    numbers = {
        (r, c): exact(v) for r, pair in values.items() for c, v in zip(("weak", "strong"), pair, strict=True)
    }
    found = claims.judge_one(claim, numbers, "smoke")
    assert [(p.asked, p.word) for p in found.parts if p.setting] == [(0.5, "contradicts"), (2.5, "agrees")]
    assert found.reason.startswith("weak: difference +0.7, outside ±0.5")


def test_what_it_would_take_is_told_with_the_verdict_that_it_would_give():
    """The first part to refute a claim decides it, the last to hold."""
    test = {"each": {"c": ["weak", "strong"]}, "left": ["low", "{c}"], "relation": ">", "right": 0}
    claim = {"id": "it", "text": "So.", "where": "here", "quantifier": "in all", "tests": [test]}
    numbers = {("low", "weak"): of_runs([0.1, 1.0, -1.0]), ("low", "strong"): of_runs([-1.0, -2.0, 0.5])}
    found = claims.judge_one(claim, numbers, "smoke")
    assert (found.verdict, found.would_be) == ("unclear", "contradicts") and 3 < found.needed_runs < 30
    assert needed_of(found, " (2 h each)") == (
        f"about {found.needed_runs} runs instead of 3 (2 h each): contradicts"
    )
    lost = {key: of_runs([1e-9, 1.0, -1.0]) for key in numbers}
    assert needed_of(claims.judge_one(claim, lost, "smoke")).startswith("no number of runs tells")


def test_a_sample_of_architectures_is_made_larger_where_runs_do_not_help():
    test = {"left": ["low", "weak"], "relation": ">", "right": 0}
    claim = {"id": "it", "text": "It is so.", "where": "here", "tests": [test]}
    sampled = Estimate(0.5, 1, 1.0, "bootstrap", se_units=0.5, units=50)
    found = claims.judge_one(claim, {("low", "weak"): sampled}, "smoke")
    assert found.needed_runs == 0 and 350 < found.needed_architectures < 410  # 2.8² · 50 at a second look
    assert needed_of(found).endswith("architectures instead of 50: agrees")


def test_a_claim_that_hangs_on_how_a_scale_differs_is_told_as_ours(tmp_path):
    """Once an outcome that opposed the paper was "judged from scale paper on" and never told."""
    scales = tiny.EXPERIMENTS.replace("      cpu:\n", "      cpu:\n        differs: [D1]\n")
    table = tiny.TABLE.replace(
        "    where: section 1\n    tests", "    where: section 1\n    hangs_on: [D1]\n    tests"
    )
    root = tiny.project(tmp_path, EXPERIMENTS=scales, TABLE=table)
    artefact = artefacts.find("mini/table_1", root)
    for scale, words in (("cpu", ["not comparable", "contradicts"]), ("smoke", ["contradicts"])):
        found = claims.judge_claims(artefact, cells(high_strong=1, low_strong=2), scale)
        assert [claim.verdict for claim in found] == words
    waits, ours = claims.judge_claims(artefact, cells(high_strong=1, low_strong=2), "cpu")
    assert not waits.ours and ours.ours and ours.id == f"{waits.id}-here"
    assert ours.text == "(ours) At scale cpu (D1): The mean is higher where it was set higher."
    tiny.forget()
