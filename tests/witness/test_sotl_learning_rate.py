"""Learning rates trained online, beside the author's code: counts, logits, hypergradients, rates, weights.

Images and weights are a formula's. The last run of an epoch is shorter, and so is its last minibatch.
"""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn
from witness.formula import fill, noise, numbers, sketch

from harness.base.settings import build
from harness.training.unrolled import Batch, State
from reproduce.sotl.online_learning_rate import Config, Counts, LearningRateLoop, Pieces, updated
from reproduce.sotl.perceptron import Goal
from reproduce.sotl.vgg import VGG

THEIRS = numbers("sotl_learning_rate")
MLP = {"dataset": "formula", "hidden": [1000, 1000], "batch": 16}
PLAN = [8, 0, 16, 0, 32, 0, 64, 0, 512, 0]
PUBLISHED = [64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0]
SMALL = {"dataset": "formula", "plan": PLAN, "hidden": [512, 512], "batch": 8, "unroll": 3}
SMALL |= {"lr": 0.01, "hyper_lr": 1e-3, "clip": 100}
# Both sum in double precision, in another order; nothing here was further apart than 3e-14.
CLOSE = {"rel": 1e-12, "abs": 1e-12}

pytestmark = pytest.mark.usefixtures("one_thread")


class Shown:
    """Images that come in the formula's order, where a run would draw one."""

    def __init__(self, number: int, count: int, *shape: int) -> None:
        self.images, self.labels = noise(number, count, *shape), ((noise(number + 1, count) + 1) * 5).long()
        self.x, self.y = np.empty((count, *shape[1:], shape[0])), self.labels.numpy()

    def __len__(self) -> int:
        return len(self.y)

    def take(self, part: np.ndarray, _: object = None) -> Batch:
        return self.images[part], self.labels[part]

    def in_order(self, size: int) -> list[Batch]:
        return [(self.images[:size], self.labels[:size])]


class InOrder:
    """A run whose streams leave everything where it is."""

    def stream(self, _: str) -> "InOrder":
        return self

    def integers(self, _: int) -> int:
        return 0

    def permutation(self, count: int) -> np.ndarray:
        return np.arange(count)


def started(given: dict[str, object], pieces: Pieces, first: int) -> LearningRateLoop:
    training = LearningRateLoop(InOrder(), build(Config, given, "a witness"), pieces)
    training.weights = filled(training.weights, first)
    for name, value in training.network.statistics.items():
        training.network.statistics[name] = value.double()
    return training


def filled(state: State, first: int) -> State:
    leaves = {name: nn.Parameter(weight.double()) for name, weight in state.items()}
    fill(list(leaves.values()), first)
    return {name: weight.detach() for name, weight in leaves.items()}


def perceptron(**changed: object) -> LearningRateLoop:
    given = {**MLP, **changed}
    steps = given["unroll"]
    pieces = Pieces(
        Shown(100, (3 * steps + 1) * 16 + 5, 1, 28, 28), Shown(102, 64, 1, 28, 28), Shown(100, 8, 1, 28, 28)
    )
    return started(given, pieces, 0)


def small_vgg(images: int) -> LearningRateLoop:
    return started(SMALL, Pieces(*[Shown(200, images, 3, 32, 32)] * 3), 400)


def whole(state: State) -> list[float]:
    return sketch(torch.cat([weight.reshape(-1) for weight in state.values()]))


def watch(training: LearningRateLoop, before: Callable[[list[Batch]], None] | None = None) -> dict[str, list]:
    """What each run of T minibatches does, as the witness's file has it."""
    seen = {"gradient": [], "value": [], "weights": []}
    learn, slope = training._learn, training.network.hypergradient

    def watched(batches: list[Batch], counts: Counts):
        if seen["value"]:
            seen["weights"].append(whole(training.weights))
        if before:
            before(batches)
        first = learn(batches, counts)
        seen["value"].append(training.rate)
        return first

    def hypergradient(*given: object):
        found = slope(*given)
        seen["gradient"].append(found[0])
        return found

    training._learn, training.network.hypergradient = watched, hypergradient
    return seen


