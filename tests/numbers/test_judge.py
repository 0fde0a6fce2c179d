"""Numbers as papers print them, and the verdict on a number or a claim at its boundaries."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import verdict, within

from harness.base.errors import HarnessError
from harness.numbers.claim_sides import slope_weights
from harness.numbers.judge import Context, gap_between, judge, judge_text, parse
from harness.numbers.stats import Estimate, exact, of_runs


def known(value: float, se: float) -> Estimate:
    """An estimate whose 95 % interval is 1.96 se wide on both sides."""
    return Estimate(value, 100, se * 10, "sample_sd", se, math.inf)


@pytest.mark.parametrize(
    ("text", "value", "resolution", "spread"),
    [
        ("0.79 (0.00)", 0.79, 0.01, 0.0),
        ("-0.05 (0.03)", -0.05, 0.01, 0.03),
        ("2.88 ± 0.19", 2.88, 0.01, 0.19),
        ("94.02 (.31)", 94.02, 0.01, 0.31),
        ("782,938", 782938, 1, None),
        ("14,839,700", 14839700, 1, None),
        ("15 625", 15625, 1, None),
        ("15\u00a0625", 15625, 1, None),
        ("363\u2009648", 363648, 1, None),
        ("363\u202f648", 363648, 1, None),
        ("92.2%", 92.2, 0.1, None),
        ("92.2 %", 92.2, 0.1, None),
        ("92.2% (0.3)", 92.2, 0.1, 0.3),
        ("14.8M", 14.8e6, 1e5, None),
        ("783K", 783e3, 1e3, None),
        ("2.5 ± 0.1M", 2.5e6, 1e5, 1e5),
        ("1.2G", 1.2e9, 1e8, None),
        ("+3", 3, 1, None),
        (".61", 0.61, 0.01, None),
        ("-.61", -0.61, 0.01, None),
        ("3e-4", 3e-4, 1e-4, None),
        ("2.5e-2", 0.025, 1e-3, None),
        ("1E3", 1000, 1000, None),
        ("0", 0, 1, None),
        ("  0.5  ", 0.5, 0.1, None),
        ("5 (1)", 5, 1, 1),
    ],
)
def test_every_printed_form_is_read(text, value, resolution, spread):
    read = parse(text)
    assert (read.value, read.resolution) == (pytest.approx(value), pytest.approx(resolution))
    assert read.spread == (None if spread is None else pytest.approx(spread))
    assert read.text == text.strip() and not read.power_of_ten


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "–",
        ".",
        "%",
        "n/a",
        "nan",
        "inf",
        "e5",
        "1e",
        "1e999",
        "10^999",
        "10^",
        "--5",
        "5.",
        "0,79",
        "12,34",
        "1,2345",
        "1 23",
        "1,,000",
        "1..2",
        "0x10",
        "5 5",
        "0.5 (",
        "0.5)",
        "0.5 (x)",
        "0.5 ±",
        "0.5 ± -1",
        "0.5 (0.1) (0.2)",
        "(0.5)",
        "five",
        "5T",
        "1_000",
        "0.7 0.8",
        "<0.1",
        "0.5%%M",
    ],
)
def test_rubbish_is_refused_in_one_sentence(text):
    with pytest.raises(HarnessError) as refused:
        parse(text)
    said = str(refused.value)
    assert repr(text) in said and "\n" not in said and len(said) < 200


@given(st.text(max_size=12))
def test_any_text_is_a_finite_number_or_refused(text):
    try:
        read = parse(text)
    except HarnessError:
        return
    assert math.isfinite(read.value) and read.resolution > 0


@given(st.integers(0, 10**12))
def test_thousands_in_threes_are_read_back(number):
    for separator in (",", " ", "\u00a0", "\u2009", "\u202f"):
        assert parse(f"{number:,}".replace(",", separator)).value == number


@given(st.floats(-1000, 1000), st.integers(0, 5))
def test_a_number_always_matches_itself_as_printed(value, decimals):
    read = parse(f"{value:.{decimals}f}")
    assert read.rounds_to(value)
    assert not read.rounds_to(value + 1.01 * 10**-decimals)
    assert not read.rounds_to(value - 1.01 * 10**-decimals)


@pytest.mark.parametrize(
    ("text", "value", "same"),
    [
        ("0.79", 0.785, True),  # the half itself reads either way
        ("0.79", 0.795, True),
        ("0.79", 0.7849999, False),
        ("0.79", 0.7950001, False),
        ("92.2%", 92.25, True),
        ("92.2%", 92.2501, False),
        ("14.8M", 14_839_700, True),
        ("14.8M", 14_850_001, False),
        ("782,938", 782_938.5, True),
        ("782,938", 782_939, False),
        ("10^18", 1.08e18, True),
        ("10^18", 3.3e17, True),
        ("10^18", 3.1e17, False),
        ("10^18", 3.2e18, False),
        ("10^18", -1e18, False),
        ("10^18", 0, False),
    ],
)
def test_match_is_equal_after_rounding_as_printed(text, value, same):
    assert (judge(exact(value), parse(text), Context()).word == "match") is same


@pytest.mark.parametrize("value", [0.95, 0.55])
def test_better_than_reported_is_a_difference_too(value):
    ours = of_runs([value - 0.01, value, value + 0.01])
    verdict = judge(ours, parse("0.75 (0.01)"), Context(n=3, spread_kind="sample_sd"))
    assert verdict.word == "differs"
    assert f"{value - 0.75:+.3g} from the printed number" in verdict.reason


def test_agreement_ends_where_the_interval_and_half_a_digit_end():
    context = Context(n=1)  # the paper prints (0.0): all noise is ours, 1.96 · 0.5 wide
    for value, word in ((50.0 + 0.98 + 0.49, "agrees"), (50.0 + 0.98 + 0.51, "differs")):
        assert judge(known(value, 0.5), parse("50 (0)"), context).word == word
        assert judge(known(100 - value, 0.5), parse("50 (0)"), context).word == word


def test_an_exact_number_differs_by_any_printed_digit():
    verdict = judge(exact(718426), parse("782,938"), Context())
    assert verdict.word == "differs" and "nothing here is random" in verdict.reason


def test_no_number_is_never_in_agreement():
    for value in (math.nan, math.inf, -math.inf):
        assert judge(exact(value), parse("0.5"), Context()).word == "differs"
    assert judge(of_runs([0.5, math.nan, 0.5]), parse("0.5"), Context()).word == "differs"


def test_an_interval_that_is_no_number_is_unclear():
    ours = Estimate(0.5, 1, None, "bootstrap", se_units=math.nan)
    assert judge(ours, parse("0.7"), Context()).word == "unclear"


def test_one_run_is_unclear_unless_it_matches():
    assert judge(of_runs([0.7]), parse("0.72 (0.01)"), Context(n=5)).word == "unclear"
    assert judge(of_runs([0.7]), parse("0.70 (0.01)"), Context(n=5)).word == "match"


def test_two_runs_hardly_ever_agree():
    context = Context(n=5, spread_kind="sample_sd", others=(0.75, 0.6))
    assert judge(of_runs([0.70, 0.74]), parse("0.75 (0.01)"), context).word == "not refuted"
    assert judge(of_runs([0.7000, 0.7001]), parse("0.95 (0.01)"), context).word == "differs"
    assert judge(of_runs([0.70, 0.72, 0.74]), parse("0.75 (0.01)"), context).word == "agrees"


def test_one_pair_of_runs_neither_agrees_nor_differs():
    """Its interval is that of its architectures: how pairs of runs scatter is not in it."""
    for value in (0.5, 0.75):
        pair = Estimate(value, 2, 0.02, "bootstrap", 0.02, math.inf)
        assert judge(pair, parse("0.755 (0.01)"), Context(3)).word == "unclear"
        assert judge(replace(pair, n=1), parse("0.755 (0.01)"), Context(3)).word in (
            "not refuted",
            "agrees",
            "differs",
        )


def test_a_difference_of_half_the_number_must_have_been_found():
    found = (1.959964 + 0.841621) * 0.1
    for value, word in ((2.02 * found, "agrees"), (1.98 * found, "not refuted")):
        assert judge(known(value + 0.05, 0.1), parse(f"{value:.5f} (0)"), Context()).word == word


def test_settings_are_compared_as_texts_or_numbers():
    assert judge_text("0.0003", "3e-4").word == "match"
    assert judge_text("0.4 to 1", "0.4 to 1.0").word == "match"
    assert judge_text("sgd", "SGD").word == "match"
    assert judge_text("nan", "nan").word == "match"
    for ours, theirs in (("0.0003", "3e-3"), ("Adam", "SGD"), ("0.4 to 1", "0.4"), ("", "0")):
        verdict = judge_text(ours, theirs)
        assert verdict.word == "differs" and repr(theirs) in verdict.reason and repr(ours) in verdict.reason


@pytest.mark.parametrize(
    ("left", "relation", "right", "margin", "word"),
    [
        (exact(2), ">", exact(1), 0, "agrees"),
        (exact(1), ">", exact(1), 0, "contradicts"),  # equal is not above
        (exact(1), ">", exact(2), 0, "contradicts"),
        (exact(1), "<", exact(2), 0, "agrees"),
        (exact(2), "<", exact(1), 0, "contradicts"),
        (exact(2), ">", exact(1), 1, "contradicts"),  # not by more than the margin
        (exact(2.1), ">", exact(1), 1, "agrees"),
        (exact(1), "=", exact(1), 0, "agrees"),
        (exact(1.5), "=", exact(1), 0.5, "agrees"),
        (exact(1.6), "=", exact(1), 0.5, "contradicts"),
        (exact(0.4), "=", exact(1), 0.5, "contradicts"),
        (known(1, 1), ">", exact(-0.97), 0, "agrees"),  # 1.97 > 1.96
        (known(1, 1), ">", exact(-0.95), 0, "unclear"),
        (known(1, 1), ">", exact(2.95), 0, "unclear"),
        (known(1, 1), ">", exact(2.97), 0, "contradicts"),
        (known(1, 1), "<", exact(2.97), 0, "agrees"),
        (known(1, 1), "<", exact(-0.97), 0, "contradicts"),
        (known(1, 0.1), "=", exact(1), 0.2, "agrees"),  # 0.196 inside 0.2
        (known(1, 0.1), "=", exact(1), 0.19, "unclear"),
        (known(1, 0.1), "=", exact(2), 0.81, "unclear"),
        (known(1, 0.1), "=", exact(2), 0.80, "contradicts"),
        (known(1, 0.6), ">", known(-0.7, 0.8), 0, "unclear"),  # the errors of both sides: 1.96 · 1
        (known(1, 0.6), ">", known(-1, 0.8), 0, "agrees"),
        (of_runs([5.0]), ">", exact(1), 0, "unclear"),
        (exact(math.nan), ">", exact(1), 0, "contradicts"),
        (exact(1), "=", exact(math.nan), 9, "contradicts"),
    ],
)
def test_claims_of_order(left, relation, right, margin, word):
    assert verdict([1, -1], [left, right], relation, margin) == word


def trend(points: list[Estimate], direction: str) -> str:
    """As claims.py judges it."""
    return verdict(slope_weights(len(points)), points, direction)


def test_claims_of_trend():
    rising = [exact(v) for v in (1, 1.5, 1.4, 2)]
    assert trend(rising, "rising") == "agrees"
    assert trend(rising, "falling") == "contradicts"
    assert trend([exact(1)] * 3, "rising") == "contradicts"
    noisy = [known(v, 5.0) for v in (1, 2, 3)]
    assert trend(noisy, "rising") == trend(noisy, "falling") == "unclear"
    assert trend([exact(1), exact(math.nan), exact(2)], "rising") == "contradicts"


def test_a_number_agrees_only_where_the_next_printed_one_would_have_been_found():
    """Once 0.74 agreed with what another space's 0.70 would have agreed with, too."""
    ours, printed = of_runs([0.70, 0.71, 0.72]), parse("0.72")
    assert judge(ours, printed, Context(3, others=(0.72, 0.9))).word == "agrees"
    verdict = judge(ours, printed, Context(3, others=(0.72, 0.70)))
    assert verdict.word == "not refuted"
    assert verdict.reason.endswith("would have been found four times in five, 0.02 is at issue")


def test_what_is_found_four_times_in_five_is_found_four_times_in_five():
    rng, found = np.random.default_rng(4), 0
    for _ in range(2000):
        ours, theirs = (of_runs(rng.normal(0, 1, 6)) for _ in range(2))
        shift = 1.796  # of two samples of six at 80 %: (2.228 + 0.879) / √3
        moved = replace(theirs, per_run=tuple(v + shift for v in theirs.per_run))
        found += abs(gap_between(ours, moved).value) > gap_between(ours, theirs).half()
    assert within(found, 2000, 0.78, 0.82)
