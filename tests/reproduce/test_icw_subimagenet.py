"""SubImageNet from a folder like ImageNet: what is drawn, how images are augmented, what is refused."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from harness.base.errors import HarnessError
from harness.base.settings import build
from harness.spec.experiments import paper
from reproduce.icw import image_sets, standalone, subimagenet
from reproduce.icw.training_setup import Augmentation

SIZES = ((48, 36), (36, 48), (40, 40))
WHICH = {"classes_sampled": 3, "per_class": 4, "sample_seed": 0, "device": "cpu"}


@pytest.fixture(scope="module")
def imagenet(tmp_path_factory) -> Path:
    """Six classes of eleven images; each image is noise around a colour of its class."""
    root = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    for label in range(6):
        folder = root / subimagenet.FOLDER / f"n{label:08d}"
        folder.mkdir(parents=True)
        for number in range(11):
            width, height = SIZES[number % 3]
            pixels = rng.integers(0, 40, (height, width, 3)) + 35 * label
            Image.fromarray(pixels.astype(np.uint8)).save(folder / f"n{label:08d}_{number}.JPEG", quality=95)
    return root


@pytest.fixture(autouse=True)
def few_classes(monkeypatch, imagenet):
    monkeypatch.setattr(subimagenet, "CLASSES", 6)
    monkeypatch.setenv("NAS_DATA", str(imagenet))


def setup(scale: str = "paper", **changed) -> standalone.Config:
    """The published set-up of the stand-alone trainings, on the little folder."""
    spec = next(iter(paper("icw").experiments["standalone"].runs(scale)))
    little = {"side": 16, "classes_sampled": 3, "per_class": 4}
    return build(standalone.Config, {**spec.config, **little, "device": "cpu", **changed}, spec.id)


def sampled(imagenet: Path, **changed) -> tuple[subimagenet.Files, subimagenet.Files]:
    return subimagenet.sample(imagenet / subimagenet.FOLDER, SimpleNamespace(**{**WHICH, **changed}))


def test_the_sample_is_as_large_as_appendix_a_says_and_its_halves_share_nothing(imagenet):
    train, held = sampled(imagenet)
    assert len(train.classes) == 3 and train.classes == held.classes == tuple(sorted(train.classes))
    assert train.y.tolist() == held.y.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert not set(train.paths) & set(held.paths)
    for files in (train, held):
        assert [files.classes[y] for y in files.y] == [path.parent.name for path in files.paths]
        assert len(set(files.paths)) == 12
    published = setup("paper", side=224, classes_sampled=100, per_class=250)
    assert (published.dataset, published.sample_seed) == ("subimagenet", None)


def test_the_sample_is_the_same_wherever_it_is_drawn_and_another_for_another_seed(imagenet):
    train, held = sampled(imagenet)
    again, _ = sampled(imagenet)
    assert train.sha256 == again.sha256 != held.sha256
    # Whoever draws anew draws this: numpy keeps PCG64's raw stream.
    assert train.classes == ("n00000001", "n00000002", "n00000003")
    names = [path.name for path in train.paths[:4]]
    assert names == [f"n00000001_{i}.JPEG" for i in (2, 3, 5, 9)]
    other, _ = sampled(imagenet, sample_seed=1)
    assert other.sha256 != train.sha256


def test_without_a_seed_the_first_by_name_are_taken_as_the_authors_did(imagenet):
    """Names sort as text: image 10 comes before image 2."""
    train, held = sampled(imagenet, sample_seed=None)
    assert train.classes == held.classes == ("n00000000", "n00000001", "n00000002")
    for files, numbers in ((train, (0, 1, 10, 2)), (held, (3, 4, 5, 6))):
        assert [path.name for path in files.paths[4:8]] == [f"n00000001_{i}.JPEG" for i in numbers]


def test_every_class_and_image_can_be_drawn(imagenet):
    """The rule reaches all: over seeds nothing stays out, and classes do not share their choice of images."""
    classes, images, alike = set(), set(), 0
    for seed in range(40):
        train, held = sampled(imagenet, sample_seed=seed)
        classes |= set(train.classes)
        images |= {path.name for path in (*train.paths, *held.paths)}
        numbers = [path.stem.split("_")[1] for path in train.paths]
        alike += numbers[:4] == numbers[4:8]
    assert len(classes) == 6 and len(images) == 66 and alike < 8


def test_images_are_read_and_normalised_in_the_order_asked_for(imagenet):
    train, _ = subimagenet.parts(setup(), setup())
    x, y = train.take(np.array([11, 0, 5]))
    assert y.tolist() == [2, 0, 1] and x.shape == (3, 3, 16, 16) and x.dtype == torch.float32
    assert x.is_contiguous(memory_format=torch.channels_last)
    # The colour of class n is 35 n + 20 on average: normalised with ImageNet's means and deviations.
    colours = torch.tensor([35 * int(train.files.classes[label][1:]) + 20.0 for label in (2, 0, 1)])
    expected = (colours[:, None] / 255 - torch.tensor([0.485, 0.456, 0.406])) / torch.tensor(
        [0.229, 0.224, 0.225]
    )
    torch.testing.assert_close(x.mean((2, 3)), expected, rtol=0, atol=0.08)


def test_random_images_follow_from_their_generator_alone(imagenet):
    train, _ = subimagenet.parts(setup(), setup())
    indices = np.arange(12)
    one, again, other = (train.take(indices, np.random.default_rng(seed))[0] for seed in (0, 0, 1))
    assert torch.equal(one, again) and not torch.equal(one, other)
    assert not torch.equal(one, train.take(indices)[0])


def test_an_evaluation_reads_all_images_as_often_as_it_is_asked(imagenet):
    _, held = subimagenet.parts(setup(), setup())
    batches = held.in_order(5)
    assert [len(y) for _, y in batches] == [5, 5, 2] and len(batches) == 3
    first, second = (torch.cat([x for x, _ in batches]) for _ in range(2))
    assert torch.equal(first, second) and torch.equal(first[5:10], held.take(np.arange(5, 10))[0])
    assert [len(y) for _, y in held.in_order(5, 7)] == [5, 2]
    assert [y.tolist() for _, y in held.in_order(4)] == [[0] * 4, [1] * 4, [2] * 4]


def test_the_centre_is_cut_from_an_image_resized_by_its_shorter_side():
    pixels = np.zeros((64, 128, 3), np.uint8)
    pixels[:, 32:96] = 200  # the middle square
    cut = subimagenet.evaluated(Image.fromarray(pixels), 28)  # 64 → 32, then 28 of it
    assert cut.shape == (28, 28, 3) and (cut == 200).all()
    tall = subimagenet.evaluated(Image.fromarray(pixels.transpose(1, 0, 2)), 28)
    assert (tall == 200).all()
    framed = np.full((64, 128, 3), 255, np.uint8)  # what remains of 64 pixels are 56: four go at every side
    framed[4:60, 36:92] = 200
    inner = subimagenet.evaluated(Image.fromarray(framed), 28)
    assert (inner[1:-1, 1:-1] == 200).all() and inner.max() < 230
    framed[4:60, 36:92], framed[6:58, 38:90] = 255, 200  # a frame within it is still seen
    inner = subimagenet.evaluated(Image.fromarray(framed), 28)
    assert (inner[0] > 230).all() and (inner[:, -1] > 230).all()


def test_windows_have_the_areas_and_shapes_of_table_5():
    how = setup().augmentation
    rng = np.random.default_rng(0)
    sizes = []
    for _ in range(2000):
        x0, y0, x1, y1 = subimagenet.window((400, 400), how, [tuple(rng.random(4)) for _ in range(10)])
        assert 0 <= x0 < x1 <= 400 and 0 <= y0 < y1 <= 400
        sizes.append((x1 - x0, y1 - y0, x0))
    width, height, left = np.array(sizes, float).T
    share, ratio = width * height / 160_000, width / height
    assert (0.078 < share.min() < 0.1) and (0.9 < share.max() <= 1.0)
    assert (0.74 < ratio.min() < 0.77) and (1.31 < ratio.max() < 1.35)
    assert abs(np.median(np.log(ratio))) < 0.03 and left.max() > 250
    assert np.mean(share) == pytest.approx(0.5, abs=0.04)


def test_a_shape_that_never_fits_gives_the_largest_window_in_the_middle():
    how = Augmentation(scale=(1.0, 1.0), ratio=(0.75, 1.33))
    tries = [(0.5, 0.5, 0.5, 0.5)] * 10
    assert subimagenet.window((400, 100), how, tries) == (133, 0, 266, 100)
    assert subimagenet.window((100, 400), how, tries) == (0, 133, 100, 266)


def test_half_of_the_images_are_mirrored():
    pixels = np.zeros((16, 16, 3), np.uint8)
    pixels[:, :8] = 200
    how = Augmentation(scale=(1.0, 1.0), ratio=(1.0, 1.0))
    rng = np.random.default_rng(0)
    left = [
        subimagenet.augmented(Image.fromarray(pixels), 16, how, rng.random(50))[0, 0, 0] for _ in range(200)
    ]
    assert set(left) == {0.0, 200.0} and 70 < left.count(0.0) < 130
    still = Augmentation(scale=(1.0, 1.0), ratio=(1.0, 1.0), flip=False)
    assert {
        subimagenet.augmented(Image.fromarray(pixels), 16, still, rng.random(50))[0, 0, 0] for _ in range(9)
    } == {200}


def test_interpolation_is_drawn_where_table_5_says_random():
    rng = np.random.default_rng(0)
    image = Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8))
    draws = np.full(50, 0.9)
    results = []
    for kind, drawn in (("bilinear", 0.2), ("bilinear", 0.8), ("random", 0.2), ("random", 0.8)):
        how = Augmentation(scale=(1.0, 1.0), ratio=(1.0, 1.0), interpolation=kind)
        draws[4 * subimagenet.TRIES] = drawn
        results.append(subimagenet.augmented(image, 16, how, draws))
    assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])
    assert not np.array_equal(results[0], results[3])


def test_colours_change_by_no_more_than_the_strength_and_in_every_order():
    grey = Image.fromarray(np.full((4, 4, 3), 100, np.uint8))
    brightest = subimagenet.jittered(grey, 0.4, [0.1, 0.2, 0.3, 1.0, 0.5, 0.5])
    darkest = subimagenet.jittered(grey, 0.4, [0.1, 0.2, 0.3, 0.0, 0.5, 0.5])
    assert np.asarray(brightest)[0, 0, 0] == 140 and np.asarray(darkest)[0, 0, 0] == 60
    assert np.array_equal(subimagenet.jittered(grey, 0.4, [0.1, 0.2, 0.3, 0.5, 0.5, 0.5]), grey)
    rng = np.random.default_rng(0)
    image = Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8))
    factors = [0.9, 0.1, 0.8]
    orders = {
        np.asarray(subimagenet.jittered(image, 0.4, [*places, *factors])).tobytes()
        for places in ((1, 2, 3), (1, 3, 2), (2, 1, 3), (3, 1, 2), (2, 3, 1), (3, 2, 1))
    }
    assert len(orders) == 6


def test_a_run_takes_the_published_sample_and_records_which(tmp_path, imagenet):
    tables = {}
    run = SimpleNamespace(table=lambda name, columns: tables.update({name: columns}))
    train, held, classes = image_sets.images(run, setup(), setup())
    assert (len(train), len(held), classes) == (12, 12, 3)
    assert tables["classes"]["class"] == train.files.classes
    assert tables["data"]["sha256"] == [train.files.sha256]


def test_what_is_missing_is_said_in_one_sentence(imagenet, monkeypatch, tmp_path):
    with pytest.raises(HarnessError, match=r"n00000001 holds 11 images: 12 are wanted of each class"):
        sampled(imagenet, per_class=6)
    monkeypatch.setattr(subimagenet, "CLASSES", 1000)
    with pytest.raises(HarnessError, match="holds 6 folders where ImageNet's training set has 1000 classes"):
        sampled(imagenet)
    monkeypatch.setenv("NAS_DATA", str(tmp_path))
    monkeypatch.setenv("NAS_CACHE", str(tmp_path))
    with pytest.raises(
        HarnessError, match="put them below a folder of NAS_DATA as imagenet/train/n01440764/"
    ):
        subimagenet.parts(setup(), setup())


def test_a_file_that_is_no_image_is_named(imagenet, tmp_path):
    broken = tmp_path / "n1_1.JPEG"
    broken.write_bytes(b"\xff\xd8\xff no more")
    files = subimagenet.Files((broken,), np.zeros(1, int), ("n1",), "0")
    with pytest.raises(HarnessError, match="n1_1.JPEG cannot be read as an image"):
        subimagenet.FolderBatches(files, setup()).take(np.array([0]))
