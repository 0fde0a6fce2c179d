"""Estimates and their differences, against scipy and against closed forms."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from harness.metrics import resampled
from harness.metrics.ranking import spearman
from harness.metrics.resampled import scatter
from harness.numbers.claim_sides import slope_weights
from harness.numbers.contrast import contrast
from harness.numbers.judge import as_reported, gap_between
from harness.numbers.stats import Estimate, exact, of_population, of_runs, of_units, quantile, welch_df

A = [0.71, 0.74, 0.69, 0.78, 0.73]
B = [0.65, 0.80, 0.61]
VALUES = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20)


def pair(seed: int = 0, size: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=size)
    return truth + rng.normal(size=size), truth


def test_runs_give_mean_sample_sd_and_students_interval():
    ours = of_runs(A)
    low, high = scipy_stats.t.interval(0.95, len(A) - 1, np.mean(A), scipy_stats.sem(A))
    assert (ours.value, ours.n, ours.spread_kind) == (pytest.approx(np.mean(A)), 5, "sample_sd")
    assert ours.spread == pytest.approx(np.std(A, ddof=1))
    assert (ours.lo, ours.hi) == (pytest.approx(low), pytest.approx(high))


def test_a_single_run_has_no_spread_and_an_endless_interval():
    ours = of_runs([0.7])
    assert (ours.value, ours.spread, ours.spread_kind) == (0.7, None, "none")
    assert math.isinf(ours.half_width) and not ours.exact
    assert gap_between(ours, exact(0.5)).half() == math.inf


def test_an_exact_number_has_an_interval_of_its_own_width_zero():
    assert (exact(5).lo, exact(5).hi, exact(5).exact) == (5.0, 5.0, True)


def test_difference_is_welchs_between_his_two_formulas():
    found = contrast([1, -1], [of_runs(A), of_runs(B)])
    welch = scipy_stats.ttest_ind(A, B, equal_var=False)
    assert found.value / found.se == pytest.approx(welch.statistic)
    a, b = np.var(A, ddof=1) / 5, np.var(B, ddof=1) / 3
    second = (a + b) ** 2 / (a**2 / 6 + b**2 / 4) - 2
    assert welch.df < found.df < second
    assert welch_df([(2.0, 3)] * 4) == pytest.approx(15) and welch_df([(2.0, 3)]) == 3


def test_difference_to_an_exact_number_is_the_one_sample_t_test():
    found = gap_between(of_runs(A), exact(0.7))
    low, high = 0.7 + found.value - found.half(), 0.7 + found.value + found.half()
    known = scipy_stats.ttest_1samp(A, 0.7).confidence_interval(0.95)
    assert (low, high) == (pytest.approx(known.low), pytest.approx(known.high))


@given(VALUES, VALUES)
def test_difference_turns_its_sign_when_the_sides_are_swapped(a, b):
    there, back = gap_between(of_runs(a), of_runs(b)), gap_between(of_runs(b), of_runs(a))
    assert there.value == pytest.approx(-back.value)
    assert there.half() == pytest.approx(back.half())


@given(VALUES, st.floats(0.01, 100), st.floats(-100, 100))
def test_the_interval_moves_and_scales_with_the_values(values, factor, shift):
    plain, moved = of_runs(values), of_runs([factor * v + shift for v in values])
    assert moved.value == pytest.approx(factor * plain.value + shift, abs=1e-6)
    assert moved.half_width == pytest.approx(factor * plain.half_width, rel=1e-6, abs=1e-6)


def test_units_and_runs_add_up_as_independent_errors():
    ours = Estimate(0.5, 3, 0.1, "sample_sd", se_runs=0.03, df=2, se_units=0.04, units=50)
    assert ours.se == pytest.approx(0.05)
    df = 0.05**4 / (0.03**4 / 3 + 0.04**4 / 50) - 1
    assert ours.half_width == pytest.approx(scipy_stats.t.ppf(0.975, df) * 0.05)


def test_bootstrap_error_of_a_mean_is_the_textbook_one():
    values = np.random.default_rng(1).normal(size=400)
    ours = of_units(lambda v: float(v.mean()), [(values,)], draws=2000)
    assert ours.se_units == pytest.approx(values.std() / 20, rel=0.05)
    assert ours.se_per_unit == pytest.approx(values.std(), rel=0.05)
    assert (ours.n, ours.units, ours.spread_kind, ours.se_runs) == (1, 400, "bootstrap", 0.0)


def test_bootstrap_is_the_same_every_time_and_for_every_run():
    one, other = of_units(spearman, [pair()], draws=50), of_units(spearman, [pair()], draws=50)
    assert one == other
    twice = of_units(spearman, [pair(), pair()], draws=50)  # the same run twice: nothing new about the units
    assert twice.se_units == pytest.approx(one.se_units, rel=1e-6)
    assert (twice.n, twice.se_runs, twice.spread_kind) == (2, 0.0, "sample_sd")


def test_a_score_that_is_no_number_spoils_only_the_resamples_that_drew_it():
    prediction, truth = pair(size=30)
    prediction[3] = math.nan
    quick = of_units(spearman, [(prediction, truth)], draws=50, many=resampled.spearman)
    plain = of_units(spearman, [(prediction, truth)], draws=50)
    assert quick.se_units == plain.se_units and not math.isnan(plain.se_units)


def test_several_runs_keep_both_sources_of_error():
    (_, truth), noise = pair(), [pair(seed)[0] for seed in (1, 2, 3)]
    runs = [(2 * truth + score, truth) for score in noise]
    ours = of_units(spearman, runs, draws=50)
    values = [spearman(*run) for run in runs]
    assert ours.value == pytest.approx(np.mean(values))
    assert ours.se_runs == pytest.approx(np.std(values, ddof=1) / math.sqrt(3))
    assert ours.df == 2 and ours.se_units > 0
    assert of_units(spearman, runs, draws=50, many=resampled.spearman).draws == pytest.approx(ours.draws)


def test_the_noise_of_a_run_on_an_architecture_is_counted_once():
    """Once it was in the spread of runs and again in that of resamples: intervals a third too wide."""
    rng, truth = np.random.default_rng(5), np.zeros(100)
    runs = [(rng.normal(size=100), truth) for _ in range(3)]  # nothing but that noise
    ours = of_units(lambda v, _: float(v.mean()), runs, draws=2000)
    assert ours.se_units < 0.03 < ours.se_runs < 0.12 or ours.se_runs < 0.03
    every = [(runs[0][0] + shift, truth) for shift in (0.0, 0.1, 0.2)]  # nothing but runs and architectures
    both = of_units(lambda v, _: float(v.mean()), every, draws=2000)
    assert both.se_units == pytest.approx(runs[0][0].std() / 10, rel=0.05)


def test_the_interval_of_a_correlation_stays_inside_one():
    """Once 0.54 of three super-networks had an interval that reached 1.5."""
    ours = replace(of_runs([0.2, 0.54, 0.9]), bounded=True)
    assert -1 < ours.lo < 0 < ours.hi < 1
    z, half = math.atanh(ours.value), ours.half_width / (1 - ours.value**2)
    assert ours.hi == pytest.approx(math.tanh(z + half))
    assert replace(of_runs([1.0, 1.0]), bounded=True).hi == 1


def test_runs_of_different_length_are_refused():
    with pytest.raises(ValueError, match=r"different numbers of architectures: \[199, 200\]"):
        of_units(spearman, [pair(), pair(size=199)])


def test_a_whole_space_is_exact_and_knows_how_samples_scatter():
    space = pair(size=5000)
    ours = of_population(spearman, [space], 200, draws=300)
    assert ours.exact and ours.value == spearman(*space) and ours.half_width == 0
    rng = np.random.default_rng(5)
    picks = [rng.choice(5000, 200, replace=False) for _ in range(300)]
    scatter = np.std([spearman(space[0][p], space[1][p]) for p in picks], ddof=1)
    assert ours.se_per_unit / math.sqrt(200) == pytest.approx(scatter, rel=0.15)


def test_several_runs_on_a_whole_space_are_all_used():
    runs = [pair(seed, 500) for seed in range(3)]
    ours = of_population(spearman, runs, 100, draws=50)
    values = [spearman(*run) for run in runs]
    assert ours.value == pytest.approx(np.mean(values)) and ours.n == 3 and not ours.exact
    assert ours.se_runs == pytest.approx(np.std(values, ddof=1) / math.sqrt(3)) and ours.se_units == 0
    rng = np.random.default_rng(0)
    picks = [rng.choice(500, 100, replace=False) for _ in range(50)]
    means = [np.mean([spearman(run[0][p], run[1][p]) for run in runs]) for p in picks]
    assert ours.se_per_unit == pytest.approx(10 * np.std(means, ddof=1))
    assert of_population(lambda v, _: float(v.mean()), runs, 500, draws=5).se_per_unit == 0
    two = of_population(spearman, runs[:2], 100, draws=5)
    assert (two.n, two.spread_kind, two.df) == (2, "sample_sd", 1)


KINDS = ("sample_sd", "unknown", "population_sd", "sem", "t95")


@pytest.mark.parametrize(
    ("kind", "se", "df"),
    [
        ("sample_sd", 0.1 / math.sqrt(4), 3),
        ("unknown", 0.1 / math.sqrt(4), 3),
        ("population_sd", 0.1 / math.sqrt(3), 3),
        ("sem", 0.1, 3),
        ("t95", 0.1 / scipy_stats.t.ppf(0.975, 3), 3),
    ],
)
def test_what_the_papers_plus_minus_means(kind, se, df):
    theirs = as_reported(of_runs(A), 0.7, 0.1, kind, 4, 0)
    assert (theirs.se_runs, theirs.df) == (pytest.approx(se), df)
    assert not theirs.borrowed and theirs.value == 0.7 and theirs.n == 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_plus_minus_of_two_runs_or_one_has_one_degree_of_freedom(kind):
    assert as_reported(of_runs(A), 0.7, 0.1, kind, 2, 0).df == 1
    once = as_reported(of_runs(A), 0.7, 0.1, kind, 1, 0)
    assert once.df == 1 and once.se_runs == (0.1 if kind != "t95" else pytest.approx(0.1 / quantile(1)))


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_plus_minus_it_means_nothing(kind):
    assert as_reported(of_runs(A), 0.7, None, kind, 4, 0).borrowed
    alone = as_reported(exact(1), 0.7, None, kind, 0, 0)
    assert (alone.se_runs, alone.df, alone.borrowed, alone.n) == (0, math.inf, False, 1)


@given(st.integers(2, 50))
def test_population_and_sample_sd_of_the_same_runs_say_the_same(n):
    values = np.random.default_rng(n).normal(size=n)
    by_sample = as_reported(of_runs(A), 0, values.std(ddof=1), "sample_sd", n, 0)
    by_population = as_reported(of_runs(A), 0, values.std(ddof=0), "population_sd", n, 0)
    assert by_sample.se_runs == pytest.approx(by_population.se_runs)


def test_where_the_paper_prints_no_spread_ours_stands_in_and_is_counted_once():
    ours = of_runs(A)
    theirs = as_reported(ours, 0.7, None, "unknown", 2, 0)
    assert theirs.borrowed and theirs.se_runs == pytest.approx(ours.spread / math.sqrt(2))
    assert gap_between(ours, theirs).half() == pytest.approx(
        quantile(4) * ours.spread * math.sqrt(1 / 5 + 1 / 2)
    )


def test_the_papers_architectures_are_a_sample_too():
    ours = of_units(spearman, [pair()], draws=50)
    theirs = as_reported(ours, 0.7, 0.0, "unknown", 1, 50)
    assert theirs.se_units == pytest.approx(2 * ours.se_units)  # a quarter of the architectures
    assert as_reported(ours, 0.7, 0.0, "unknown", 1, 0).se_units == 0
    assert as_reported(of_runs(A), 0.7, 0.0, "unknown", 1, 50).se_units == 0  # ours knows of no sample
    unprinted = as_reported(ours, 0.7, None, "unknown", 1, 50)  # an error of architectures is none of runs
    assert (unprinted.se_runs, unprinted.borrowed) == (0, False)


def test_runs_whose_resamples_have_no_order_leave_no_warning_behind():
    """Once a check of scores that are all equal warned of a mean of nothing."""
    flat = (np.zeros(4), np.arange(4.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        of_units(spearman, [flat, flat], draws=20)


def test_quantiles():
    assert quantile(math.inf) == pytest.approx(1.959964, abs=1e-6)
    assert quantile(2) == pytest.approx(4.302653, abs=1e-6)
    assert quantile(1) == pytest.approx(12.706205, abs=1e-6)
    for df in (1, 2, 2.37, 17.3, 299.0):  # to the last bit, without loading all of scipy.stats
        assert quantile(df, 0.955) == scipy_stats.t.ppf((1 + 0.955) / 2, df)


def slope(points: list[Estimate]) -> tuple[float, float]:
    """The linear trend over an ordered list."""
    found = contrast(slope_weights(len(points)), points)
    return found.value, found.half()


def test_a_trend_is_the_least_squares_slope():
    values = [3.0, 2.5, 2.6, 1.0, 0.7]
    value, half = slope([exact(v) for v in values])
    assert value == pytest.approx(scipy_stats.linregress(range(5), values).slope) and half == 0


def test_a_trend_carries_the_errors_of_its_points():
    points = [Estimate(v, 9, 1.0, "sample_sd", 0.1, 8) for v in (1.0, 2.0, 3.0)]
    value, half = slope(points)
    se = math.sqrt(0.05**2 + 0.05**2)  # weights −1/2, 0, 1/2
    assert (value, half) == (pytest.approx(1.0), pytest.approx(scipy_stats.t.ppf(0.975, 17) * se))


def test_a_trend_does_not_hide_a_point_without_an_interval():
    one, known = of_runs([1.0]), [Estimate(v, 9, 1.0, "sample_sd", 0.1, 8) for v in (1.0, 3.0)]
    assert slope([known[0], one, known[1]])[1] == slope([known[0], exact(1), known[1]])[1]
    assert slope([one, known[0], known[1]])[1] == math.inf
    assert math.isnan(slope([exact(0), Estimate(1.0, 1, se_units=math.nan), exact(2), exact(3)])[1])


def test_resamples_without_a_value_have_no_scatter_and_no_warning(recwarn):
    """A super-network that predicts the same for all has no rank correlation on any resample."""
    assert math.isnan(scatter([math.nan] * 5)) and math.isnan(scatter([1.0, math.nan]))
    assert scatter([1.0, math.nan, 3.0]) == pytest.approx(math.sqrt(2)) and not recwarn
