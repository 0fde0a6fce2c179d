"""The one query function: nothing has a default, nothing falls back, and what answered is said."""

import bz2
import inspect
import os
import shutil
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest
from bench.made import ARCHS, nb201_rows, value, write_nats, write_nb201_csv

from harness.base.errors import HarnessError
from harness.base.files import ROOT, cache_dir
from harness.bench import catalogue, curve, seconds, sources, truth, truths
from harness.bench.cli import convert, list_sources, query

TABLE = "benchmarks/nb201/nb201.csv.gz"
ROW = ("nb201", ARCHS[1], "cifar10", 200, "val", "mean")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """One made table of all cells, and one cache, for all tests that only ask."""
    folder = tmp_path_factory.mktemp("table")
    return write_nb201_csv(folder / "data" / TABLE, nb201_rows()), folder / "cache"


@pytest.fixture
def table(written, monkeypatch, nothing_carried):
    path, cache = written
    monkeypatch.setenv("NAS_DATA", str(path.parents[2]))
    monkeypatch.setenv("NAS_CACHE", str(cache))
    return path


@pytest.fixture
def own_table(made, written):
    """A copy for tests that change something."""
    (made / TABLE).parent.mkdir(parents=True)
    return Path(shutil.copy(written[0], made / TABLE))


@pytest.mark.parametrize("function", [truth, truths, seconds, curve])
def test_only_the_source_has_a_default(function):
    parameters = inspect.signature(function).parameters.values()
    assert [p.name for p in parameters if p.default is not p.empty] == ["source"]
    assert inspect.signature(function).parameters["source"].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("missing", range(1, 6))
def test_a_call_without_an_argument_fails(table, missing):
    with pytest.raises(TypeError, match="missing .* required positional argument"):
        truth(*ROW[:missing])


def test_the_answer_carries_its_identity(table):
    found = truth(*ROW)
    assert found.architecture == ARCHS[1]
    identity = found.identity
    assert (identity.source, identity.file, identity.space) == ("nb201-table", "nb201.csv.gz", "nb201")
    assert (identity.dataset, identity.epochs, identity.split, identity.trials) == (
        "cifar10",
        200,
        "val",
        "mean",
    )
    assert "x-valid (25k images)" in identity.policy and len(identity.sha256) == 64
    with pytest.raises(FrozenInstanceError):
        identity.source = "other"


def test_strings_lists_arrays_and_rows_give_the_same(table):
    rng = np.random.default_rng(0)
    rows = rng.integers(len(ARCHS), size=500)
    archs = [ARCHS[row] for row in rows]
    expected = [value(row, "cifar10", "test_acc_mean") for row in rows.tolist()]
    for asked in (archs, tuple(archs), np.array(archs), np.array(archs, dtype=object), rows, rows.tolist()):
        np.testing.assert_array_equal(truths("nb201", asked, "cifar10", 200, "test", "mean").values, expected)
    assert truth("nb201", rows[0], "cifar10", 200, "test", "mean").architecture == archs[0]
    assert len(truths("nb201", archs[0], "cifar10", 200, "test", "mean")) == 1
    assert len(truths("nb201", [], "cifar10", 200, "test", "mean")) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nb2001", *ROW[1:]), "unknown search space 'nb2001': did you mean 'nb201'"),
        (("fairnas", *ROW[1:]), "no source holds truths for fairnas"),
        (("nb201", "|nor_conv~0|", *ROW[2:]), "has 1 nodes where 3"),
        (("nb201", ARCHS[1] + " ", *ROW[2:]), "node 3, .* must begin and end with"),
        (("nb201", None, *ROW[2:]), "truth is for one architecture, not NoneType"),
        (("nb201", [ARCHS[1]], *ROW[2:]), "truth is for one architecture, not list: use truths"),
        (("nb201", 15_625, *ROW[2:]), "row 15625 is not in nb201-table: rows are 0 to 15624"),
        (("nb201", -1, *ROW[2:]), "row -1 is not in nb201-table"),
        (("nb201", ARCHS[1], "cifar", 200, "val", "mean"), "no source holds nb201 cifar val accuracy"),
        (("nb201", ARCHS[1], "svhn", 200, "val", "mean"), "cifar10, cifar100, imagenet16-120 only"),
        (
            ("nb201", ARCHS[1], "cifar10", 100, "val", "mean"),
            "no source holds .* at 100 epochs.*val at 12,200 epochs",
        ),
        (("nb201", ARCHS[1], "cifar10", "200", "val", "mean"), "epochs must be a whole number, not '200'"),
        (("nb201", ARCHS[1], "cifar10", 200, "valid", "mean"), "unknown split 'valid': did you mean 'val'"),
        (
            ("nb201", ARCHS[1], "cifar10", 200, "val+test", "mean"),
            "no source holds nb201 cifar10 val.test accuracy",
        ),
        (("nb201", ARCHS[1], "cifar10", 200, "val", 3), "unknown trials 3"),
        (("nb201", ARCHS[1], "cifar10", 200, "val", True), "unknown trials True"),
        (("nb201", ARCHS[1], "cifar10", 200, "val", "0"), "unknown trials '0'"),
        (
            ("nb201", ARCHS[1], "cifar10", 12, "val", 0),
            "no source of .* is here: nb201-nats: unpack NATS-Bench",
        ),
        (
            ("nb101", "1:", "cifar10", 108, "val", "mean"),
            "is here: nb101-tfrecord: download .*or nb101-table: put",
        ),
    ],
)
def test_what_cannot_be_answered_is_one_clear_sentence(table, arguments, message):
    with pytest.raises(HarnessError, match=message) as caught:
        truth(*arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nb201-tabel", "unknown source 'nb201-tabel'"),
        ("nb101-table", "nb101-table holds no truths for nb201: use nb201-nats, nb201-table, nb201-pypi"),
        ("nb201-nats", "nb201-nats is not here: unpack NATS-Bench's .* below NAS_DATA and "),
        ("nb201-pypi", "nb201-pypi is not here: run `python -m harness bench convert nb201-pypi`"),
    ],
)
def test_a_named_source_is_never_replaced(table, source, message):
    with pytest.raises(HarnessError, match=message):
        truth(*ROW, source=source)


