"""Simulation: how often the verdict statistics cry `differs` when there is no difference, and when there is.

The policy is two-sided at 95 %, so a false alarm has a chance of 5 %. Every rate below is of a fixed seed;
`within` allows what 5 % could give by chance with one in a thousand, plus what the approximations are known
to cost: Welch's degrees of freedom at 2 or 3 runs against more (up to 7 %), a bootstrap error taken as known
(up to 6.5 %). A rate of 10 % is refused everywhere.
"""

import math
from collections import Counter

import numpy as np
import pytest
from support import verdict, within

from harness.metrics import resampled
from harness.metrics.ranking import spearman
from harness.numbers.judge import Context, Verdict, as_reported, gap_between, judge, parse
from harness.numbers.stats import exact, of_population, of_runs, of_units

NOMINAL = 0.05
REPEATS = 3000


def seeds(rng, ours: int, theirs: int, sd: float, paper_sd: float, digits: int, spread=True, shift=0.0):
    """Verdict on our runs beside a paper's, both drawn around 0.7; `digits` as the paper prints them."""
    mine, printed = rng.normal(0.7, sd, ours), rng.normal(0.7 + shift, paper_sd, theirs)
    text = f"{printed.mean():.{digits}f}"
    if spread:
        text += f" ({printed.std(ddof=1):.{digits}f})"
    return judge(of_runs(mine), parse(text), Context(n=theirs, spread_kind="sample_sd"))


def rate(draw) -> int:
    return sum(draw().word == "differs" for _ in range(REPEATS))


@pytest.mark.parametrize("n", [3, 5, 10])
def test_seeds(n):
    rng = np.random.default_rng(n)
    assert within(rate(lambda: seeds(rng, n, n, 0.01, 0.01, 12)), REPEATS, 0.03, NOMINAL)


@pytest.mark.parametrize(
    ("ours", "theirs", "sd", "paper_sd"),
    [(3, 10, 0.01, 0.01), (10, 3, 0.01, 0.01), (3, 10, 0.03, 0.01), (10, 3, 0.01, 0.03), (5, 5, 0.01, 0.03)],
)
def test_seeds_of_unequal_number_and_spread(ours, theirs, sd, paper_sd):
    rng = np.random.default_rng(ours * 100 + theirs)
    assert within(rate(lambda: seeds(rng, ours, theirs, sd, paper_sd, 12)), REPEATS, 0.04, 0.07)


@pytest.mark.parametrize(("ours", "theirs"), [(3, 1), (3, 3), (5, 3), (10, 10), (10, 1)])
def test_seeds_where_the_paper_prints_no_spread(ours, theirs):
    """One spread stands in for both: exactly Student's t, if the paper's runs scatter as ours do."""
    rng = np.random.default_rng(ours * 100 + theirs)
    hits = rate(lambda: seeds(rng, ours, theirs, 0.01, 0.01, 12, spread=False))
    assert within(hits, REPEATS, NOMINAL, NOMINAL)


@pytest.mark.parametrize("spread", [True, False])
@pytest.mark.parametrize(("sd", "paper_sd"), [(0.004, 0.004), (0.01, 0.01), (0.03, 0.012)])
def test_rounding_as_printed_raises_no_alarm(sd, paper_sd, spread):
    rng = np.random.default_rng(7)
    paper_sd = paper_sd if spread else sd
    assert within(rate(lambda: seeds(rng, 5, 5, sd, paper_sd, 2, spread)), REPEATS, 0, NOMINAL)


def test_two_runs_are_too_few_for_an_agreement_and_not_alarmed_more_often():
    rng = np.random.default_rng(8)
    words = Counter(seeds(rng, 2, 5, 0.01, 0.01, 12).word for _ in range(REPEATS))
    assert words.keys() <= {"differs", "not refuted"}
    assert within(words["differs"], REPEATS, 0, 0.07)


@pytest.mark.parametrize(("n", "power"), [(3, 0.70), (5, 0.90), (10, 0.95)])
def test_a_difference_of_four_standard_errors_is_found(n, power):
    """With three runs Student's t itself finds fewer: its quantiles at 2 to 4 degrees are 4.3 to 2.8."""
    rng = np.random.default_rng(n)
    for sign in (1, -1):
        shift = sign * 4 * 0.01 * math.sqrt(2 / n)
        assert rate(lambda shift=shift: seeds(rng, n, n, 0.01, 0.01, 12, shift=shift)) / REPEATS > power


