"""Section 5.3: few labelled images, and a loss that asks two predictions of an image to agree."""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.runs.checkpoint import Checkpoint
from harness.runs.record import Run
from harness.training.batches import Batches
from reproduce.nsa.applications import scores
from reproduce.nsa.image_sets import image_parts
from reproduce.nsa.members import architectures, at_random, predicting, probabilities
from reproduce.nsa.network import WiredNet
from reproduce.nsa.training import AT_ONCE, Recipe, Training, build, refuse_own_statistics


@dataclass(frozen=True, kw_only=True)
class Config(Recipe):
    """A training on two minibatches at once, of `batch` labelled and as many unlabelled images (D15)."""

    labelled: int = 4000  # of the training images, by chance
    consistency: float = 20.0  # coefficient of the loss; 0: nothing but labels is learnt from
    ramp: float = 0.5  # of the training, in which the coefficient rises
    of_labelled: bool = True  # labelled images are asked to agree, too
    two_views: bool = True  # an image is cropped and flipped anew for its second prediction
    passes: int | None = None  # of dropout in the end; each architecture once where it is null

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_own_statistics(self, self.passes)


def run(run: Run, config: Config) -> None:
    train, test, classes = image_parts(run, config)
    if not 0 < config.labelled < len(train):
        raise HarnessError(
            f"{run.spec.id}: labelled: {config.labelled} of {len(train)} training images: leave some"
        )
    network = build(run, config, train, classes)
    checkpoint = Checkpoint(run)
    training = SemiSupervised(run, config, network, train, test)
    training.train(checkpoint)
    if config.passes is None:
        members = architectures(network)
    else:
        members = at_random(network, run.stream("members"), config.passes)
    with predicting([network]):
        p = probabilities(members, [x for x, _ in test.in_order(AT_ONCE)])
    found = scores(p, test.y)
    for name, value in found.items():
        run.metric(name, value)
    run.metric("accuracy", 100 - found["error"], "%")
    checkpoint.remove()


class SemiSupervised(Training):
    """An epoch is one of the unlabelled images; the labelled ones go round faster."""

    def __init__(self, run: Run, config: Config, network: WiredNet, images: Batches, test: Batches) -> None:
        n = config.labelled  # the first, as images come in random order
        self.labelled = replace(images, x=images.x[:n], y=images.y[:n])
        super().__init__(run, config, network, replace(images, x=images.x[n:], y=images.y[n:]), test)

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        """Labelled images, then unlabelled ones, whose labels no loss looks at."""
        return self._view(step, "")

    def _view(self, step: int, name: str) -> tuple[Tensor, Tensor]:
        """The images of a step, cropped, flipped and cut by streams of this name."""
        crops = self.run.stream(f"{name}crops of step {step}")
        parts = [images.take(chosen, crops) for images, chosen in self._chosen(step)]
        x, y = (torch.cat(part) for part in zip(*parts, strict=True))
        return self.cut(x, f"{name}cutouts of step {step}"), y

    def loss(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Cross-entropy of the labelled images, and the squared distance of the logits of two passes."""
        config, n = self.config, min(self.batch_size, len(self.labelled))
        outputs = self.network(x, self.draw(len(x), f"architectures of step {self.step}"))
        both = outputs if isinstance(outputs, tuple) else (outputs,)
        loss = functional.cross_entropy(both[0][:n], y[:n])
        if len(both) > 1:
            loss = loss + config.auxiliary * functional.cross_entropy(both[1][:n], y[:n])
        if config.consistency:
            first = 0 if config.of_labelled else n
            distance = (both[0] - self._again(x))[first:].square().mean()
            loss = loss + config.consistency * ramp(self.step / self.total / config.ramp) * distance
        return loss, both[0]

    @torch.no_grad()
    def _again(self, x: Tensor) -> Tensor:
        """Logits of a second pass, which no gradient goes through; batch norm works as in training (D15)."""
        if self.config.two_views:
            x, _ = self._view(self.step, "second ")
        outputs = self.network(x, self.draw(len(x), f"second architectures of step {self.step}"))
        return outputs[0] if isinstance(outputs, tuple) else outputs

    def _chosen(self, step: int) -> list[tuple[Batches, np.ndarray]]:
        """Which images of each kind are a step's: they go round in an order that is drawn anew each time."""
        found = []
        for name, images in (("labelled", self.labelled), ("unlabelled", self.images)):
            size = min(self.batch_size, len(images))
            turn, place = divmod(step, len(images) // size)
            order = self.run.stream(f"order of {name}, round {turn}").permutation(len(images))
            found.append((images, order[place * size : (place + 1) * size]))
        return found


def ramp(share: float) -> float:
    """Of the coefficient, along the part of the training in which it rises (Laine and Aila 2017)."""
    return math.exp(-5 * (1 - min(max(share, 0.0), 1.0)) ** 2)
