"""NAS-Bench-101: the official layout on made files, then the real files against each other."""

import base64
import json
import struct

import numpy as np
import pytest
from bench.made import evaluation, nb101_row, tfrecord, varint
from support import real_data

from harness import spaces
from harness.base.errors import HarnessError
from harness.bench import catalogue, nb101_tfrecord, truth, truths
from harness.bench import query as queries
from harness.bench import tfrecord as tfrecords
from harness.spaces import nb101

CELLS = ["1:", "111:conv3x3-bn-relu", "101:maxpool3x3", "110101:conv1x1-bn-relu,conv3x3-bn-relu"]


def official(arch):
    matrix, ops = nb101.decode(arch)
    return "".join(str(bit) for row in matrix for bit in row), ",".join(ops)


def metrics(cell, epochs, repeat):
    base = (cell * 37 + epochs * 5 + repeat) % 83 / 100
    return base, base + 0.01, 100.0 * epochs + repeat


def write(path, cells=CELLS, budgets=(4, 12, 36, 108), repeats=3):
    rows = [
        nb101_row(nb101.SPACE.canonical(arch), epochs, *official(arch), *metrics(c, epochs, repeat))
        for repeat in range(repeats)
        for epochs in budgets
        for c, arch in enumerate(cells)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tfrecord(rows))
    return rows


@pytest.fixture
def tfrecord_file(made):
    path = made / "benchmarks/nb101/nasbench_full.tfrecord"
    write(path)
    return path


def ask(archs, epochs=108, split="test", trials="mean", space="nb101", source="nb101-tfrecord"):
    return truths(space, archs, "cifar10", epochs, split, trials, source=source)


@pytest.mark.parametrize("epochs", [4, 12, 36, 108])
@pytest.mark.parametrize(("split", "place"), [("val", 0), ("test", 1)])
def test_every_column_is_the_final_evaluation_of_its_repeat(tfrecord_file, epochs, split, place):
    expected = np.array([[100 * metrics(c, epochs, r)[place] for r in range(3)] for c in range(len(CELLS))])
    for repeat in range(3):
        np.testing.assert_allclose(ask(CELLS, epochs, split, repeat).values, expected[:, repeat], rtol=1e-12)
    np.testing.assert_allclose(ask(CELLS, epochs, split, "mean").values, expected.mean(axis=1), rtol=1e-12)


def test_hashes_cells_and_unpruned_cells_find_the_same_row(tfrecord_file):
    expected = ask(CELLS).values
    hashes = [nb101.SPACE.canonical(arch) for arch in CELLS]
    np.testing.assert_array_equal(ask(hashes).values, expected)
    np.testing.assert_array_equal(ask([hashes[1], CELLS[2]]).values, expected[[1, 2]])
    unpruned = ["100011:maxpool3x3,conv3x3-bn-relu", "001000:conv3x3-bn-relu,maxpool3x3"]  # dead ends
    np.testing.assert_array_equal(ask(unpruned).values, expected[[2, 0]])
    with pytest.raises(
        HarnessError, match="does not hold the nb101 architecture 101:conv1x1-bn-relu: it has 4"
    ):
        ask(["101:conv1x1-bn-relu"])


def test_seconds_are_the_mean_over_repeats(tfrecord_file):
    found = queries.seconds("nb101", CELLS, "cifar10", 36, source="nb101-tfrecord")
    np.testing.assert_allclose(found.values, 3601.0)
    assert found.identity.split == "train" and "seconds" in found.identity.policy


def test_identity_says_which_file_and_which_number(tfrecord_file):
    identity = ask(CELLS[:1], 12, "val", 2).identity
    assert identity.source == "nb101-tfrecord" and identity.file == "nasbench_full.tfrecord"
    assert identity.version == "official tfrecord, 4 cells, 48 records"
    assert len(identity.sha256) == 64 and "repeat 2 in the order of the file" in identity.policy


def test_a_partial_file_never_answers_unasked_and_refuses_row_numbers(tfrecord_file):
    with pytest.raises(HarnessError, match="nb101-tfrecord has only 4 of 423624 cells here"):
        truth("nb101", CELLS[0], "cifar10", 36, "test", "mean")
    with pytest.raises(HarnessError, match="has 4 of 423624 cells: ask it with architecture strings"):
        ask([0, 1])


