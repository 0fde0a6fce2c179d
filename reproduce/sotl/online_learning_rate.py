"""Section 4.1.1, Figure 4.1: the learning rate of SGD trained online, to lower a sum of training losses."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from harness.base.errors import HarnessError
from harness.data import load
from harness.runs.checkpoint import Checkpoint
from harness.runs.record import Run
from harness.supernet.ranking import hits, percent
from harness.training.batches import Batches
from harness.training.images import batches
from harness.training.loop import Loop
from harness.training.unrolled import Batch, State
from reproduce.sotl.perceptron import Goal, Perceptron, Slope
from reproduce.sotl.vgg import POOL, VGG

Network = Perceptron | VGG


@dataclass(frozen=True, kw_only=True)
class Config:
    """Section 4.1.1; a null `unroll` is SGD with a constant learning rate."""

    dataset: str
    epochs: int = 50  # drawn in Figure 4.1
    unroll: int | None  # T: the losses along which the learning rate is judged; null: it stays as it is
    lr: float = 1e-3  # at the start
    hyper_lr: float = 1e-2  # of the learning rate (D27)
    clip: float = 10.0  # of the hypergradient's norm (D27)
    goal: Literal["sum", "mean", "held-out"] = "sum"  # of the T losses; or one held-out batch after T steps
    one_step: bool = False  # each loss looks back over one update only (Eq. 4.2)
    every: int | None = None  # steps that are trained with each learning rate, at least T; T where null
    batch: int = 128
    hidden: tuple[int, ...]  # units of the hidden linear layers (D26)
    plan: tuple[int, ...] = ()  # of a VGG: channels of its convolutions, 0 where it pools
    dropout: float = 0.0  # in a VGG's linear layers
    crops: bool = False  # crops and flips of training images
    held: float = 0.1  # of the training images are held out (D28)
    train_images: int | None = None  # of the others; all where it is null
    test_images: int | None = None
    shrink: int = 1  # pixels per side that are averaged into one
    device: Literal["cpu", "cuda"] = "cpu"


class Pieces(NamedTuple):
    """Training, held-out and test images."""

    train: Batches
    held: Batches
    test: Batches


@dataclass
class Counts:
    """What happened to the learning rate in an epoch."""

    updates: int = 0
    clips: int = 0
    halvings: int = 0
    lost: int = 0  # hypergradients that were not finite


def run(run: Run, config: Config) -> None:
    if config.every is not None and config.every < (config.unroll or 1):
        raise HarnessError(
            f"{run.spec.id}: every: {config.every} is less than unroll: train at least T steps"
        )
    pieces = images(run, config)
    training = LearningRateLoop(run, config, pieces)
    checkpoint = Checkpoint(run)
    training.train(checkpoint)
    leave(run, training)
    checkpoint.remove()


def images(run: Run, config: Config) -> Pieces:
    """The training images divided at random, and the test images as they come."""
    whole, test = load(config.dataset, "train"), load(config.dataset, "test")
    order = run.stream("images").permutation(len(whole.y))
    held, rest = np.split(order, [round(config.held * len(order))])
    if config.train_images and config.train_images > len(rest):
        raise HarnessError(f"{run.spec.id}: {config.train_images} training images of {len(rest)}: lower it")
    chosen = (whole, rest[: config.train_images]), (whole, held), (test, slice(config.test_images))
    parts = [(images.x[these], images.y[these]) for images, these in chosen]
    cards = [images.card for images, _ in chosen]
    run.table(
        "data",
        {
            "part": list(Pieces._fields),
            "images": [len(y) for _, y in parts],
            "label": [card.title for card in cards],
            "sha256": [card.identity.sha256 for card in cards],
        },
    )
    return Pieces(*batches(parts, config.device, factor=config.shrink))


def network(config: Config, pieces: Pieces) -> Network:
    classes, side = int(pieces.train.y.max()) + 1, pieces.train.x.shape[1]
    if config.plan:
        if side != 2 ** config.plan.count(POOL):
            raise HarnessError(
                f"the VGG's plan leaves more than one pixel of {side}x{side}: pool until one is left"
            )
        return VGG(config.plan, config.hidden, classes, config.dropout)
    return Perceptron((pieces.train.x[0].size, *config.hidden, classes))


def updated(rate: float, gradient: float, config: Config, counts: Counts) -> float:
    """One step against its clipped gradient; halved where that would lead below zero, or nowhere (D28)."""
    counts.updates += 1
    if not math.isfinite(gradient):
        counts.lost += 1
        counts.halvings += 1
        return rate / 2
    if abs(gradient) > config.clip:
        counts.clips += 1
        gradient = math.copysign(config.clip, gradient)
    new = rate - config.hyper_lr * gradient
    if new < 0:
        counts.halvings += 1
        return rate / 2
    return new


class LearningRateLoop(Loop):
    """One network on its way; runs of one seed share initial weights and minibatches, whatever their T."""

    def __init__(self, run: Run, config: Config, pieces: Pieces) -> None:
        super().__init__(run, config.epochs, "epoch", "weights", "statistics", "rate", "rows", "looked")
        self.config, self.pieces = config, pieces
        self.network = network(config, pieces)
        state = self.network.start(int(run.stream("weights").integers(2**63)))
        self.weights = {name: weight.to(config.device) for name, weight in state.items()}
        self.statistics = {name: value.to(config.device) for name, value in self.network.statistics.items()}
        self.rate = config.lr
        self.rows: list[dict[str, float]] = []
        self.looked = 0  # held-out batches that were looked at

    @property
    def statistics(self) -> State:
        return self.network.statistics

    @statistics.setter
    def statistics(self, values: State) -> None:
        self.network.statistics.update(values)

    def _one(self) -> None:
        """Every image: unroll T minibatches, update the learning rate, then train on the same minibatches."""
        config, counts = self.config, Counts()
        rng = self.run.stream(f"epoch {len(self.rows) + 1}")
        order = rng.permutation(len(self.pieces.train))
        parts = [order[i : i + config.batch] for i in range(0, len(order), config.batch)]
        rates, losses = [], []
        block = config.every or config.unroll or 1
        for start in range(0, len(parts), block):
            batches = [self._batch(part, rng) for part in parts[start : start + block]]
            first = self._learn(batches[: config.unroll], counts) if config.unroll else None
            for i, batch in enumerate(batches):
                slope = first if first and i == 0 else self.network.slope(self.weights, batch)
                self.network.move(self.weights, slope, self.rate)
                losses.append(slope.loss)
                rates.append(self.rate)
        self.rows.append(
            {
                "epoch": len(self.rows) + 1,
                "accuracy": self.accuracy(),
                "loss": float(np.mean(losses)),
                "rate": float(np.mean(rates)),
                "rate_end": self.rate,
                **vars(counts),
            }
        )

    def _batch(self, part: np.ndarray, rng: np.random.Generator) -> Batch:
        x, y = self.pieces.train.take(part, rng if self.config.crops else None)
        drawn = self.network.randomness(len(part), rng)
        return (x, y, *(mask.to(self.config.device) for mask in drawn))

    def _learn(self, batches: list[Batch], counts: Counts) -> Slope | None:
        """Unroll and update the learning rate; the weights stay where they were."""
        goal = self._goal(len(batches))
        if goal.held is None and len(batches) == 1:
            return None  # a first loss does not depend on the learning rate
        gradient, first = self.network.hypergradient(self.weights, self.rate, batches, goal)
        self.rate = updated(self.rate, gradient, self.config, counts)
        return first

    def _goal(self, steps: int) -> Goal:
        config = self.config
        if config.goal != "held-out":
            weight = 1.0 if config.goal == "sum" else 1 / steps
            return Goal([weight] * steps, one_step=config.one_step)
        held = self.pieces.held
        chosen = np.arange(self.looked * config.batch, (self.looked + 1) * config.batch) % len(held)
        self.looked += 1
        return Goal([0.0] * steps, held.take(chosen), config.one_step)

    def accuracy(self) -> float:
        """Percent of the test images, after the epoch."""
        batches = self.pieces.test.in_order(500)
        return percent(hits(lambda x: self.network.logits(self.weights, x), batches))


def leave(run: Run, training: LearningRateLoop) -> None:
    """The table `epochs`, and how often updates were clipped or overridden in each half of the training."""
    rows, state = training.rows, training.weights
    run.table("epochs", {name: [row[name] for row in rows] for name in rows[0]})
    run.metric("parameters", sum(weight.numel() for weight in state.values()))
    run.metric("accuracy", rows[-1]["accuracy"], "%")
    run.metric("best_accuracy", max(row["accuracy"] for row in rows), "%")
    for name in ("updates", "clips", "halvings", "lost"):
        run.metric(name, sum(row[name] for row in rows))
    half = len(rows) // 2
    for part, some in (("first", rows[:half] or rows), ("last", rows[half:])):
        updates = max(sum(row["updates"] for row in some), 1)
        for name in ("clips", "halvings"):
            run.metric(f"{name}_{part}", 100 * sum(row[name] for row in some) / updates, "%")
