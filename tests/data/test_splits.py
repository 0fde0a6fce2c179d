"""A split is data with a hash: the same for ever, disjoint, and never somebody else's under its name."""

import json

import numpy as np
import pytest

from harness.base.errors import HarnessError
from harness.data import splits
from harness.data.splits import draw, read, sha256_of, split, write

HALVES = "b8fa28562fcba20cd9406510c85471f72446b028624158974577f94a53f4d9a6"
TENTH_3 = "217355632e86e8cae911ac347d1635dd830b50c590ddc95afbf0233604fc514d"


def test_the_draws_are_pinned():
    assert splits.permutation(10, 0).tolist() == [3, 2, 1, 8, 6, 0, 7, 4, 5, 9]
    assert split("halves", 50000).sha256 == HALVES
    assert split("tenth", 50000, seed=3).sha256 == TENTH_3


def test_icw_trains_on_45000_and_validates_on_5000():
    got = split("tenth", 50000)
    assert len(got.train) == 45000 and len(got.val) == 5000
    assert "PCG64(0)" in got.rule


@pytest.mark.parametrize("name", ["halves", "tenth"])
def test_parts_are_disjoint_and_cover(name):
    got = split(name, 1001, seed=7)
    np.testing.assert_array_equal(np.sort(np.concatenate([got.train, got.val])), np.arange(1001))
    assert (np.diff(got.train) > 0).all() and (np.diff(got.val) > 0).all()
    assert got.sha256 == sha256_of(got.train, got.val) != split(name, 1001, seed=8).sha256


def test_stratified_takes_every_class_alike():
    labels = np.random.default_rng(0).integers(0, 10, 5000)
    got = split("tenth-stratified", 5000, labels=labels)
    share = np.bincount(labels[got.val]) / np.bincount(labels)
    assert len(got.val) == 500 and np.abs(share - 0.1).max() < 0.003
    plain = split("tenth", 5000)
    assert np.abs(np.bincount(labels[plain.val]) / np.bincount(labels) - 0.1).max() > 0.003


def test_stratified_halves_of_equal_classes_are_exact():
    labels = np.repeat(np.arange(10), 100)
    got = draw("x", 1000, 0.5, 1, labels=labels)
    assert (np.bincount(labels[got.val]) == 50).all()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: split("halfs", 10), "did you mean 'halves'"),
        (lambda: split("tenth-stratified", 10), "pass the labels"),
        (lambda: split("digits", 10, labels=np.zeros(10)), "divides 1797 images, not 10"),
        (lambda: split("digits", 1797, labels=np.zeros(1797)), "not .* as recorded"),
        (lambda: draw("x", 10, 11, 0), "at most 10"),
        (lambda: draw("x", 10, 5, 0, labels=np.zeros(9)), "9 labels for 10"),
        (lambda: split("nb201-cifar10", 50000, seed=1), "no seed"),
        (lambda: split("nb201-cifar10", 40000), "not 40000"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(call, says):
    with pytest.raises(HarnessError, match=says):
        call()


def test_the_benchmarks_own_split_is_asked_for_and_not_made_up(tmp_path, monkeypatch):
    monkeypatch.setenv("NAS_DATA", str(tmp_path))
    monkeypatch.setenv("NAS_CACHE", str(tmp_path / "cache"))
    with pytest.raises(HarnessError, match="splits/nb201-cifar10.json .* halves, which is another division"):
        split("nb201-cifar10", 50000)


def test_the_benchmarks_own_format_is_read_and_its_size_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("NAS_DATA", str(tmp_path))
    order = np.random.default_rng(0).permutation(50000).astype(str).tolist()
    path = tmp_path / "splits" / "nb201-cifar10.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"train": ["int", order[:25000]], "valid": ["int", order[25000:]]}))
    got = split("nb201-cifar10", 50000)
    assert got.name == "nb201-cifar10" and len(got.train) == len(got.val) == 25000
    assert got.sha256 != split("halves", 50000).sha256
    path.write_text(json.dumps({"train": ["int", order[:20000]], "valid": ["int", order[20000:]]}))
    with pytest.raises(HarnessError, match="not the split nb201-cifar10"):
        split("nb201-cifar10", 50000)


def test_a_divided_test_set_has_val_and_test(tmp_path, monkeypatch):
    monkeypatch.setenv("NAS_DATA", str(tmp_path))
    path = tmp_path / "splits" / "nb201-cifar100-test.json"
    path.parent.mkdir()
    even, odd = [[str(i) for i in range(start, 10000, 2)] for start in (0, 1)]
    path.write_text(json.dumps({"xvalid": ["int", even], "xtest": ["int", odd]}))
    got = split("nb201-cifar100-test", 10000)
    assert len(got.train) == 0 and got.val[1] == 2 and got.test[1] == 3


def test_write_and_read_keep_the_hash_and_refuse_an_edit(tmp_path):
    path = tmp_path / "one.json"
    made = split("tenth", 100)
    write(path, made)
    got = read(path)
    assert (got.name, got.rule, got.sha256) == (made.name, made.rule, made.sha256)
    np.testing.assert_array_equal(got.val, made.val)
    edited = json.loads(path.read_text())
    edited["val"][0], edited["train"][0] = edited["train"][0], edited["val"][0]
    path.write_text(json.dumps(edited))
    with pytest.raises(HarnessError, match="was changed"):
        read(path)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[1, 2]",
        "{}",
        '{"train": [1, 1]}',
        '{"train": [1], "val": [1]}',
        '{"train": [-1]}',
        '{"val": ["a"]}',
    ],
)
def test_what_is_not_a_division_is_refused(tmp_path, content):
    path = tmp_path / "bad.json"
    path.write_text(content)
    with pytest.raises(HarnessError, match="bad.json"):
        read(path)