def test_other_things_than_strings_and_rows_are_refused(table):
    for wrong in (
        [None],
        [ARCHS[0], 3],
        [["a"]],
        [1.5],
        np.zeros((2, 2), int),
        [b"x"],
        True,
        1.5,
        {1: 2},
        None,
    ):
        with pytest.raises(HarnessError):
            truths("nb201", wrong, "cifar10", 200, "val", "mean")


def test_best_prefers_official_then_compiled_then_registry():
    order = [source.name for source in sources()]
    assert order == [
        *("nb201-nats", "nb201-table", "nb201-pypi"),
        *("nb101-tfrecord", "nb101-table"),
        *("nb301-ensemble", "nb301-onnx", "nb301-reference"),
    ]


def test_best_takes_the_whole_official_source_before_the_table(own_table, made, monkeypatch):
    write_nats(made / "NATS-tss-v1_0-3ffb9-simple", [1, 2])
    small = tuple(replace(s, cells=2) if s.name == "nb201-nats" else s for s in catalogue.SOURCES)
    assert truth(*ROW).identity.source == "nb201-table"
    monkeypatch.setattr(catalogue, "SOURCES", small)
    assert truth(*ROW).identity.source == "nb201-nats"
    assert truth("nb201", ARCHS[1], "cifar10", 200, "test", "one").identity.source == "nb201-table"


def test_a_changed_table_is_seen_at_the_next_query(own_table):
    before = truth(*ROW)
    rows = nb201_rows()
    for k in range(3):
        rows[1][f"cifar10_val_acc_{k}"] = 50.5
    write_nb201_csv(own_table, rows)
    after = truth(*ROW)
    assert after.value == 50.5 != before.value and after.identity.sha256 != before.identity.sha256


def test_list_convert_and_query_of_the_command_line(own_table, capsys):
    rows = {row.name: row for row in list_sources()}
    assert rows["nb201-table"].here and rows["nb201-table"].store == "none"
    assert not rows["nb201-nats"].here and rows["nb301-onnx"].store == "not needed"
    folder = convert("nb201-table")
    assert folder.is_dir() and folder.parent == cache_dir() / "stores"
    assert {row.name: row.store for row in list_sources()}["nb201-table"] == "15625 of 15625 cells"
    found = query(*ROW)
    printed = capsys.readouterr().out
    assert f"{found.value:.4f} %" in printed
    assert "source   nb201-table" in printed and found.identity.sha256 in printed and "x-valid" in printed
    with pytest.raises(HarnessError, match="nb301-onnx is a surrogate and needs no conversion"):
        convert("nb301-onnx")
    with pytest.raises(HarnessError, match="nb201-nats is not here: unpack"):
        convert("nb201-nats")


def test_convert_notices_a_record_that_was_edited_in_place(made):
    folder = write_nats(made / "NATS-tss-v1_0-3ffb9-simple", [1])
    first = convert("nb201-nats")
    status = folder.stat()
    write_nats(folder, [1])
    (folder / "000001.pickle.pbz2").write_bytes((folder / "000001.pickle.pbz2").read_bytes())
    os.utime(folder, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert convert("nb201-nats") == first
    record = folder / "000001.pickle.pbz2"
    record.write_bytes(bz2.compress(bz2.decompress(record.read_bytes()), 9))
    os.utime(folder, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert convert("nb201-nats") != first


def test_answering_needs_no_heavy_import(table):
    truth(*ROW)
    code = (
        "import sys; from harness.bench import truth, sources; from harness.bench.cli import list_sources\n"
        f"truth(*{ROW!r}); list_sources()\n"
        "heavy = {'torch', 'pandas', 'sklearn', 'scipy', 'onnxruntime', 'matplotlib', 'nats_bench'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_a_million_queries_by_name_and_by_row_agree(table):
    rows = np.random.default_rng(0).integers(len(ARCHS), size=1_000_000)
    by_name, by_row = (
        truths("nb201", asked, "cifar10", 200, "val", "mean")
        for asked in ([ARCHS[row] for row in rows], rows)
    )
    np.testing.assert_array_equal(by_name.values, by_row.values)