def followed(training: LearningRateLoop, epochs: int) -> dict[str, list]:
    seen = watch(training)
    for _ in range(epochs):
        training.one()
    seen["weights"].append(whole(training.weights))
    return seen


def assert_same(ours: dict[str, list], theirs: dict[str, list], **close: float) -> None:
    for name in ("gradient", "value", "weights"):
        assert np.array(ours[name]) == pytest.approx(np.array(theirs[name]), **{**CLOSE, **close}), name


def test_the_perceptron_has_the_size_and_the_logits_of_the_authors():
    training = perceptron(unroll=2)
    assert sum(weight.numel() for weight in training.weights.values()) == THEIRS["mlp"]["parameters"]
    found = training.network.logits(training.weights, training.pieces.train.images[:1])[0]
    assert found.tolist() == pytest.approx(THEIRS["mlp"]["logits"], **CLOSE)


@pytest.mark.parametrize("steps", [2, 5, 10])
def test_two_epochs_of_the_perceptron_are_the_authors(steps):
    """Eight runs: rates grow, fall and are halved."""
    assert_same(followed(perceptron(unroll=steps), 2), THEIRS["mlp"][f"t{steps}"])


def test_the_override_of_both_halves():
    """The gradient would lead from 0.001 to below zero, and then again."""
    theirs = THEIRS["mlp"]["t2"]
    assert theirs["value"][:2] == [1e-3 / 2, 1e-3 / 4] and min(theirs["gradient"][:2]) > 0.1


def test_the_weight_decay_that_is_left_out_cannot_be_felt():
    """D28: the author's, divided by the number of weights; after 152 minibatches it is 1e-9 of a gradient."""
    theirs, without = THEIRS["mlp"]["decayed"], THEIRS["mlp"]["t10"]
    assert_same(without, theirs, rel=1e-8, abs=1e-7)
    assert 1e-9 < abs(theirs["gradient"][6] - without["gradient"][6]) < 1e-8


def test_one_step_says_nothing_of_the_learning_rate_to_either():
    ours = followed(perceptron(unroll=1), 2)
    assert set(THEIRS["mlp"]["t1"]["gradient"]) == {0.0} and not ours["gradient"]
    assert_same({**ours, "gradient": [0.0] * 10}, THEIRS["mlp"]["t1"])


def test_the_clip_is_the_authors():
    """But for a millionth that the author adds to the norm, lest it be zero (D28)."""
    theirs = THEIRS["mlp"]["clipped"]
    clipped = [abs(g) > 0.5 for g in theirs["gradient"]]
    assert clipped == [False, True, True, False, True, True, True, False]
    assert theirs["clipped"][1] == pytest.approx(-0.5 / (1 + 1e-6 / 3.9289), rel=1e-9)
    ours = followed(perceptron(unroll=5, clip=0.5), 2)
    assert_same(ours, theirs, abs=1e-6)
    assert ours["value"][1] - theirs["value"][1] == pytest.approx(1e-2 * 0.5 * 1e-6 / 3.9289, rel=1e-3)


def test_the_held_out_variant_is_the_authors():
    """A held-out minibatch for each of an epoch's four runs; the author's begin anew with each epoch."""
    assert_same(followed(perceptron(unroll=2, goal="held-out"), 2), THEIRS["mlp"]["held_out"])


