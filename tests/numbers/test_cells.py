"""From rows to numbers: every way to reduce, and what is refused rather than guessed."""

import math

import numpy as np
import pytest
import tiny
from scipy import stats as scipy_stats
from sealed import edit_record, seal

from harness.base.errors import HarnessError
from harness.base.layout import Layout
from harness.numbers import cells, rows
from harness.numbers.judge import Context, Verdict
from harness.numbers.stats import exact
from harness.numbers.tables import Tables
from harness.spec import artefacts
from harness.spec.artefacts import Cell

HEAD = tiny.TABLE[: tiny.TABLE.index("cells:")]
SEEDS = [f"mini/noise/strong/low/s{seed}" for seed in range(3)]


@pytest.fixture
def reduced(tmp_path):
    """The only cell of a table that is described by `select`, over three runs that left `tables`."""

    def reduce(select: str, tables=None, metrics=None, runs: int = 3, scale: str = "smoke"):
        table = f"rows: [{{name: r}}]\ncolumns: [{{name: c}}]\ncells: {{experiment: noise, {select}}}\n"
        shared = "seeds: [0, 1, 2]", f"seeds: {list(range(runs))}\n    undefined: [mean, n, a]"
        root = tiny.project(tmp_path, TABLE=HEAD + table, EXPERIMENTS=tiny.EXPERIMENTS.replace(*shared))
        artefact, layout = artefacts.find("mini/table_1", root), Layout(scale, root)
        for seed, run in enumerate(SEEDS[:runs]):
            own = [None if given is None else given[seed] for given in (metrics, tables)]
            seal(layout, run, {"seed": seed, **(own[0] or {})}, own[1])  # equal numbers would be a copy
        stacked, _ = rows.collect(artefact.runs(scale, root), layout)
        (filled,) = cells.fill(artefact, stacked, scale, root)
        return filled

    yield lambda select, *more, **named: reduce(f"method: strong, setting: low, {select}", *more, **named)
    tiny.forget()


def table(**columns) -> dict[str, dict[str, list]]:
    return {"values": {name: list(values) for name, values in columns.items()}}


def test_a_metric_is_averaged_over_seeds(reduced):
    e = reduced("metric: mean", metrics=[{"mean": v} for v in (1.0, 2.0, 6.0)]).estimate
    assert (e.value, e.n, e.spread_kind) == (3, 3, "sample_sd")
    assert e.spread == pytest.approx(math.sqrt(7))


def test_the_lowest_of_the_runs_is_one_number_without_an_interval(reduced):
    e = reduced("metric: mean, reduce: lowest", metrics=[{"mean": v} for v in (4.0, 2.0, 6.0)]).estimate
    assert (e.value, e.n) == (2, 1) and not math.isfinite(e.se)


def test_an_exact_metric_must_be_the_same_in_every_run(reduced):
    assert reduced("metric: n, exact: true", metrics=[{"n": 5}] * 3).estimate.exact
    with pytest.raises(HarnessError, match="one value is wanted and its runs left 2"):
        reduced("metric: n, exact: true", metrics=[{"n": 5}, {"n": 5}, {"n": 6}])


def test_a_metric_that_is_no_number_stays_none(reduced):
    filled = reduced("metric: mean", metrics=[{"mean": v} for v in (1.0, math.nan, 6.0)])
    assert math.isnan(filled.estimate.value)
    assert filled.verdict == Verdict("", "our value is not a number")  # the paper prints none to differ from


@pytest.mark.parametrize(("second", "mean"), [(8.0, 5.5), (math.nan, math.nan)])
def test_a_run_that_left_a_metric_twice_counts_as_their_mean_and_hides_no_nan(tmp_path, second, mean):
    allowed = tiny.EXPERIMENTS.replace("seeds: [0, 1, 2]", "seeds: [0, 1, 2]\n    undefined: [mean]")
    root = tiny.project(tmp_path, EXPERIMENTS=allowed)
    layout = Layout("smoke", root)
    artefact = artefacts.find("mini/table_1", root)
    for spec in artefact.runs("smoke", root):
        seal(layout, spec.id, {"mean": 5.0, "seed": spec.seed}, scores(0))
    twice = [{"name": "mean", "value": value, "unit": ""} for value in (5.0, second)]
    edit_record(layout.run_folder(SEEDS[0]), reseal=True, metrics=twice)
    stacked, _ = rows.collect(artefact.runs("smoke", root), layout)
    cell = artefact.cells[0]
    e = cells.reduce(Tables(stacked), cell, artefacts.runs_of(cell, "mini", "smoke", root), Context(), "here")
    assert e.value == pytest.approx(mean, nan_ok=True)
    tiny.forget()


