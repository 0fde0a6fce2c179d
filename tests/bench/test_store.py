"""A store is made once, whole or not at all, and never outlives the file that it was made from."""

import json
import multiprocessing
import os
import shutil

import numpy as np
import pytest

from harness.base.errors import HarnessError
from harness.base.files import cache_dir
from harness.bench import store as stores
from harness.bench.store import find_store, make_store

COLUMNS = ("a", "b")


@pytest.fixture
def source_file(made):
    path = made / "input.bin"
    path.write_bytes(b"first content")
    return path


class Filler:
    """Writes arrays that depend on the input and counts how often it was asked."""

    def __init__(self, path):
        self.path, self.calls = path, 0

    def __call__(self, folder):
        self.calls += 1
        values = np.frombuffer(self.path.read_bytes(), np.uint8).astype(float)
        np.save(folder / "values.npy", values)
        np.save(folder / "names.npy", np.array(["x", "y"], dtype="S"))
        return f"version {self.calls}", len(values)


def opened(path, fill):
    return find_store("toy", [path], COLUMNS) or make_store("toy", [path], COLUMNS, fill)


def test_a_store_is_made_once_and_found_by_stamp_alone(source_file, monkeypatch):
    fill = Filler(source_file)
    first = opened(source_file, fill)
    assert first.meta.version == "version 1" and first.meta.cells == len(b"first content")
    assert first.folder.parent == cache_dir() / "stores"
    assert first.folder.name == f"toy-{stores.sha256_of(source_file)[:12]}"
    monkeypatch.setattr(stores, "sha256_of", lambda path: pytest.fail(f"hashed {path}"))
    again = opened(source_file, fill)
    assert fill.calls == 1
    np.testing.assert_array_equal(again.array("values"), np.frombuffer(b"first content", np.uint8))


def test_arrays_are_mapped_and_read_only(source_file):
    values = opened(source_file, Filler(source_file)).array("values")
    assert isinstance(values, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 1


def test_changed_input_gets_another_store(source_file):
    fill = Filler(source_file)
    first = opened(source_file, fill)
    source_file.write_bytes(b"other content")
    os.utime(source_file, ns=(1, 1))  # same size, so only the time tells
    second = opened(source_file, fill)
    assert fill.calls == 2 and second.folder != first.folder
    assert second.array("values")[0] == ord("o") and first.array("values")[0] == ord("f")


def test_touched_input_is_hashed_again_but_not_converted(source_file):
    fill = Filler(source_file)
    first = opened(source_file, fill)
    os.utime(source_file, ns=(5, 5))
    assert find_store("toy", [source_file], COLUMNS) is None
    assert opened(source_file, fill).folder == first.folder
    assert fill.calls == 1
    assert find_store("toy", [source_file], COLUMNS) is not None


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "meta.json").unlink(),
        lambda folder: (folder / "meta.json").write_text((folder / "meta.json").read_text()[:-20]),
        lambda folder: (folder / "meta.json").write_text("[]"),
        lambda folder: (folder / "values.npy").unlink(),
        lambda folder: (folder / "values.npy").write_bytes((folder / "values.npy").read_bytes()[:-8]),
        lambda folder: flip(folder / "values.npy"),
        lambda folder: shutil.rmtree(folder),
    ],
    ids=["no meta", "half meta", "other meta", "no array", "half array", "altered array", "gone"],
)
def test_a_damaged_store_is_made_again(source_file, damage):
    fill = Filler(source_file)
    folder = opened(source_file, fill).folder
    damage(folder)
    repaired = opened(source_file, fill)
    assert fill.calls == 2 and repaired.folder == folder
    np.testing.assert_array_equal(
        np.load(folder / "values.npy"), np.frombuffer(b"first content", np.uint8).astype(float)
    )


def flip(path):
    """One bit of the content, the size unchanged."""
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def test_an_array_with_a_new_time_and_the_same_content_is_kept(source_file):
    fill = Filler(source_file)
    folder = opened(source_file, fill).folder
    os.utime(folder / "values.npy", ns=(7, 7))
    opened(source_file, fill)
    assert fill.calls == 1


def test_other_columns_or_another_converter_make_it_again(source_file, monkeypatch):
    fill = Filler(source_file)
    opened(source_file, fill)
    assert find_store("toy", [source_file], ("a",)) is None
    monkeypatch.setattr(stores, "CONVERTER", stores.CONVERTER + 1)
    opened(source_file, fill)
    assert fill.calls == 2


def test_a_failing_conversion_leaves_nothing(source_file):
    def fail(folder):
        np.save(folder / "values.npy", np.zeros(3))
        raise HarnessError("input is damaged")

    with pytest.raises(HarnessError, match="input is damaged"):
        make_store("toy", [source_file], COLUMNS, fail)
    assert [p.name for p in (cache_dir() / "stores").iterdir() if p.is_dir()] == []


def test_what_a_killed_conversion_left_is_no_store_and_is_removed(source_file):
    fill = Filler(source_file)
    folder = opened(source_file, fill).folder
    left_over = folder.rename(folder.with_name(f".{folder.name}.abc123"))
    (left_over / "meta.json").unlink()
    assert find_store("toy", [source_file], COLUMNS) is None
    opened(source_file, fill)
    assert fill.calls == 2 and not left_over.exists()


def test_an_input_that_changes_under_the_conversion_is_refused(source_file):
    def fill(folder):
        np.save(folder / "values.npy", np.zeros(3))
        source_file.write_bytes(b"something longer than before")
        return "v", 3

    with pytest.raises(HarnessError, match="changed while it was being converted"):
        make_store("toy", [source_file], COLUMNS, fill)
    assert find_store("toy", [source_file], COLUMNS) is None


def test_meta_says_what_was_read(source_file):
    folder = opened(source_file, Filler(source_file)).folder
    meta = json.loads((folder / "meta.json").read_text())
    assert meta["source"] == "toy" and meta["converter"] == stores.CONVERTER
    assert meta["sha256"] == stores.sha256_of(source_file) and meta["inputs"][0]["size"] == 13
    assert set(meta["arrays"]) == {"names.npy", "values.npy"}


def test_a_folder_of_records_is_one_input(made):
    folder = made / "archive"
    folder.mkdir()
    for name in ("000001.pickle.pbz2", "meta.pickle.pbz2", "LICENSE.md"):
        (folder / name).write_bytes(name.encode())
    before = stores.hash_of([folder])
    (folder / "LICENSE.md").write_bytes(b"other")
    assert stores.hash_of([folder]) == before
    assert stores.stamp(folder).size == 2
    (folder / "000002.pickle.pbz2").write_bytes(b"new")
    assert stores.stamp(folder).size == 3 and stores.hash_of([folder]) != before


def convert_slowly(path, marks):
    def fill(folder):
        with open(marks, "a") as file:
            file.write("x")
        np.save(folder / "values.npy", np.zeros(200_000))
        return "v", 3

    make_store("toy", [path], COLUMNS, fill)


def test_jobs_that_start_together_convert_once(source_file, tmp_path):
    marks = tmp_path / "marks"
    context = multiprocessing.get_context("fork")
    jobs = [context.Process(target=convert_slowly, args=(source_file, marks)) for _ in range(4)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert [job.exitcode for job in jobs] == [0] * 4
    assert marks.read_text() == "x"