def architectures(rng, n: int, rho: float, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Scores and truths of a random sample of one population of architectures."""
    score, noise = rng.normal(size=(2, n))
    truth = rho * score + math.sqrt(1 - rho**2) * noise
    if kind == "failures":  # a tenth does not train at all, as in NAS-Bench-201
        truth = np.where(rng.random(n) < 0.1, -5 + 0.01 * noise, truth)
    if kind == "ties":
        score = np.round(2 * score)
    return score, truth


def correlation(rng, rho: float, kind: str, theirs: int = 200, paper_rho: float | None = None) -> Verdict:
    ours = of_units(spearman, [architectures(rng, 200, rho, kind)], draws=80, many=resampled.spearman)
    printed = spearman(*architectures(rng, theirs, rho if paper_rho is None else paper_rho, kind))
    return judge(ours, parse(f"{printed:.9f} (0.00)"), Context(units=theirs))


@pytest.mark.parametrize(
    ("rho", "kind", "theirs"),
    [(0.8, "normal", 200), (0.3, "normal", 200), (0.8, "failures", 200), (0.8, "ties", 50)],
)
def test_spearman_of_two_samples_of_one_population(rho, kind, theirs):
    rng = np.random.default_rng(11)
    hits = sum(correlation(rng, rho, kind, theirs).word == "differs" for _ in range(400))
    assert within(hits, 400, 0.04, 0.065)


def test_a_correlation_four_standard_errors_away_is_found():
    rng = np.random.default_rng(12)
    values = [spearman(*architectures(rng, 200, 0.6, "normal")) for _ in range(400)]
    shift = 4 * math.sqrt(2) * np.std(values)
    found = sum(correlation(rng, 0.6, "normal", 200, 0.6 - shift).word == "differs" for _ in range(100))
    assert found > 90


def test_several_runs_on_one_sample_of_architectures():
    """Super-networks (seeds) that score the same architectures: both sources of noise are in the interval."""
    rng = np.random.default_rng(13)

    def runs() -> list[tuple[np.ndarray, np.ndarray]]:
        score, truth = architectures(rng, 100, 0.8, "normal")
        return [(score + rng.normal(0.0, abs(rng.normal(0.5, 0.2)), 100), truth) for _ in range(3)]

    def verdict() -> str:
        values = [spearman(*run) for run in runs()]
        text = f"{np.mean(values):.9f} ({np.std(values, ddof=1):.9f})"
        context = Context(n=3, units=100, spread_kind="sample_sd")
        return judge(of_units(spearman, runs(), draws=40, many=resampled.spearman), parse(text), context).word

    hits = sum(verdict() == "differs" for _ in range(300))
    assert within(hits, 300, 0, 0.065)


@pytest.mark.parametrize("kind", ["normal", "failures"])
def test_a_paper_that_sampled_the_space_that_we_know_whole(kind):
    rng = np.random.default_rng(14)
    score, truth = architectures(rng, 15_625, 0.8, kind)
    ours = of_population(spearman, [(score, truth)], 200, draws=500)
    hits = 0
    for _ in range(1500):
        pick = rng.choice(15_625, 200, replace=False)
        printed = f"{spearman(score[pick], truth[pick]):.9f} (0.00)"
        hits += judge(ours, parse(printed), Context(units=200)).word == "differs"
    assert within(hits, 1500, 0.04, 0.06)  # the scatter itself is known to 3 % only


def test_repeated_searches_beside_five_hundred_of_the_papers():
    """Table 4.6's case: many repeats on both sides, skewed, printed with two decimals."""
    rng = np.random.default_rng(15)

    def verdict() -> str:
        mine, printed = 94.4 - rng.gamma(2.0, 0.2, (2, 500))
        text = f"{printed.mean():.2f} ({printed.std(ddof=1):.2f})"
        return judge(of_runs(mine), parse(text), Context(n=500)).word

    assert within(sum(verdict() == "differs" for _ in range(2000)), 2000, 0, NOMINAL)


def test_claims_of_order_between_equals_are_rarely_decided():
    rng = np.random.default_rng(16)
    words = Counter()
    for _ in range(REPEATS):
        left, right = (of_runs(rng.normal(0.7, 0.01, 5)) for _ in range(2))
        words[verdict([1, -1], [left, right])] += 1
    for word in ("agrees", "contradicts"):
        assert within(words[word], REPEATS, 0.015, 0.025)


def test_the_interval_of_a_difference_covers_the_truth():
    rng = np.random.default_rng(17)
    for borrowed in (False, True):
        hits = 0
        for _ in range(REPEATS):
            ours, theirs = of_runs(rng.normal(1.0, 0.2, 5)), rng.normal(0.4, 0.2, 5)
            spread = None if borrowed else float(theirs.std(ddof=1))
            other = as_reported(ours, float(theirs.mean()), spread, "sample_sd", 5, 0)
            found = gap_between(ours, other)
            hits += abs(found.value - 0.6) > found.half()
        assert within(hits, REPEATS, 0.035, NOMINAL)


def test_this_simulation_can_fail():
    """An interval too narrow by a fifth would be noticed."""
    rng = np.random.default_rng(18)
    hits = 0
    for _ in range(REPEATS):
        found = gap_between(of_runs(rng.normal(size=10)), of_runs(rng.normal(size=10)))
        hits += abs(found.value) > 0.8 * found.half()
    assert not within(hits, REPEATS, 0.03, NOMINAL)
    assert not within(hits, REPEATS, 0.04, 0.07)
    assert exact(0).half_width == 0
