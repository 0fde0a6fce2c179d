"""Learning rates, loss, augmentation of icw beside the authors'; bias vectors in a chain learn nothing."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional
from witness import icw_ours, icw_start
from witness.formula import noise, numbers, sketch

from harness.data.transform import crop, cutout
from harness.training.batches import Batches, Pixels
from harness.training.optimisers import SGD, weight_optimiser
from reproduce.icw import subimagenet
from reproduce.icw.steps import learning_rates, schedule
from reproduce.icw.training_setup import Augmentation

THEIRS = numbers("icw_setup")
STEPS = 7  # of an epoch
SUPERNET = Augmentation(scale=(0.4, 1.0), ratio=(0.75, 4 / 3), interpolation="bilinear")
STANDALONE = Augmentation(scale=(0.08, 1.0), ratio=(0.75, 4 / 3), interpolation="random", colour_jitter=0.4)

pytestmark = pytest.mark.usefixtures("one_thread")


def rates(lr: float, epochs: int, warmup: int) -> list[float]:
    """Of every step, and where the schedule ends."""
    setup = SGD(lr, 1e-5, 0.9, 3e-4, warmup_epochs=warmup)
    dummy = weight_optimiser(torch.nn.Linear(1, 1), setup)
    return learning_rates(dummy, schedule(dummy, setup, epochs, STEPS), epochs * STEPS)


def test_the_learning_rate_at_the_beginning_of_epochs() -> None:
    """Theirs stays there for the epoch, ours falls with every step; theirs warms up in stairs (D23)."""
    ours = rates(0.025, 250, 0)
    assert ours[:: 25 * STEPS] == pytest.approx(THEIRS["rates"]["nb201"], rel=1e-9)
    ours = rates(0.05, 600, 5)
    assert ours[5 * STEPS : 8 * STEPS : STEPS] == pytest.approx(THEIRS["rates"]["sequential"][5:8], rel=1e-9)
    hundreds = THEIRS["rates"]["sequential, every 100 epochs"]
    assert ours[100 * STEPS :: 100 * STEPS] == pytest.approx(hundreds[1:], rel=1e-9)
    stairs = [0.05 * (epoch + 1) / 6 for epoch in range(5)]
    assert THEIRS["rates"]["sequential"][:5] == pytest.approx(stairs)
    slope = [0.05 * (epoch * STEPS + 1) / (5 * STEPS + 1) for epoch in range(5)]
    assert ours[: 5 * STEPS : STEPS] == pytest.approx(slope)


def test_the_smoothed_loss() -> None:
    logits, label = 3 * noise(80_000, 12, 10), (5 * noise(80_001, 12) + 5).long()
    found = functional.cross_entropy(logits, label, label_smoothing=0.1)
    assert found.item() == pytest.approx(THEIRS["smoothed loss"], rel=1e-14)


def normalised(x: np.ndarray) -> Tensor:
    """By the constants of the authors' CIFAR-10."""
    pixels = Pixels(255 * np.array(THEIRS["mean"]), 255 * np.array(THEIRS["deviation"]))
    return Batches(x, np.zeros(len(x), int), pixels).take(np.arange(len(x)))[0]


def test_crops_and_mirrors_given_their_draws() -> None:
    """Bytes are padded with zeros, then normalised, as theirs; in single precision."""
    x = icw_start.pixels(81_000, 4, 32, 32).numpy()
    rows, columns = np.array([0, 8, 3, 5]), np.array([8, 0, 4, 2])
    mirrored = np.array([True, False, True, False])
    for name, images in (("cropped", crop(x, rows, columns, mirrored)), ("untouched", x)):
        for image, theirs in zip(normalised(images), THEIRS[name], strict=True):
            assert sketch(image) == pytest.approx(theirs, rel=1e-5, abs=1e-3)


