"""Cells over pairs of runs, of one seed, of fewer architectures than wanted; claims that pair by seed."""

import numpy as np
import pytest
import tiny
from sealed import seal

from harness.base.errors import HarnessError
from harness.base.layout import Layout
from harness.metrics import resampled
from harness.metrics.consistency import between_pairs
from harness.metrics.ranking import kendall, pearson
from harness.numbers import cells, claims, rows
from harness.numbers.cells import Filled
from harness.numbers.judge import Verdict
from harness.numbers.run_pairs import of_pairs
from harness.numbers.stats import of_runs, of_units
from harness.spec import artefacts

HEAD = tiny.TABLE[: tiny.TABLE.index("cells:")]
RNG = np.random.default_rng(0)
TRUTH = RNG.normal(size=40)
RUNS = [TRUTH + RNG.normal(size=40) for _ in range(3)]


@pytest.fixture
def reduced(tmp_path):
    def reduce(select: str, predictions: list[np.ndarray], names: list[list[int]] | None = None) -> Filled:
        table = f"rows: [{{name: r}}]\ncolumns: [{{name: c}}]\ncells: {{experiment: noise, {select}}}\n"
        seeds = "seeds: [0, 1, 2]", f"seeds: {list(range(len(predictions)))}"
        root = tiny.project(tmp_path, TABLE=HEAD + table, EXPERIMENTS=tiny.EXPERIMENTS.replace(*seeds))
        artefact, layout = artefacts.find("mini/table_1", root), Layout("smoke", root)
        for seed, prediction in enumerate(predictions):
            arch = list(range(len(prediction))) if names is None else names[seed]
            columns = {"arch": arch, "prediction": prediction.tolist(), "truth": TRUTH[: len(arch)].tolist()}
            seal(layout, f"mini/noise/strong/low/s{seed}", {"mean": float(seed)}, {"values": columns})
        stacked, _ = rows.collect(artefact.runs("smoke", root), layout)
        (filled,) = cells.fill(artefact, stacked, "smoke", root)
        return filled

    common = "method: strong, setting: low"
    yield lambda select, *more: reduce(f"{common}, {select}", *more)
    tiny.forget()


PAIRS = "table: values, of: prediction, reduce: kendall, pairs: true, paired_by: [arch]"


def test_a_statistic_between_runs_is_averaged_over_their_pairs(reduced):
    found = reduced(PAIRS, RUNS)
    pairs = [kendall(RUNS[a], RUNS[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    e = found.estimate
    assert e.value == pytest.approx(np.mean(pairs)) and (e.n, e.units) == (3, 40)
    assert e.spread == pytest.approx(np.std(pairs, ddof=1)) and e.spread_kind == "sample_sd"
    assert e.se_runs > 0 and e.se_units > 0 and e.df == 2 and len(e.per_run) == 3 and e.architectures


def test_the_rows_of_two_runs_are_matched_by_name(reduced):
    turned = np.arange(40)[::-1]
    found = reduced(PAIRS, [RUNS[0], RUNS[1][turned]], [list(range(40)), turned.tolist()])
    assert found.estimate.value == pytest.approx(kendall(RUNS[0], RUNS[1]))
    with pytest.raises(HarnessError, match="different architectures"):
        reduced(PAIRS, RUNS[:2], [list(range(40)), list(range(1, 41))])


def test_two_runs_are_one_pair_without_an_interval_of_runs(reduced):
    e = reduced(PAIRS, RUNS[:2]).estimate
    assert e.spread_kind == "bootstrap" and e.se_runs == 0 and e.se_units > 0
    alone = reduced(PAIRS, RUNS[:1])
    assert alone.estimate is None and alone.verdict.word == "not run"


def test_resamples_of_pairs_all_at_once_are_those_one_by_one():
    runs = [np.asarray(run, float) for run in RUNS]
    plain = of_units(lambda *columns: np.mean(between_pairs(kendall, columns)), [tuple(runs)])
    quick = of_pairs(kendall, resampled.kendall, runs)
    assert quick.value == plain.value and quick.se_units == pytest.approx(plain.se_units, rel=1e-10)


def test_the_interval_of_a_perfect_agreement_is_nothing():
    e = of_pairs(pearson, resampled.pearson, [TRUTH] * 3)
    assert e.value == pytest.approx(1) and e.half_width == pytest.approx(0, abs=1e-9)


def test_one_seed_may_be_shown_alone(reduced):
    found = reduced("seed: 1, metric: mean", RUNS)
    assert found.estimate.value == 1 and found.runs == ("mini/noise/strong/low/s1",)
    absent = reduced("seed: 7, metric: mean", RUNS)
    assert absent.estimate is None and absent.verdict.word == "not run"


def test_fewer_architectures_than_shall_remain_are_missing_where_the_cell_says_so(reduced):
    select = "table: values, of: prediction, against: truth, reduce: top_k"
    assert reduced(f"{select}, k: 40, missing: there are fewer of them", RUNS).estimate is not None
    gone = reduced(f"{select}, k: 41, missing: there are fewer of them", RUNS)
    assert gone.estimate is None and gone.verdict == Verdict("not run", "there are fewer of them")
    assert reduced(f"{select}, k: 31, missing: too few of them", [*RUNS[:2], RUNS[2][:30]]).estimate is None
    assert reduced(f"{select}, k: 0.1, missing: there are fewer of them", RUNS).estimate is not None
    with pytest.raises(HarnessError, match="k: 41 of 40"):
        reduced(f"{select}, k: 41", RUNS)


@pytest.mark.parametrize(("by_seed", "word"), [(True, "agrees"), (False, "unclear")])
def test_two_methods_whose_seeds_share_streams_are_compared_seed_by_seed(by_seed, word):
    first, second = of_runs([0.70, 0.80, 0.90]), of_runs([0.71, 0.811, 0.909])
    runs = tuple(f"p/e/m/s/s{seed}" for seed in (2, 0, 1))
    filled = [
        Filled("plain", "c", first, "", None, Verdict(""), runs),
        Filled("other", "c", second, "", None, Verdict(""), tuple(r.replace("/m/", "/n/") for r in runs)),
    ]
    of_its_runs = {(f.row, f.column): claims._of_its_runs(f, by_seed) for f in filled}
    test = {"left": ["other", "c"], "relation": ">", "right": ["plain", "c"]}
    claim = {"id": "it", "text": "It is more.", "where": "here", "tests": [test]}
    assert claims.judge_one(claim, of_its_runs, "smoke").verdict == word


def test_a_number_keeps_the_seeds_of_its_runs():
    """Five super-networks of one method and three of another: a seed is shared within a setting."""
    runs = tuple(f"p/e/m/s/s{i}" for i in range(5))
    for n in (2, 3, 5):
        found = Filled("r", "c", of_runs([0.7, 0.8, 0.9, 0.8, 0.7][:n]), "", None, Verdict(""), runs[:n])
        assert claims._of_its_runs(found, True).runs == tuple(f"s/s{i}" for i in range(n))