def test_what_a_drawing_shows_is_the_first_runs(reduced):
    tables = [table(a=[value], word=[word]) for value, word in ((1, "one"), (2, "two"), (6, "three"))]
    found = reduced("table: values, reduce: mean, of: a, drawn: word", tables)
    assert (found.text, found.estimate.value) == ("one", 3)


def test_repeats_of_one_run_stand_for_runs(reduced):
    repeats = [table(a=[1, 2, 3, 6])]
    e = reduced("table: values, reduce: mean, of: a", repeats, runs=1).estimate
    assert (e.value, e.n, e.spread) == (3, 4, pytest.approx(np.std([1, 2, 3, 6], ddof=1)))


def test_repeats_inside_several_runs_are_no_runs(reduced):
    """What a seed decides, all its rows share: only the seeds' means scatter independently."""
    tables = [table(a=[mean - 1, mean, mean + 1]) for mean in (10, 12, 17)]
    e = reduced("table: values, reduce: mean, of: a", tables).estimate
    assert (e.value, e.n, e.spread) == (13, 3, pytest.approx(np.std([10, 12, 17], ddof=1)))


def test_a_mean_over_the_whole_space_is_exact(reduced):
    select = "table: values, reduce: mean, of: a, population: true"
    assert reduced(select, [table(a=[1, 2, 6])], runs=1).estimate.exact
    several = reduced(select, [table(a=[1, 2, 6]), table(a=[1, 2, 9]), table(a=[1, 2, 6])]).estimate
    assert several.value == pytest.approx(10 / 3) and several.n == 3 and not several.exact


def test_a_share_of_true_and_false(reduced):
    e = reduced("table: values, reduce: mean, of: a", [table(a=[True, False, True, True])], runs=1).estimate
    assert e.value == 0.75
    among_texts = [table(a=["True", "False", "never"], kind=["x", "x", "y"])]
    e = reduced("table: values, reduce: mean, of: a, only: {kind: x}", among_texts, runs=1).estimate
    assert e.value == 0.5


def test_texts_are_never_taken_for_numbers(reduced):
    for column in ([1.5, None, 2.5], [1.5, "x", 2.5]):
        for way in ("mean", "total", "quantile, q: 0.5"):
            with pytest.raises(HarnessError, match="r / c: its runs left '.?' where a number is wanted"):
                reduced(f"table: values, reduce: {way}, of: a", [table(a=column)], runs=1)


def test_a_total_is_one_runs_total(reduced):
    e = reduced("table: values, reduce: total, of: a", [table(a=[1, 2, 3])] * 3).estimate
    assert (e.value, e.exact) == (6, True)
    with pytest.raises(HarnessError, match="one value is wanted and its runs left 2"):
        reduced("table: values, reduce: total, of: a", [table(a=[1, 2]), table(a=[1, 2]), table(a=[1, 3])])


def test_a_lookup_needs_one_value(reduced):
    tables = [table(key=["a", "b"], value=[3, 4])] * 3
    select = "table: values, reduce: lookup, of: value"
    assert reduced(f"{select}, only: {{key: b}}", tables).estimate.value == 4
    with pytest.raises(HarnessError, match="narrow it with 'only'"):
        reduced(select, tables)
    with pytest.raises(HarnessError, match="its runs left nothing for {'key': 'c'}"):
        reduced(f"{select}, only: {{key: c}}", tables)
    with pytest.raises(HarnessError, match="no column 'kay' to choose 'c' by"):
        reduced(f"{select}, only: {{kay: c}}", tables)


def test_a_setting_is_a_text(reduced):
    filled = reduced("table: values, reduce: text, of: a", [table(a=["0.1 to 1"])] * 3)
    assert (filled.text, filled.estimate) == ("0.1 to 1", None)