def test_a_budget_or_repeat_that_is_not_held_is_an_error(made):
    write(made / "nasbench_only108.tfrecord", budgets=(108,), repeats=2)
    np.testing.assert_allclose(ask(CELLS[:1], 108, "val", 1).values, 100 * metrics(0, 108, 1)[0])
    with pytest.raises(HarnessError, match=r"no cifar10 val accuracy at 36 epochs \(mean\) for 1 of the 1"):
        ask(CELLS[:1], 36, "val")
    with pytest.raises(HarnessError, match=r"at 108 epochs \(trial 2\)"):
        ask(CELLS[:1], 108, "val", 2)


def test_cells_that_are_none_are_named_by_their_defect(tfrecord_file):
    with pytest.raises(HarnessError, match="no ':' between"):
        ask(["nonsense"])
    with pytest.raises(
        HarnessError, match="does not hold the nb101 architecture 00000000000000000000000000000000"
    ):
        ask([nb101.SPACE.canonical(CELLS[0]), "0" * 32])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row: b"{}", "record 5 is no NAS-Bench-101 row"),
        (lambda row: row.replace(b", 12, ", b", 13, "), "record 5 is no NAS-Bench-101 row"),
        (lambda row: row.replace(b", 12, ", b", 36, "), "the last evaluation is of epoch 12"),
        (lambda row: row[:-30] + b'"]', "record 5 is no NAS-Bench-101 row"),
        (lambda row: b'["xyz"' + row[row.index(b",") :], "record 5 is no NAS-Bench-101 row"),
    ],
)
def test_a_damaged_row_is_named(made, change, message):
    path = made / "nasbench_full.tfrecord"
    rows = write(path)
    rows[5] = change(rows[5])
    path.write_bytes(tfrecord(rows))
    with pytest.raises(HarnessError, match=message):
        ask(CELLS[:1])


def test_a_fourth_repeat_is_refused(made):
    path = made / "nasbench_full.tfrecord"
    rows = write(path)
    path.write_bytes(tfrecord([*rows, rows[0]]))
    with pytest.raises(HarnessError, match="record 48 is a fourth repeat"):
        ask(CELLS[:1])


def test_protobuf_reader_skips_what_it_does_not_know():
    known = evaluation(4.0, 9.0, 0.1, 0.2, 0.3)
    more = b"\x70" + varint(300) + b"\x85\x01" + struct.pack("<f", 1.0) + b"\x82\x02" + varint(3) + b"abc"
    message = b"".join(b"\x0a" + varint(len(one)) + one for one in (known, known, known + more)) + more
    assert nb101_tfrecord.final_evaluation(message, 4) == (0.2, 0.3, 9.0)
    for length in range(1, len(message)):
        if length not in (len(message) - len(more), *range(len(message) - 10, len(message))):
            with pytest.raises((ValueError, IndexError, struct.error, KeyError)):
                nb101_tfrecord.final_evaluation(message[:length][: 3 * len(known)], 4)


# Real files


@pytest.fixture
def table(real):
    real_data("benchmarks/nb101/nb101_table.npz")
    return catalogue.named("nb101-table")


def test_official_cells_through_the_official_layout(real, tmp_path, monkeypatch):
    path = real_data("benchmarks/nb101/official_91_cells.tfrecord")
    (tmp_path / "nasbench_full.tfrecord").symlink_to(path)
    monkeypatch.setenv("NAS_DATA", str(tmp_path))
    key = "5529e1779433733d1145e20de5d8604e"
    found = truth("nb101", key, "cifar10", 4, "val", 0, source="nb101-tfrecord")
    assert found.identity.version == "official tfrecord, 91 cells, 364 records"
    # record 0 by hand: tags 09, 11, 19, 21 with doubles are epoch, seconds, train and validation accuracy
    raw = base64.b64decode(json.loads(next(tfrecords.read(path))[0])[4])
    end = raw.index(b"\x09" + struct.pack("<d", 4.0))
    assert raw[end + 27] == 0x21
    assert 100 * struct.unpack_from("<d", raw, end + 28)[0] == found.value
    arch = "110111:conv1x1-bn-relu,conv3x3-bn-relu"
    assert nb101.SPACE.canonical(arch) == key
    assert truth("nb101", arch, "cifar10", 4, "val", 0, source="nb101-tfrecord").value == found.value


