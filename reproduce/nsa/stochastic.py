"""Sections 3 and 4: a network with stochastic architectures is trained; what its architectures predict."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch

from harness.base.errors import HarnessError
from harness.metrics.uncertainty import auroc
from harness.runs.checkpoint import Checkpoint, Phase
from harness.runs.record import Run
from harness.training.batches import Batches
from reproduce.nsa import batch_means
from reproduce.nsa.batch_means import Probe
from reproduce.nsa.batch_norm_modes import by_batch, estimate, kept_statistics
from reproduce.nsa.image_sets import image_parts
from reproduce.nsa.network import WiredNet
from reproduce.nsa.training import AT_ONCE, Recipe, Training, build, leave_curve, log_probabilities
from reproduce.nsa.wiring import wiring

# Accuracies on all, on even and on odd test images: one architecture is as lucky with the same images in
# each mode, so that modes are compared on different ones.
Halves = tuple[float, float, float]
UNCHOSEN = 2  # norms, those of the stem and of the first node, that come before any choice


@dataclass(frozen=True, kw_only=True)
class Config(Recipe):
    """A training, and how many architectures are looked at behind it."""

    tests: int = 20  # points of the curves of Figures 2 and 3
    scored: int = 100  # seen architectures that are looked at in each mode of batch norm (section 3)
    unseen: int = 100  # architectures that were not trained (section 4.2)
    members: int = 500  # of the largest ensemble (section 4.1)
    estimated_images: int = 1024  # by which batch norm is estimated anew for an architecture
    first_unseen: int = 50501  # id (D10)
    probe: Probe | None = field(default_factory=Probe)  # of batch means

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unseen and (self.learn_aggregation or self.conditional_norm or self.own_statistics):
            raise HarnessError(
                "an architecture that was not trained has no weights and no statistics of its own: write"
                " unseen: 0"
            )
        if self.unseen and not self.scored:
            raise HarnessError("unseen architectures are told from seen ones: write scored, or unseen: 0")


def run(run: Run, config: Config) -> None:
    if config.first + config.architectures > config.first_unseen:
        raise HarnessError(
            f"{run.spec.id}: ids from {config.first_unseen} on are to be unseen, and"
            f" {config.architectures} architectures are trained: raise first_unseen"
        )
    train, test, classes = image_parts(run, config)
    network = build(run, config, train, classes)
    training = Training(run, config, network, train, test, _probes(run, config, network, train))
    checkpoint = Checkpoint(run)
    training.train(checkpoint)
    if config.tests:
        leave_curve(run, training)
    if config.probe:
        _leave_batch_means(run, config.probe, training.probed)
    looks = Looks(run, network, train, test, config)
    right = checkpoint.phase("seen", looks.seen)
    if config.scored:
        checkpoint.phase("modes", partial(looks.modes, right))
    if config.unseen:
        checkpoint.phase("unseen", partial(looks.unseen, right))
    run.metric("parameters", sum(p.numel() for p in network.parameters()))
    checkpoint.remove()


@dataclass(frozen=True)
class Looks:
    """At a trained network with one architecture at a time."""

    run: Run
    network: WiredNet
    train: Batches
    test: Batches
    config: Config

    def seen(self, _: Phase) -> list[Halves]:
        """Accuracies of the first trained architectures, and those of ensembles of more and more of them."""
        config, y = self.config, self.test.y
        total, right, curve = 0.0, [], []
        self.network.eval()
        batches = self.test.in_order(AT_ONCE)
        several = min(config.architectures, max(config.scored, config.members))
        for i in range(several):
            p = np.exp(log_probabilities(self.network, batches, torch.tensor([i])))
            total = total + p
            right.append(_halves(p, y))
            curve.append(_accuracy(total, y))
            self.run.progress(i + 1, several, "architecture in an ensemble")
        members = min(several, config.members)
        self.run.table("ensemble", {"members": range(1, members + 1), "accuracy": curve[:members]})
        alone = float(np.mean([of_all for of_all, *_ in right[:members]]))
        self.run.metric("alone", alone, "%")
        self.run.metric("ensemble", curve[members - 1], "%")
        self.run.metric("gain", curve[members - 1] - alone, "%")
        self.run.metric("gain_of_20", curve[min(20, members) - 1] - alone, "%")
        return right[: config.scored]

    def modes(self, right: list[Halves], _: Phase) -> None:
        """The same with batch norm as in training, and with statistics that were estimated for each anew."""
        config, network, y = self.config, self.network, self.test.y
        tested, at_once = self.test.in_order(config.batch), self.test.in_order(AT_ONCE)
        if len(tested[-1][1]) == 1:
            tested = tested[:-1]  # a batch of one has no statistics
        estimating = self.train.in_order(config.batch, config.estimated_images)
        found: dict[str, list[Halves]] = {"test": right, "batch": [], "estimated": []}
        for i in range(len(right)):
            which = torch.tensor([i])
            with by_batch(network):
                p = log_probabilities(network, tested, which)
            found["batch"].append(_halves(p, y[: len(p)]))
            with kept_statistics(network):
                estimate(network, [x for x, _ in estimating], [which] * len(estimating))
                network.eval()
                found["estimated"].append(_halves(log_probabilities(network, at_once, which), y))
            self.run.progress(i + 1, len(right), "architecture in modes of batch norm")
        ids = range(config.first, config.first + len(right))
        columns = {name: column for kind in found for name, column in _columns(kind, found[kind]).items()}
        self.run.table("modes", {"arch": ids, **columns})
        for kind in found:
            self.run.metric(f"mean_{kind}", float(np.mean(columns[kind])), "%")
            self.run.metric(f"spread_{kind}", float(np.std(columns[kind])), "%")

    def unseen(self, right: list[Halves], _: Phase) -> None:
        """Accuracies of architectures that were not trained, and whether that can be told from them."""
        config, found = self.config, []
        batches = self.test.in_order(AT_ONCE)
        self.network.eval()
        ids = range(config.first_unseen, config.first_unseen + config.unseen)
        for i, number in enumerate(ids, 1):
            which = self.network.foreign(wiring(number, config.nodes))
            found.append(_halves(log_probabilities(self.network, batches, which), self.test.y))
            self.run.progress(i, len(ids), "unseen architecture")
        columns = _columns("test", found)
        self.run.table("unseen", {"arch": ids, **columns})
        told = auroc(np.array(columns["test"]), np.array([of_all for of_all, *_ in right]))
        self.run.metric("auc", told)
        self.run.metric("auc_above_chance", told - 0.5)
        self.run.metric("mean_unseen", float(np.mean(columns["test"])), "%")


def _halves(probability: np.ndarray, y: np.ndarray) -> Halves:
    even, odd = (_accuracy(probability[first::2], y[first::2]) for first in (0, 1))
    return _accuracy(probability, y), even, odd


def _columns(name: str, found: list[Halves]) -> dict[str, list[float]]:
    kinds = (name, f"{name}_even", f"{name}_odd")
    return {kind: list(values) for kind, values in zip(kinds, zip(*found, strict=True), strict=True)}


def _accuracy(probability: np.ndarray, y: np.ndarray) -> float:
    return 100 * float((probability.argmax(1) == y).mean())


def _probes(run: Run, config: Config, network: WiredNet, images: Batches) -> dict:
    """By step, what looks at batch means before it."""
    if config.probe is None:
        return {}
    total = -(-len(images) // config.batch) * config.epochs
    return {
        round(total * percent / 100): partial(_look, run, config.probe, network, images, percent)
        for percent in config.probe.at
    }


def _look(run: Run, probe: Probe, network: WiredNet, images: Batches, percent: int) -> list[list[float]]:
    """Percent, batch (0: exact), layer, and the two variances."""
    rng = run.stream(f"batch means at {percent}")
    found = batch_means.shares(network, images, probe, rng)
    rows = [[percent, 0, layer, *of_layer] for layer, of_layer in enumerate(found.tolist(), 1)]
    for batch in probe.batches:
        values = batch_means.measured(network, images, probe, batch, rng)
        rows += [[percent, batch, layer, *of_layer] for layer, of_layer in enumerate(values.tolist(), 1)]
    return rows


def _leave_batch_means(run: Run, probe: Probe, rows: list[list[float]]) -> None:
    """By what factor the variance falls; layer 0 is the geometric mean of those behind a choice."""
    table = np.array(rows)
    factors: dict[str, list[float]] = {name: [] for name in batch_means.FACTORS}
    for percent in probe.at:
        here = table[table[:, 0] == percent]
        exact = here[here[:, 1] == 0][:, 3:]
        for batch in probe.batches:
            by_batch_and_image = here[here[:, 1] == batch][:, 3:]
            both = (batch_means.ratio(exact, batch), by_batch_and_image[:, 0] / by_batch_and_image[:, 1])
            factors["percent"] += [percent] * (1 + len(exact))
            factors["batch"] += [batch] * (1 + len(exact))
            factors["layer"] += range(1 + len(exact))
            for name, ratio in zip(("exact", "measured"), both, strict=True):
                factors[name] += [batch_means.geometric_mean(ratio[UNCHOSEN:]), *ratio.tolist()]
    run.table("batch_means", factors)
