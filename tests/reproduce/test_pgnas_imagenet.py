"""PGNAS on ImageNet's layout: files, windows, refusals, and a run on them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from pgnas_runs import TINY
from PIL import Image
from small_runs import SmallRuns, metrics

from harness.base.errors import HarnessError
from reproduce.pgnas import imagenet_files, supernets
from reproduce.pgnas.imagenet_files import FileBatches, parts


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two classes of three images each, red and blue, in both parts."""
    for part in ("train", "val"):
        for name, colour in (("n01", (250, 10, 10)), ("n02", (10, 10, 250))):
            (tmp_path / "imagenet" / part / name).mkdir(parents=True)
            for i in range(3):
                image = Image.new("RGB", (40 + i, 30), colour)
                image.save(tmp_path / "imagenet" / part / name / f"{i}.JPEG")
    monkeypatch.setattr(imagenet_files, "find_data", lambda name: tmp_path / name)
    return tmp_path / "imagenet"


def test_files_and_labels_are_by_class(folder: Path):
    paths, y, tests, _ = parts(2)
    assert [path.parent.name for path in paths] == ["n01"] * 3 + ["n02"] * 3
    assert y.tolist() == [0, 0, 0, 1, 1, 1] and len(tests) == 6


def test_images_are_read_when_wanted(folder: Path):
    paths, y, _, _ = parts(2)
    images = FileBatches(tuple(paths), y, 16)
    x, labels = images.take(np.array([5, 0]), np.random.default_rng(0))
    assert x.shape == (2, 3, 16, 16) and labels.tolist() == [1, 0]
    assert x[1, 0].mean() > 1.5 > x[1, 2].mean() and x[0, 2].mean() > 1.5
    again, _ = images.take(np.array([5, 0]), np.random.default_rng(0))
    assert torch.equal(x, again)
    batches = images.in_order(4)
    assert [len(y) for _, y in batches] == [4, 2] and len(batches) == 2


def test_a_window_is_inside_and_mirrored_by_its_last_number():
    image = Image.fromarray(np.arange(40 * 60, dtype=np.uint8).reshape(40, 60) % 251).convert("RGB")
    drawn = np.full(imagenet_files.DRAWS, 0.5)
    drawn[-1] = 0.9
    plain = imagenet_files.window(image, drawn, 8)
    drawn[-1] = 0.1
    assert np.array_equal(imagenet_files.window(image, drawn, 8), plain[:, ::-1])


def test_where_no_window_fits_the_middle_is_taken():
    image = Image.new("RGB", (400, 2), (1, 2, 3))
    assert imagenet_files.window(image, np.full(imagenet_files.DRAWS, 0.99), 4).shape == (4, 4, 3)


def test_what_is_not_imagenet_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(HarnessError, match="holds 2 folders where 3 classes are wanted"):
        parts(3)
    (folder / "train" / "n01" / "0.JPEG").write_bytes(b"no image")
    paths, y, _, _ = parts(2)
    with pytest.raises(HarnessError, match="cannot be read as an image"):
        FileBatches(tuple(paths), y, 16).take(np.array([0]))
    monkeypatch.setattr(imagenet_files, "find_data", lambda name: None)
    with pytest.raises(HarnessError, match="put ImageNet below a folder of NAS_DATA"):
        parts(2)


PARTS = {"train_images": None, "test_images": None, "choose_images": 2, "shrink": 1, "side": 16}
IMAGENET = {**PARTS, "dataset": "imagenet", "network": "resnet", "width": 4, "depths": [1], "classes": 2}
RUNS = SmallRuns(supernets, {**TINY, **IMAGENET})


def test_options_of_a_run_are_honoured_on_imagenet_too(folder: Path, tmp_path: Path):
    """A module of its own had left out controls, scaling, own statistics and fine-tuning without a word."""
    found = metrics(RUNS.done(tmp_path, controls=2, rescale=True, own_statistics=1))
    assert {"uniform_mean", "own_statistics_gain", "tuned_error", "exported_error"} <= found.keys()
    assert found["exported_error"] == found["chosen_error"]


@pytest.mark.parametrize("changed", [{"shrink": 2}, {"cutout": 4}, {"train_images": 3}, {"test_images": 3}])
def test_options_that_files_do_not_have_are_refused(folder: Path, tmp_path: Path, changed: dict):
    with pytest.raises(HarnessError, match="leave out train_images, test_images, shrink and cutout"):
        supernets.images(*RUNS.begun(tmp_path, **changed))


def test_images_that_choose_are_files_that_do_not_train(folder: Path, tmp_path: Path):
    train, choose, test = supernets.images(*RUNS.begun(tmp_path))
    assert (len(train), len(choose), len(test)) == (4, 2, 6)
    assert not set(train.paths) & set(choose.paths) and not set(train.paths) & set(test.paths)