def test_table_answers_by_row_hash_and_cell_alike(table):
    hashes = ["00005c142e6f48ac74fdcf73e3439874", "0000718c96730a92ea6d5242f8ce77e2"]
    by_hash = truths("nb101", hashes, "cifar10", 108, "test", "mean")
    assert by_hash.identity.source == "nb101-table"
    np.testing.assert_allclose(by_hash.values, [92.060632, 88.645166], atol=1e-5)
    np.testing.assert_array_equal(
        truths("nb101", [0, 1], "cifar10", 108, "test", "mean").values, by_hash.values
    )
    rng = np.random.default_rng(0)
    archs = spaces.get("nb101").sample(20, rng)
    keys = [nb101.SPACE.canonical(arch) for arch in archs]
    np.testing.assert_array_equal(
        truths("nb101", archs, "cifar10", 108, "test", 0).values,
        truths("nb101", keys, "cifar10", 108, "test", 0).values,
    )


def test_every_cell_of_the_space_is_found_by_fingerprint(table):
    """423,624 distinct cells, 423,624 rows: no miss, no two on one row."""
    archs = list(spaces.get("nb101").enumerate())
    store = catalogue.open_store(table, catalogue.find(table)[1])
    from harness.bench.lookup import rows_of

    rows = rows_of("nb101", table, store, archs)
    assert len(np.unique(rows)) == len(archs) == 423_624


def test_the_mean_is_the_mean_of_the_repeats_where_they_are_held(table):
    store = catalogue.open_store(table, catalogue.find(table)[1])
    values = store.array("values")
    column = {c.key: values[i] for i, c in enumerate(table.columns)}
    by_name = {(k.split, k.epochs, k.trials): v for k, v in column.items() if k.what == "accuracy"}
    full = np.flatnonzero(np.isfinite(by_name["test", 108, 1]))
    assert len(full) == 151_644
    repeats = np.array([by_name["test", 108, k][full] for k in range(3)])
    np.testing.assert_allclose(repeats.mean(axis=0), by_name["test", 108, "mean"][full], atol=1e-5)
    # `one` is always one of the three repeats, and not always the same
    both = np.flatnonzero(np.isfinite(by_name["val", 108, "one"]) & np.isfinite(by_name["val", 108, 0]))
    hits = np.array(
        [np.isclose(by_name["val", 108, k][both], by_name["val", 108, "one"][both]) for k in range(3)]
    )
    assert hits.any(axis=0).all() and (hits.mean(axis=1) > 0.3).all()


def test_what_the_table_lacks_says_who_would_have_it(table):
    with pytest.raises(
        HarnessError, match="nb101-table does not hold nb101 cifar10 test accuracy at 36 epochs"
    ):
        truth("nb101", 0, "cifar10", 36, "test", "mean", source="nb101-table")
    with pytest.raises(
        HarnessError, match="for 1 of the 2 architectures asked.*nb101-tfrecord would have it"
    ):
        truths("nb101", [0, 1], "cifar10", 108, "val", "mean")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_1shot1_answers_through_its_cells(table, number):
    space = spaces.get(f"nb1shot1-{number}")
    archs = space.sample(30, np.random.default_rng(number))
    found = truths(space.name, archs, "cifar10", 108, "test", "mean")
    keys = [space.canonical(arch) for arch in archs]
    np.testing.assert_array_equal(found.values, truths("nb101", keys, "cifar10", 108, "test", "mean").values)
    assert found.identity.space == space.name and found.identity.source == "nb101-table"
    with pytest.raises(HarnessError, match="ask nb1shot1-. with architecture strings"):
        truths(space.name, [0], "cifar10", 108, "test", "mean")