def scores(seed: int, n: int = 40) -> dict[str, dict[str, list]]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n).round(6)
    return table(p=(truth + rng.normal(size=n)).round(6), t=truth, g=rng.normal(size=n).round(6))


def test_a_correlation_of_one_run_has_the_bootstraps_error(reduced):
    made = scores(0)
    filled = reduced("table: values, reduce: kendall, of: p, against: t", [made], runs=1)
    known = scipy_stats.kendalltau(made["values"]["p"], made["values"]["t"]).statistic
    assert filled.estimate.value == pytest.approx(known)
    assert (filled.estimate.units, filled.estimate.n, filled.estimate.spread_kind) == (40, 1, "bootstrap")


def test_a_correlation_of_several_runs_has_both_errors(reduced):
    made = [scores(seed) for seed in range(3)]
    e = reduced("table: values, reduce: spearman, of: p, against: t", made).estimate
    known = [scipy_stats.spearmanr(m["values"]["p"], m["values"]["t"]).statistic for m in made]
    assert e.value == pytest.approx(np.mean(known)) and e.se_units > 0
    assert e.spread == pytest.approx(np.std(known, ddof=1))


def test_a_run_says_itself_whether_it_saw_the_whole_space(reduced):
    select = "table: values, reduce: spearman, of: p, against: t, population: whole"
    assert reduced(select, [scores(0)], [{"whole": 1}], runs=1).estimate.exact
    assert not reduced(select, [scores(0)], [{"whole": 0}], runs=1).estimate.exact
    assert not reduced(select, [scores(0)], [{"other": 1}], runs=1).estimate.exact


@pytest.mark.parametrize(
    ("way", "key"),
    [
        ("mean", "of"),
        ("spearman, of: p", "against"),
        ("partial_spearman, of: p, against: t", "given"),
        ("top_k, of: p, against: t", "k"),
        ("improvement, of: p, against: t", "k"),
        ("quantile, of: p", "q"),
        ("lookup", "of"),
    ],
)
def test_half_a_description_is_refused(reduced, way, key):
    with pytest.raises(HarnessError, match=f"mini/table_1: r / c: .* needs the key '{key}'"):
        reduced(f"table: values, reduce: {way}", [scores(0)], runs=1)


@pytest.mark.parametrize(("way", "key"), [("quantile, q: 0.5", "against"), ("spearman, given: z", "given")])
def test_a_quantile_that_inherits_against_is_refused_in_a_sentence(reduced, way, key):
    with pytest.raises(HarnessError, match=f"takes no '{key}': name it in the lines that need it"):
        reduced(f"table: values, against: t, of: p, reduce: {way}", [table(p=[1, 2], t=[1, 2], z=[1, 2])] * 3)


def test_tables_and_columns_that_are_not_there_are_named(reduced):
    with pytest.raises(HarnessError, match="left no table 'vals'; they left metrics, values"):
        reduced("table: vals, reduce: mean, of: p", [scores(0)], runs=1)
    with pytest.raises(HarnessError, match="table 'values' has no column 'q'; it has .*p, t, g"):
        reduced("table: values, reduce: mean, of: q", [scores(0)], runs=1)


@pytest.mark.parametrize("way", ["top_k", "improvement, normalised: false"])
def test_k_may_be_a_share_of_the_architectures(reduced, way):
    """The best ten of 200 is the best 5 %; of 41 that is three, rounded up."""
    for n, share, k in ((40, 0.05, 2), (41, 0.05, 3), (40, 0.001, 1), (50, 0.07 / 0.5, 7), (40, 0.99, 40)):
        select = f"table: values, reduce: {way}, of: p, against: t"
        asked, plain = (reduced(f"{select}, k: {kept}", [scores(0, n)], runs=1) for kept in (share, k))
        assert asked.estimate == plain.estimate


@pytest.mark.parametrize("k", ["0", "-1", "1.5", "1.0", "-0.1", "true"])
def test_any_other_k_is_refused_with_its_line(reduced, k):
    with pytest.raises(
        HarnessError, match=r"table_1\.yaml, line \d+: .*(share of them below 1|is not of type)"
    ):
        reduced(f"table: values, reduce: top_k, of: p, against: t, k: {k}", [scores(0)], runs=1)


