"""Where a set is looked for, and that nothing but the published set gets its name."""

import hashlib
import os
from dataclasses import replace

import numpy as np
import pytest
from support import real_data

from harness.base.errors import HarnessError
from harness.data import images
from harness.data.images import load

from .sets import cifar_bin_bytes, cifar_py_bytes, imagenet16_bytes, pixels, write_mnist, write_svhn

X, Y = pixels(20), np.arange(20) % 10


@pytest.fixture
def data(folders):
    return folders / "NAS_DATA"


def batches(folder, names, x=X, y=Y, write=cifar_bin_bytes):
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_bytes(write(x, y))


def test_another_set_in_the_layout_is_usable_but_not_under_the_published_name(data):
    write_svhn(data / "svhn", X, Y)
    got = load("svhn", "train")
    np.testing.assert_array_equal(got.x, X)
    np.testing.assert_array_equal(got.y, Y)
    identity = got.card.identity
    assert not identity.published and identity.images == 20
    assert got.card.title.startswith("20 images in the layout of SVHN") and "not that set" in got.card.title
    data_hash = hashlib.sha256((data / "svhn" / "train_32x32.mat").read_bytes()).hexdigest()
    assert identity.files == (("train_32x32.mat", data_hash),)
    assert got.card.where == str(data / "svhn")
    with pytest.raises(HarnessError, match="not the published svhn"):
        load("svhn", "train", published_only=True)


def test_a_stand_in_in_imagenet16s_folder_is_not_imagenet16(data):
    (data / "ImageNet16").mkdir()
    x = pixels(3, 16, 16)
    (data / "ImageNet16" / "val_data").write_bytes(imagenet16_bytes(x, [1, 120, 7]))
    card = load("imagenet16-120", "test").card
    assert not card.identity.published and "not that set" in card.title


def test_tinyimagenet16_has_its_own_name_and_is_never_published(data):
    (data / "tinyimagenet16").mkdir()
    (data / "tinyimagenet16" / "val_data").write_bytes(imagenet16_bytes(pixels(3, 16, 16), [1, 120, 7]))
    card = load("tinyimagenet16", "test").card
    assert card.name == "tinyimagenet16" and "not ImageNet16-120" in card.title
    assert not card.identity.published


def test_a_derived_set_keeps_its_title_and_is_still_not_published(data, monkeypatch):
    (data / "tinyimagenet16").mkdir()
    x = pixels(3, 16, 16)
    (data / "tinyimagenet16" / "val_data").write_bytes(imagenet16_bytes(x, [1, 120, 7]))
    known = images.source("tinyimagenet16")
    content = {"test": images.content_of(x, np.array([0, 119, 6]))}
    monkeypatch.setattr(images, "source", lambda name: with_facts(known, None, {}, content))
    card = load("tinyimagenet16", "test").card
    assert card.title == known.title and not card.identity.published


def test_published_needs_every_hash(data, monkeypatch):
    known = images.source("cifar10")
    files = [f"data_batch_{i}.bin" for i in range(1, 6)]
    batches(data / "cifar-10-batches-bin", files)
    blob = cifar_bin_bytes(X, Y)
    fake = tuple(images.File(n, len(blob), sha256=hashlib.sha256(blob).hexdigest()) for n in files)
    changed = with_facts(known, fake, {"train": 100, "test": 20}, {})
    monkeypatch.setattr(images, "source", lambda name: changed)
    card = load("cifar10", "train", published_only=True).card
    assert card.identity.published and card.title == known.title and card.identity.images == 100
    batches(data / "cifar-10-batches-bin", files[:1], pixels(20, seed=1))
    assert not load("cifar10", "train").card.identity.published


def test_published_by_content_whatever_the_compression(data, monkeypatch):
    x = pixels(5, 28, 28, 1)
    write_mnist(data / "mnist", x, Y[:5], zipped=False)
    known = images.source("mnist")
    content = {"train": images.content_of(x, Y[:5])}
    changed = with_facts(known, None, {"train": 5, "test": 5}, content)
    assert not load("mnist", "train").card.identity.published
    monkeypatch.setattr(images, "source", lambda name: changed)
    assert load("mnist", "train").card.identity.published