@pytest.mark.parametrize("steps", [2, 5])
def test_the_last_versions_optimiser_does_not_replay(steps):
    """D28: its steps start where the unrolling ended. That rule gives its numbers, and ours are others."""
    theirs, training = THEIRS["last"][f"t{steps}"], perceptron(unroll=steps)
    network, state, config = training.network, training.weights, training.config
    rate, ours = config.lr, {"gradient": [], "value": [], "weights": []}
    shown = training.pieces.train
    images = [shown.take(part) for part in np.split(np.arange(len(shown)), range(16, len(shown), 16))]
    for start in [*range(0, len(images), steps)] * 2:
        batches = images[start : start + steps]
        gradient, _ = network.hypergradient(state, rate, batches, Goal([1.0] * len(batches)))
        end = {name: weight.clone() for name, weight in state.items()}
        for batch in batches:
            network.move(end, network.slope(end, batch), rate)
        rate = updated(rate, gradient, config, Counts())
        for batch in batches:
            slope = network.slope(state, batch)
            state = {name: weight.clone() for name, weight in end.items()}
            network.move(state, slope, rate)
        for name, value in zip(ours, (gradient, rate, whole(state)), strict=True):
            ours[name].append(value)
    assert_same(ours, theirs)
    anew = THEIRS["mlp"][f"t{steps}"]
    assert theirs["gradient"][0] == anew["gradient"][0]
    assert abs(theirs["gradient"][1] / anew["gradient"][1] - 1) > 1e-3


def test_an_epoch_of_a_small_vgg_is_the_authors():
    training = small_vgg(72)
    assert sum(weight.numel() for weight in training.weights.values()) == THEIRS["vgg"]["parameters"]
    assert_same(followed(training, 1), THEIRS["vgg"]["t3"])


def test_running_statistics_move_twice_in_the_authors_code_and_once_in_ours():
    """D28: with the unrolling's moves put in, statistics and logits are the author's."""
    theirs, image = THEIRS["vgg"], small_vgg(72).pieces.train.images[:1]
    found = {}
    for both in (True, False):
        training = small_vgg(72)
        network = training.network

        def unroll(batches: list[Batch], training: LearningRateLoop = training) -> None:
            here = {name: weight.clone() for name, weight in training.weights.items()}
            for batch in batches:
                training.network.move(here, training.network.slope(here, batch), training.rate)

        watch(training, unroll if both else None)
        training.one()
        found[both] = whole(network.statistics), network.logits(training.weights, image)[0].tolist()
    assert found[True][0] == pytest.approx(theirs["statistics"], **CLOSE)
    assert found[True][1] == pytest.approx(theirs["logits"], **CLOSE)
    assert found[False][0][0] == pytest.approx(247.567, abs=1e-3)
    assert max(abs(a - b) for a, b in zip(found[False][1], theirs["logits"], strict=True)) > 5e-4


def test_dropout_stands_where_the_authors_does():
    """Masks by the formula at the inputs of the first two linear layers: loss and slope of a batch."""
    training = small_vgg(72)
    masks = [(noise(500 + i, 8, 512) > 0).double() * 2 for i in range(2)]
    x, y = training._batch(np.arange(8), None)
    training.network.dropout = 0.5
    drawn = training.network.randomness(8, np.random.default_rng(0))
    assert [mask.shape for mask in drawn] == [mask.shape for mask in masks]
    assert {float(value) for mask in drawn for value in mask.unique()} == {0.0, 2.0}
    slope = training.network.slope(training.weights, (x, y, *masks))
    assert slope.loss == pytest.approx(THEIRS["vgg"]["dropout"]["loss"], **CLOSE)
    assert whole(slope.whole) == pytest.approx(THEIRS["vgg"]["dropout"]["slope"], **CLOSE)


def test_the_published_vgg_is_the_authors():
    """Parameters, logits, and the hypergradient for T = 2."""
    theirs, network = THEIRS["vgg"]["published"], VGG(PUBLISHED, [512, 512], 10, 0.0)
    state = filled(network.start(0), 400)
    network.statistics.update({name: value.double() for name, value in network.statistics.items()})
    assert sum(weight.numel() for weight in state.values()) == theirs["parameters"]
    shown = Shown(200, 8, 3, 32, 32)
    found = network.logits(state, shown.images[:1])[0]
    assert found.tolist() == pytest.approx(theirs["logits"], **CLOSE)
    batches = [shown.take(np.arange(first, first + 4)) for first in (0, 4)]
    gradient, _ = network.hypergradient(state, 0.01, batches, Goal([1.0, 1.0]))
    assert gradient == pytest.approx(theirs["gradient"][0], **CLOSE)