def test_more_than_all_architectures_cannot_be_chosen(reduced):
    with pytest.raises(HarnessError, match="r / c: k: 41 of 40 architectures: write a share below 1 instead"):
        reduced("table: values, reduce: top_k, of: p, against: t, k: 41", [scores(0)], runs=1)


def named(seed: int, order: slice = slice(None), truth: float = 0.0) -> dict[str, dict[str, list]]:
    """Scores of the same ten architectures in every run, in some order."""
    rng = np.random.default_rng(seed)
    columns = {"arch": np.arange(10), "p": rng.normal(size=10), "t": np.arange(10) ** 2 + truth}
    return table(**{name: column[order] for name, column in columns.items()})


def test_runs_are_aligned_by_what_tells_architectures_apart(reduced):
    select = "table: values, reduce: spearman, of: p, against: t"
    forth = [named(0), named(1), named(2)]
    back = [named(0), named(1, slice(None, None, -1)), named(2)]
    paired = f"{select}, paired_by: [arch, t]"
    assert reduced(paired, back).estimate == reduced(paired, forth).estimate
    assert reduced(paired, forth).estimate.architectures and not reduced(select, forth).estimate.architectures
    assert reduced(select, back).estimate.se_units != reduced(select, forth).estimate.se_units
    assert (reduced(paired, forth).estimate.draws == reduced(select, forth).estimate.draws).all()


def test_runs_of_other_architectures_are_refused(reduced):
    paired = "table: values, reduce: spearman, of: p, against: t, paired_by: [arch, t]"
    with pytest.raises(HarnessError, match=r"r / c: its runs rank different architectures \(by arch, t\)"):
        reduced(paired, [named(0), named(1, truth=0.5), named(2)])
    with pytest.raises(HarnessError, match="no column 'name' to tell architectures apart by"):
        reduced(paired.replace("[arch", "[name"), [named(0)], runs=1)


def test_a_scaled_down_number_is_shown_and_not_judged(tmp_path):
    changed = tiny.TABLE.replace("comparable_from: smoke", "comparable_from: cpu")
    root = tiny.project(tmp_path, TABLE=changed)
    layout = tiny.run_all(root)
    artefact = artefacts.find("mini/table_1", root)
    stacked, _ = rows.collect(artefact.runs("smoke", root), layout)
    filled = {(f.row, f.column): f for f in cells.fill(artefact, stacked, "smoke", root)}
    assert filled["high", "strong"].verdict.word == "not comparable"
    assert filled["high", "strong"].estimate.n == 3
    assert filled["high", "correlation"].verdict.word == ""
    tiny.forget()


@pytest.mark.parametrize(
    ("ours", "gives", "word"),
    [(exact(12.3), "12", "paper issue"), (exact(12.3), "12.4", "differs"), (exact(12.3), None, "differs")]
    + [("SGD", "sgd", "paper issue"), ("SGD", "Adam", "differs"), ("SGD", None, "differs")],
)
def test_a_deviation_excuses_only_what_it_results_in(ours, gives, word):
    select = {"paper_issue": "D1"} | ({"gives": gives} if gives else {})
    cell = Cell("r", "c", select, "13")
    assert cells._excused(cell, ours, Verdict("differs", "it is 13"), "here").word == word
    assert cells._excused(cell, ours, Verdict("agrees"), "here").word == "agrees"


def test_a_number_is_of_the_runs_that_left_such_rows(reduced):
    """Bins into which one of three runs put nothing once named all three as theirs, with n = 2."""
    tables = [
        table(bin=[1, 2], share=[0.5, 0.5]),
        table(bin=[1, 2], share=[0.8, 0.2]),
        table(bin=[1], share=[1]),
    ]
    found = reduced("table: values, only: {bin: 2}, of: share, missing: nothing fell into it", tables)
    assert found.runs == tuple(SEEDS[:2])
    assert (found.estimate.n, found.estimate.value) == (2, pytest.approx(0.35))
    tables = [table(bin=[1, 2], name=["a", "b"]), table(bin=[1], name=["a"]), table(bin=[2], name=["b"])]
    assert reduced("table: values, only: {bin: 2}, of: name, reduce: text", tables).runs == (
        SEEDS[0],
        SEEDS[2],
    )