def with_facts(source, train, counts, content):
    layout = source.layouts[0]
    if train is not None:
        layout = replace(layout, files={"train": train, "test": layout.files["test"]})
    return replace(source, layouts=(layout,), images=counts, content=content)


def test_a_published_batch_missing_is_an_error_and_fewer_other_batches_are_not(data):
    folder = data / "cifar-10-batches-py"
    batches(folder, ["data_batch_1", "data_batch_2"], write=cifar_py_bytes)
    assert load("cifar10", "train").card.identity.images == 40
    with pytest.raises(HarnessError, match="lacks test_batch of cifar10"):
        load("cifar10", "test")


def test_a_copy_with_one_batch_missing_is_incomplete(data, monkeypatch):
    monkeypatch.setattr(images, "is_file", lambda file, content, digest: True)
    batches(data / "cifar-10-batches-bin", [f"data_batch_{i}.bin" for i in (1, 2, 4, 5)])
    with pytest.raises(HarnessError, match=r"lacks data_batch_3.bin of cifar10: .*data fetch cifar10"):
        load("cifar10", "train")


def test_nas_data_comes_before_the_cache_and_the_two_are_never_mixed(data, monkeypatch):
    cache = data.parent / "NAS_CACHE"
    write_mnist(cache / "mnist", pixels(2, 28, 28, 1), Y[:2])
    assert load("mnist", "train").card.identity.images == 2
    write_mnist(cache / "mnist", pixels(2, 28, 28, 1), Y[:2], "test")
    write_mnist(data / "MNIST" / "raw", pixels(3, 28, 28, 1), Y[:3])
    assert load("mnist", "train").card.identity.images == 3
    with pytest.raises(HarnessError, match="t10k"):
        load("mnist", "test")
    second = data.parent / "second"
    write_mnist(second / "mnist", pixels(4, 28, 28, 1), Y[:4])
    monkeypatch.setenv("NAS_DATA", f"{second}{os.pathsep}{data}")
    assert load("mnist", "train").card.identity.images == 4


def test_missing_unknown_and_foreign_things_are_one_sentence(data):
    with pytest.raises(
        HarnessError, match="neither in NAS_DATA nor in the cache: python -m harness data fetch"
    ):
        load("cifar10", "train")
    with pytest.raises(HarnessError, match="did you mean 'cifar10'"):
        load("cifar-10", "train")
    with pytest.raises(HarnessError, match="use one of train, test"):
        load("cifar10", "valid")
    write_mnist(data / "mnist", pixels(3, 20, 20, 1), Y[:3])
    with pytest.raises(HarnessError, match="it is another set, move it"):
        load("mnist", "train")
    (data / "imagenet16-120").mkdir()
    (data / "imagenet16-120" / "val_data").write_bytes(imagenet16_bytes(pixels(2, 16, 16), [900, 901]))
    with pytest.raises(HarnessError, match="no images"):
        load("imagenet16-120", "test")


def test_one_of_two_idx_files_is_an_error(data):
    write_mnist(data / "mnist", pixels(3, 28, 28, 1), Y[:3])
    (data / "mnist" / "train-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(HarnessError, match="lacks train-labels-idx1-ubyte.gz"):
        load("mnist", "train")


def test_digits_are_found_inside_scikit_learn_and_divided_once_and_for_all(data):
    pytest.importorskip("sklearn")
    train, test = load("digits", "train"), load("digits", "test")
    assert train.card.identity.published and test.card.identity.published
    assert train.x.shape == (1437, 8, 8, 1) and test.x.shape == (360, 8, 8, 1)
    assert train.x.max() == 16
    counts = np.bincount(test.y)
    assert counts.min() >= 34 and counts.max() <= 37


@pytest.mark.parametrize(
    ("name", "folder", "shape", "counts"),
    [
        ("mnist", "mnist", (28, 28, 1), (60000, 10000)),
        ("fashion-mnist", "fashion-mnist", (28, 28, 1), (60000, 10000)),
        ("cifar10", "cifar-10-batches-bin", (32, 32, 3), (50000, 10000)),
    ],
)
def test_the_real_sets_are_whole_and_published(name, folder, shape, counts):
    real_data(folder)
    for split, n in zip(("train", "test"), counts, strict=True):
        got = load(name, split)
        assert got.card.identity.published and got.x.shape == (n, *shape)
        assert (np.bincount(got.y) == n / 10).all() or name == "mnist"
