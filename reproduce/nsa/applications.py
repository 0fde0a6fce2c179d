"""Sections 5.1 and 5.2: members that predict together: errors, calibration, uncertainty, attacks."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from harness.base.errors import HarnessError
from harness.data import load
from harness.data.transform import shrink
from harness.metrics.calibration import ece_guo, overconfidence, predicted_class_events, reliability
from harness.metrics.temperature import cross_fitted, negative_log_likelihood
from harness.metrics.uncertainty import auroc, entropy, mutual_information
from harness.runs.checkpoint import Checkpoint, Phase
from harness.runs.record import Run
from harness.training.batches import Batches
from reproduce.nsa.attacks import Attack, attacked, normalised
from reproduce.nsa.image_sets import image_parts
from reproduce.nsa.members import Member, architectures, at_random, predicting, probabilities
from reproduce.nsa.network import WiredNet
from reproduce.nsa.training import AT_ONCE, Recipe, Training, build, refuse_own_statistics

BINS = 15  # of calibration


@dataclass(frozen=True, kw_only=True)
class Config(Recipe):
    """A training, or one per architecture, and what its members are asked."""

    individuals: bool = False  # a network for each architecture, trained alone (section 5.1)
    passes: int | None = None  # of dropout or of random architectures; null: each architecture once
    random_passes: int | None = None  # of random architectures, measured beside (D13)
    ood: str | None = None  # image set whose test images are none of the classes (section 5.2)
    ood_images: int | None = None  # the first so many
    attacks: tuple[Attack, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_own_statistics(self, self.passes or self.random_passes)
        if self.random_passes and (self.individuals or self.passes or self.architectures == 1):
            raise HarnessError(
                "random_passes are of one network with several architectures, each of which predicts once"
                " otherwise: leave random_passes out"
            )


def run(run: Run, config: Config) -> None:
    train, test, classes = image_parts(run, config)
    checkpoint = Checkpoint(run)
    networks = _trained(run, config, train, test, classes, checkpoint)
    asked = Asked(run, config, networks, test)
    p = checkpoint.phase("test", asked.test)
    if config.ood:
        checkpoint.phase("other images", partial(asked.others, p))
    for attack in config.attacks:
        checkpoint.phase(attack.name, partial(asked.attack, attack, p))
    run.metric("parameters", sum(q.numel() for q in networks[0].parameters()))
    checkpoint.remove()


def _trained(
    run: Run, config: Config, train: Batches, test: Batches, classes: int, checkpoint: Checkpoint
) -> list[WiredNet]:
    if not config.individuals:
        network = build(run, config, train, classes)
        training = Training(run, config, network, train, test)
        training.train(checkpoint)
        return [network]
    networks = []
    for number in range(config.first, config.first + config.architectures):
        alone = Recipe(**{**_recipe(config), "architectures": 1, "first": number})
        networks.append(build(run, alone, train, classes, f"weights of {number}"))
        training = Training(run, alone, networks[-1], train, test)
        training.train(checkpoint, f"training of {number}")
    return networks


def _recipe(config: Config) -> dict:
    return {name: getattr(config, name) for name in Recipe.__dataclass_fields__}


@dataclass(frozen=True)
class Asked:
    """Members and what they are asked; all of them predict each image."""

    run: Run
    config: Config
    networks: list[WiredNet]
    test_images: Batches

    def members(self, stream: str) -> list[Member]:
        """Passes of dropout or of random architectures draw from this stream."""
        if self.config.passes is not None:
            (network,) = self.networks
            return at_random(network, self.run.stream(stream), self.config.passes)
        return [one for network in self.networks for one in architectures(network)]

    def predicted(self, batches: list[torch.Tensor], stream: str) -> np.ndarray:
        with predicting(self.networks):
            return probabilities(self.members(stream), batches)

    def test(self, _: Phase) -> torch.Tensor:
        """Error and calibration of the mean prediction, and of members alone."""
        y = self.test_images.y
        batches = [x for x, _ in self.test_images.in_order(AT_ONCE)]
        p = self.predicted(batches, "members on test images")
        for name, value in scores(p, y).items():
            self.run.metric(name, value)
        if self.config.random_passes:
            self._random_passes(batches)
        return torch.from_numpy(p)

    def _random_passes(self, batches: list[torch.Tensor]) -> None:
        """The same of passes in which each image has an architecture by chance."""
        (network,) = self.networks
        with predicting(self.networks):
            members = at_random(network, self.run.stream("random passes"), self.config.random_passes)
            p = probabilities(members, batches)
        found = scores(p, self.test_images.y)
        for name in ("error", "member_error", "ece"):
            self.run.metric(f"random_passes_{name}", found[name])

    def others(self, p: torch.Tensor, _: Phase) -> None:
        """Whether mutual information, or entropy, tells images of another set from test images."""
        x = other_images(self.run, self.config, self.test_images)
        q = self.predicted(x, "members on other images")
        self._told("ood", p.numpy(), q)

    def attack(self, attack: Attack, p: torch.Tensor, _: Phase) -> None:
        """Accuracy on attacked images, and whether they are told from the same images as they are."""
        test, rng = self.test_images, self.run.stream(f"start of {attack.name}")
        n = min(attack.images or len(test), len(test))
        found = []
        for place in range(0, n, AT_ONCE):
            chosen = slice(place, min(place + AT_ONCE, n))
            levels = torch.from_numpy(test.x[chosen]).permute(0, 3, 1, 2).float().to(self.config.device)
            y = torch.from_numpy(test.y[chosen]).to(self.config.device)
            with predicting(self.networks):
                members = self.members(f"members against {attack.name} at {place}")
                found.append(normalised(attacked(members, levels, y, test.pixels, attack, rng), test.pixels))
            self.run.progress(chosen.stop, n, f"image under {attack.name}")
        q = self.predicted(found, f"members on images of {attack.name}")
        self.run.metric(f"{attack.name}_accuracy", float((q.mean(0).argmax(1) == test.y[:n]).mean()))
        self._told(attack.name, p.numpy()[:, :n], q)

    def _told(self, name: str, usual: np.ndarray, other: np.ndarray) -> None:
        self.run.metric(f"{name}_auc", auroc(mutual_information(usual), mutual_information(other)))
        self.run.metric(f"{name}_entropy_auc", auroc(entropy(usual.mean(0)), entropy(other.mean(0))))


def scores(p: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Of [members, images, classes]: of the mean prediction, and means over members alone."""
    mean = p.mean(0)
    log_mean = np.log(np.maximum(mean, 1e-300))
    scaled, temperature = cross_fitted(log_mean, y)
    logs = np.log(np.maximum(p, 1e-300))
    return {
        "error": 100 * float((mean.argmax(1) != y).mean()),
        "ece": ece_guo(mean, y, BINS),
        "nll": negative_log_likelihood(log_mean, y),
        "overconfidence": _overconfidence(mean, y),
        "temperature": temperature,
        "scaled_ece": ece_guo(scaled, y, BINS),
        "member_error": 100 * float((p.argmax(2) != y).mean()),
        "member_ece": float(np.mean([ece_guo(one, y, BINS) for one in p])),
        "member_scaled_ece": float(np.mean([ece_guo(cross_fitted(one, y)[0], y, BINS) for one in logs])),
        "member_overconfidence": float(np.mean([_overconfidence(one, y) for one in p])),
        "member_nll": float(np.mean([negative_log_likelihood(one, y) for one in logs])),
        "mutual_information": float(mutual_information(p).mean()),
    }


def _overconfidence(p: np.ndarray, y: np.ndarray) -> float:
    return overconfidence(reliability(*predicted_class_events(p, y), BINS), edges=False)


def other_images(run: Run, config: Config, like: Batches) -> list[torch.Tensor]:
    """Test images of the other set, shrunk and normalised as the network's own are."""
    found = load(config.ood, "test")
    x = found.x[: config.ood_images]
    _, side, _, channels = like.x.shape
    if x.shape[1] != side:
        x = shrink(x, config.shrink)
    if x.shape[3] == 1 and channels > 1:
        x = np.repeat(x, channels, axis=3)
    if x.shape[1:] != like.x.shape[1:]:
        raise HarnessError(
            f"{run.spec.id}: {config.ood} has images of {x.shape[1:]}, and those of {config.dataset} that are"
            f" tested are of {like.x.shape[1:]}: name another set in ood"
        )
    card = found.card
    run.table("other_images", {"label": [card.title], "images": [len(x)], "sha256": [card.identity.sha256]})
    other = Batches(np.ascontiguousarray(x), np.zeros(len(x), np.int64), like.pixels, like.device)
    return [images for images, _ in other.in_order(AT_ONCE)]
