"""PGNAS on ImageNet's layout: files, windows, refusals; candidates of a batch that is read once."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from harness.base.errors import HarnessError
from harness.runs.record import Run
from reproduce.pgnas import imagenet_files
from reproduce.pgnas.candidates import sample, score_plainly
from reproduce.pgnas.imagenet import scored
from reproduce.pgnas.imagenet_files import FileBatches, parts
from reproduce.pgnas.networks import Network, build


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


def test_candidates_of_a_batch_are_those_one_after_the_other(monkeypatch: pytest.MonkeyPatch):
    torch.manual_seed(0)
    network = build(Network(network="resnet", width=8, depths=(1,), classes=10, side=16)).eval()
    x, y = torch.randn(12, 3, 16, 16), torch.randint(10, (12,))
    batches = list(zip(x.split(5), y.split(5), strict=True))
    masks = sample(network.p_of_channels, 3, np.random.default_rng(0))
    plain = score_plainly(network, masks, batches)

    class Told:
        def progress(self, *of: object) -> None:
            """A run's, which a campaign draws."""

    found: Run = Told()  # type: ignore[assignment]
    one, five = scored(found, network, masks, batches)
    assert one.tolist() == pytest.approx([100 * (row >= 1).double().mean().item() for row in plain])
    assert five.tolist() == pytest.approx([100 * (row >= 5).double().mean().item() for row in plain])