def test_cutout_given_its_draws() -> None:
    x = icw_start.pixels(81_000, 4, 32, 32).numpy()[:1]

    class Centre:
        def integers(self, *_: object, **__: object) -> np.ndarray:
            return np.array([self.place])

    for place, theirs in zip(((3, 30), (16, 16), (31, 0)), THEIRS["cutout"], strict=True):
        rng = Centre()
        rng.place = place
        assert sketch(torch.from_numpy(cutout(x, rng)[0])) == pytest.approx(theirs, rel=1e-14)


def large(place: int) -> Image.Image:
    (width, height) = THEIRS["large images evaluated"][place]["size"]
    return Image.fromarray(icw_start.pixels(82_000 + 10 * place, 1, height, width)[0].numpy())


@pytest.mark.parametrize("place", range(3))
def test_large_images_evaluated(place: int) -> None:
    theirs, found = THEIRS["large images evaluated"][place], subimagenet.evaluated(large(place), 224)
    assert sketch(torch.from_numpy(found)) == pytest.approx(theirs["pixels"], rel=1e-12)


@pytest.mark.parametrize(("place", "longer", "ours"), [(3, 1084, 1085), (4, 383, 383)])
def test_large_images_evaluated_with_a_rest(place: int, longer: int, ours: int) -> None:
    """D27: a longer side with a fraction, and a middle between two pixels, are rounded otherwise."""
    theirs, image = THEIRS["large images evaluated"][place], large(place)
    assert max(theirs["resized"]) == longer
    assert round(256 * max(image.size) / min(image.size)) == ours
    found = sketch(torch.from_numpy(subimagenet.evaluated(image, 224)))
    assert found[0] == pytest.approx(theirs["pixels"][0], rel=0.01)
    assert found[2] != pytest.approx(theirs["pixels"][2], rel=1e-3)


@pytest.mark.parametrize("place", range(4))
def test_large_images_augmented_given_their_draws(place: int) -> None:
    """Window, resizing, mirror and colours, as pytorch-image-models and torchvision have them."""
    image, draws = large(place), icw_start.draws(83_000 + place, 50)
    for how, theirs in zip(
        (SUPERNET, STANDALONE), THEIRS["large images"][2 * place : 2 * place + 2], strict=True
    ):
        tries = [tuple(draws[4 * i : 4 * i + 4]) for i in range(subimagenet.TRIES)]
        assert list(subimagenet.window(image.size, how, tries)) == theirs["box"]
        found = subimagenet.augmented(image, 32, how, np.array(draws))
        assert sketch(torch.from_numpy(found)) == pytest.approx(theirs["pixels"], rel=1e-12)


def test_the_constants_that_normalise() -> None:
    """Large images by ImageNet's, as theirs; small ones by their own training images here (D26)."""
    large = {"large mean": subimagenet.MEAN, "large deviation": subimagenet.DEVIATION}
    for name, ours in large.items():
        np.testing.assert_allclose(ours / 255, THEIRS[name], rtol=1e-6)
    x = icw_start.pixels(81_000, 4, 32, 32).numpy()
    assert Pixels.of(x).mean != pytest.approx(255 * np.array(THEIRS["mean"]), rel=0.01)


def test_a_chains_bias_vectors_learn_nothing_in_theirs_and_ours() -> None:
    """D25: a convolution and a batch norm follow, so that what is added to a channel is taken away again."""
    theirs = numbers("icw_sequential")["kinds"]
    for kind in ("bias1", "bias2", "bias3"):
        assert max(map(abs, theirs[kind]["gradients of vectors"])) < 1e-14
        assert theirs[kind]["losses"] == pytest.approx(theirs["none"]["losses"], rel=1e-12)
        network = icw_ours.begin(icw_ours.sequential(kind))
        x, y = icw_start.images(0)
        path = icw_ours.path_of(network, icw_start.CHAIN[0])
        functional.cross_entropy(network.train()(x, path), y).backward()
        assert float(network.additional.table.grad.abs().max()) < 1e-14
        assert float(network.stem[0].weight.grad.abs().max()) > 1e-4
    other = numbers("icw_nb201")["kinds"]
    assert other["bias1"]["gradients of vectors"][1] > 1e-4  # a ReLU comes first there
