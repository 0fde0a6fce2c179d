"""The tables that travel with the project: what they are, and that they answer as the full ones."""

import csv
import gzip
import shutil

import numpy as np
import pytest
from bench.made import ARCHS, write_nats
from support import real_data

from harness import spaces
from harness.base.errors import HarnessError
from harness.base.files import cache_dir, sha256_of
from harness.bench import carried, catalogue, compiled, nats, nb101_packed, truth, truths
from harness.bench import seconds as training_seconds
from harness.bench.carried import LAST_EPOCHS, NB101, NB101_FILES, NB201, SHA256, TABLES, find_data, found_as
from harness.bench.cli import list_sources
from harness.bench.store import hash_of
from harness.runs import stale
from harness.spaces.graph_hash import all_fingerprints, cells, module_hash
from harness.spec.experiments import find_run

CELLS = 423_624


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """A clone where nobody has any data."""
    monkeypatch.delenv("NAS_DATA", raising=False)
    monkeypatch.setenv("NAS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def named(alone, monkeypatch, session_cache, user_cache):
    """The same, where the cells of NAS-Bench-101 were named once for all tests, or long ago."""
    monkeypatch.setenv("NAS_CACHE", str(session_cache / "alone"))
    folder = carried._folder()
    mine = user_cache / folder.relative_to(cache_dir())
    if not folder.exists() and all((mine / name).is_file() for name in NB101_FILES):
        folder.parent.mkdir(parents=True)
        folder.symlink_to(mine)


def test_the_files_are_those_that_are_described():
    readme = (TABLES / "README.md").read_text(encoding="utf-8")
    for name, sha in SHA256.items():
        assert sha256_of(TABLES / name) == sha
        assert f"| `{name}` |" in readme and f"`{sha}`" in readme
    assert sum((TABLES / name).stat().st_size for name in SHA256) < 4e6
    assert "MIT License" in (TABLES / "LICENSE-NATS-Bench.md").read_text(encoding="utf-8")
    assert "Apache License" in (TABLES / "LICENSE-NAS-Bench-101.txt").read_text(encoding="utf-8")


def test_nas_bench_201_is_whole_and_has_the_published_values(alone):
    """The best cells' mean test accuracies, as the benchmark's paper prints them."""
    assert len(ARCHS) == 15_625
    for dataset, best in (("cifar10", 94.37), ("cifar100", 73.51), ("imagenet16-120", 47.31)):
        found = truths("nb201", ARCHS, dataset, 200, "test", "mean")
        assert found.identity.source == "nb201-table" and found.identity.sha256 == SHA256[NB201]
        assert round(found.values.max(), 2) == best
        assert np.isfinite(training_seconds("nb201", ARCHS, dataset, 200).values).all()
        assert np.isfinite(truths("nb201", ARCHS, dataset, 12, "test", "mean").values).all()
        with pytest.raises(HarnessError, match="for 7456 of the 15625 architectures asked"):
            truths("nb201", ARCHS, dataset, 200, "val", 2)


def test_nas_bench_101_is_whole_and_has_the_published_values(alone):
    means = nb101_packed.means(carried.content(NB101))
    assert len(means) == CELLS and 0.0975 < means.min() < 0.1
    assert round(100 * means.max(), 2) == 94.32  # as the benchmark's paper prints it


def test_last_epochs_are_those_that_a_run_looks_for(alone):
    assert find_data(LAST_EPOCHS) == TABLES / LAST_EPOCHS


def test_a_cell_of_nas_bench_101_is_found_in_its_three_ways(named, capfd):
    arch = spaces.get("nb101").sample(1, np.random.default_rng(0))[0]
    found = truth("nb101", arch, "cifar10", 108, "test", "mean")
    assert found.identity.source == "nb101-table" and found.identity.sha256 == carried.NB101_ANSWERS
    key = spaces.get("nb101").canonical(arch)
    assert truth("nb101", key, "cifar10", 108, "test", "mean").value == found.value
    first = truth("nb101", 0, "cifar10", 108, "test", "mean")
    assert first.architecture == "00005c142e6f48ac74fdcf73e3439874" and round(first.value, 6) == 92.060632
    archs = spaces.get("nb1shot1-1").sample(5, np.random.default_rng(0))
    inside = truths("nb1shot1-1", archs, "cifar10", 108, "test", "mean")
    assert inside.identity.source == "nb101-table"
    source = catalogue.named("nb101-table")
    assert catalogue.find(source)[1] == [carried._folder() / name for name in NB101_FILES]
    assert hash_of(catalogue.find(source)[1]) == carried.NB101_ANSWERS
    with pytest.raises(HarnessError, match="no cifar10 test accuracy at 108 epochs .trial 0. for 1 of the 1"):
        truth("nb101", key, "cifar10", 108, "test", 0)


def test_a_piece_of_the_written_files_that_is_lost_is_written_again(alone, monkeypatch):
    monkeypatch.setattr(nb101_packed, "files_of", lambda packed: (b"cells", b"table"))
    kept, lost = (find_data(name) for name in NB101_FILES)
    date = kept.stat().st_mtime_ns
    lost.unlink()
    assert find_data(NB101_FILES[0]) == kept
    assert lost.read_bytes() == b"table" and kept.stat().st_mtime_ns == date


def test_names_of_cells_are_the_benchmarks(alone):
    """Cells that share a wiring are named together."""
    every = all_fingerprints()
    prints = np.concatenate([every[:60], every[9_000:9_050], every[200_000:200_300]])
    expected = [module_hash(matrix, ops) for matrix, ops in zip(*cells(prints), strict=True)]
    assert nb101_packed.module_hashes(prints) == expected


def test_files_of_the_users_own_come_first(alone, monkeypatch, tmp_path):
    own = tmp_path / "data" / NB201
    own.parent.mkdir()
    own.write_bytes(b"another")
    monkeypatch.setenv("NAS_DATA", str(own.parent))
    assert find_data(NB201) == own
    cache_dir().mkdir()
    shutil.move(own, cache_dir() / NB201)
    assert find_data(NB201) == cache_dir() / NB201
    (cache_dir() / NB201).unlink()
    assert find_data(NB201) == TABLES / NB201
    with found_as("hidden"):
        assert find_data(NB201) is None


def test_looking_names_no_cells(alone):
    """`bench list` and a plan of a campaign once would have taken half a minute."""
    catalogue.stamp.cache_clear()
    rows = {row.name: row for row in list_sources()}
    assert rows["nb101-table"].here and "carried by the project" in rows["nb101-table"].expected
    spec = find_run("sotl/one_shot_nb101/spos/nb101-1/s0", "cpu")
    assert stale.data_of(spec)[f"nb101-table:{NB101}"] == SHA256[NB101][:16]
    assert not cache_dir().exists()
    catalogue.stamp.cache_clear()


def test_a_carried_file_that_is_not_as_it_was_made_is_refused(alone, monkeypatch, tmp_path):
    shutil.copytree(TABLES, tmp_path / "tables")
    monkeypatch.setattr(carried, "TABLES", tmp_path / "tables")
    (tmp_path / "tables" / NB101).write_bytes(b"<<<<<<< HEAD")
    with pytest.raises(HarnessError, match="is not as it was made: bring it back with `git checkout -- "):
        find_data(NB101_FILES[0])


def test_packed_means_come_back_to_the_last_bit():
    rng = np.random.default_rng(1)
    thirds = (rng.integers(900, 9984, size=(3, 5000)) / 9984).astype(np.float32).astype(float)
    for mean in (thirds.sum(axis=0) / 3, np.nextafter(thirds.sum(axis=0) / 3, 1)):
        packed = nb101_packed.pack(100 * mean)
        np.testing.assert_array_equal(100 * nb101_packed.means(packed), 100 * mean)
        assert packed == nb101_packed.pack(100 * mean)
    with pytest.raises(HarnessError, match="cell 1: .* is no mean of three accuracies on 9984 images"):
        nb101_packed.pack(np.array([50.0, 50.001, 50.0]))


def test_a_table_can_be_compiled_from_the_official_archive(made):
    """What it answers is what the archive answers; what the archive has in another form is left out."""
    write_nats(made / nats.FOLDER, [1, 2])
    store = catalogue.open_store(nats.SOURCE, [made / nats.FOLDER])
    rows = list(csv.DictReader(gzip.decompress(compiled.nb201(nats.SOURCE, store)).decode().splitlines()))
    assert [row["arch_str"] for row in rows] == ARCHS and rows[2]["idx"] == "2"
    assert {row["cifar100_test_acc_1"] + row["cifar10_test_acc_1seed"] for row in rows} == {""}
    for column, *asked in (
        ("cifar10_val_acc_1", "cifar10", 200, "val", 1),
        ("cifar100_test_acc_mean", "cifar100", 200, "test", "mean"),
        ("cifar100_oritest_acc_mean", "cifar100", 200, "val+test", "mean"),
        ("ImageNet16-120_test_acc_12ep", "imagenet16-120", 12, "test", 0),
    ):
        for row in (1, 2):
            assert float(rows[row][column]) == truth("nb201", ARCHS[row], *asked, source="nb201-nats").value
    timed = training_seconds("nb201", ARCHS[1], "cifar10", 200, source="nb201-nats")
    assert float(rows[1]["cifar10_train_time_200ep_s"]) == timed.values[0]
    with pytest.raises(HarnessError, match="nb201-nats has only 2 of 15625 cells here: get it whole"):
        compiled.compile_into(made / "out", official=True)


def test_nothing_is_compiled_from_what_is_carried(alone, tmp_path):
    with pytest.raises(HarnessError, match="put benchmarks/nb201/nb201.csv.gz below .*--official"):
        compiled.compile_into(tmp_path / "out")


# Real files: the full tables that the carried ones were compiled from


def test_real_tables_compile_to_the_carried_ones(real, tmp_path):
    for name in ("nb201/nb201.csv.gz", "nb101/nb101_table.npz", "nb201/final_train_loss_1000.json.gz"):
        real_data(f"benchmarks/{name}")
    lines = compiled.compile_into(tmp_path)
    assert len(lines) == len(SHA256)
    assert all("the one that the project carries" in line and "not the one" not in line for line in lines)


def test_real_nas_bench_201_is_answered_alike_value_by_value(real):
    full = catalogue.open_store(catalogue.named("nb201-table"), [real_data("benchmarks/nb201/nb201.csv.gz")])
    ours = catalogue.open_store(catalogue.named("nb201-table"), [TABLES / NB201])
    assert carried.SAME[ours.meta.sha256] == full.meta.sha256
    np.testing.assert_array_equal(ours.array("names"), full.array("names"))
    np.testing.assert_array_equal(ours.array("values"), full.array("values"))
    assert ours.meta.version == full.meta.version


def test_real_nas_bench_101_is_answered_alike_value_by_value(real_table, named):
    source = catalogue.named("nb101-table")
    full = catalogue.open_store(source, real_table)
    ours = catalogue.open_store(source, catalogue.find(source)[1])
    assert carried.SAME[ours.meta.sha256] == full.meta.sha256 and ours.meta.version == full.meta.version
    for array in ("names", "fingerprint_sorted", "fingerprint_row"):
        np.testing.assert_array_equal(ours.array(array), full.array(array))
    row = catalogue.column(source, nb101_packed.KEY)
    np.testing.assert_array_equal(ours.array("values")[row], full.array("values")[row])
    assert np.isfinite(ours.array("values")[row]).all()


@pytest.fixture
def real_table():
    """Its two files, looked up before a test hides them."""
    return [real_data(f"benchmarks/nb101/{name}") for name in NB101_FILES]
