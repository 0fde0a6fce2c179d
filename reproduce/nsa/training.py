"""Sections 2 and 3: training under Eq. 1 (an architecture per batch) and Eq. 3 (one per image)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.data.transform import cutout_mask
from harness.runs.record import Run
from harness.training.batches import Batches
from harness.training.loop import Steps
from harness.training.optimisers import SGD, set_rate, weight_optimiser
from harness.training.seeded import seeded
from reproduce.nsa.image_sets import Images
from reproduce.nsa.network import Shape, WiredNet
from reproduce.nsa.wiring import NODES, residual, wirings

CURVE = ("percent", "train_loss", "train_accuracy", "test_loss", "test_accuracy")
AT_ONCE = 250  # images of a forward pass that trains nothing and normalises by running statistics


@dataclass(frozen=True, kw_only=True)
class Recipe(Images):
    """A network and its training (sections 2 and 5; D2 to D6)."""

    sampling: Literal["batch", "image"] = "image"  # what an architecture is drawn for
    wiring: Literal["random", "residual"] = "random"
    architectures: int = 5  # S; WRN-28-10† has one
    first: int = 1  # id of the first of them (D3)
    width: int = 10
    nodes: int = NODES  # of a stage
    mean: bool = True  # of a node's inputs; false: their sum (D1)
    learn_aggregation: bool = False  # weights of edges, of each architecture its own
    conditional_norm: bool = False  # scale and shift of each architecture
    own_statistics: bool = False  # and running statistics of each architecture
    dropout: float = 0.0
    auxiliary: float = 0.1  # weight of the second classifier's loss
    epochs: int = 300
    batch: int = 128
    weights: SGD = SGD(lr_max=0.1, lr_min=0.0008, momentum=0.9, weight_decay=5e-4, nesterov=True)
    falls_at: tuple[float, ...] = (0.3, 0.6, 0.8)  # of the training; lr_max falls to lr_min in equal ratios
    cutout: bool = True  # of half an image's side
    tests: int = 0  # times that the test images are looked at along a training

    def __post_init__(self) -> None:
        if self.own_statistics and self.sampling == "image":
            raise HarnessError("own_statistics needs one architecture per batch: write sampling: batch")
        if self.wiring == "residual" and self.architectures != 1:
            raise HarnessError(
                f"the residual wiring is one, not {self.architectures}: write architectures: 1"
            )
        if self.tests == 1:
            raise HarnessError("tests: 1 makes no curve that could jump: look at least twice, or never")


def refuse_own_statistics(config: Recipe, passes: int | None) -> None:
    """A norm takes one architecture's statistics for all images of a pass."""
    if config.own_statistics and config.architectures > 1 and passes:
        raise HarnessError(
            "own_statistics needs one architecture per batch, and passes draw one for each image: leave"
            " one out"
        )


def build(run: Run, config: Recipe, images: Batches, classes: int, name: str = "weights") -> WiredNet:
    """The network, its first weights from a stream of its own."""
    _, side, _, channels = images.x.shape
    shape = Shape(
        width=config.width,
        classes=classes,
        channels=channels,
        side=side,
        nodes=config.nodes,
        mean=config.mean,
        auxiliary=config.auxiliary > 0,
        dropout=config.dropout,
        learn_aggregation=config.learn_aggregation,
        conditional_norm=config.conditional_norm,
        own_statistics=config.own_statistics,
    )
    if config.wiring == "residual":
        wired = residual(config.nodes)
    else:
        wired = wirings(config.first, config.architectures, config.nodes)
    return seeded(run, name, lambda: WiredNet(shape, wired), config.device)


class Training(Steps):
    """Of one network; along it the test images are looked at with random architectures."""

    def __init__(
        self,
        run: Run,
        config: Recipe,
        network: WiredNet,
        images: Batches,
        test: Batches,
        probes: dict[int, Callable[[], list[list[float]]]] | None = None,
    ) -> None:
        kept = ("curve", "sums", "probed")
        super().__init__(run, images, config.batch, config.epochs, config.weights, None, *kept)
        if len(images) % config.batch == 1:
            raise HarnessError(
                f"{run.spec.id}: {len(images)} training images leave a last batch of one, which has no batch"
                f" statistics: choose another batch than {config.batch}"
            )
        self.config, self.network, self.test = config, network, test
        self.optimiser = weight_optimiser(network, config.weights)
        self.rates = rates(config, self.total)
        tested = [round(self.total * i / config.tests) for i in range(1, config.tests + 1)]
        self.tested = {step: round(100 * i / config.tests) for i, step in enumerate(tested, 1)}
        self.probes = probes or {}
        self.curve: list[list[float]] = []
        self.sums = [0.0, 0.0, 0.0]  # loss, right and images since the last look
        self.probed: list[list[float]] = []

    def _one(self) -> float:
        if self.step in self.probes:
            self.probed += self.probes[self.step]()
        x, y = self.batch(self.step)
        set_rate(self.optimiser, self.rates[self.step])
        self.network.train()
        self.optimiser.zero_grad()
        loss, logits = self.loss(x, y)
        loss.backward()
        self.optimiser.step()
        value = loss.item()
        right = int((logits.detach().argmax(1) == y).sum())
        n = len(y)
        self.sums = [self.sums[0] + value * n, self.sums[1] + right, self.sums[2] + n]
        if self.step + 1 in self.tested:
            self._look(self.tested[self.step + 1])
        return value

    def end(self) -> None:
        if self.total in self.probes:
            self.probed += self.probes[self.total]()

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        x, y = super().batch(step)
        return self.cut(x, f"cutouts of step {step}"), y

    def cut(self, x: Tensor, stream: str) -> Tensor:
        """With a square left out of each image, if the recipe says so."""
        if not self.config.cutout:
            return x
        mask = cutout_mask(len(x), *x.shape[2:], self.run.stream(stream), size=x.shape[2] // 2)
        return x.masked_fill(torch.from_numpy(mask).to(x.device)[:, None], 0.0)

    def loss(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """What is minimised, and the logits."""
        outputs = self.network(x, self.draw(len(x), f"architectures of step {self.step}"))
        return classification(outputs, y, self.config.auxiliary)

    def draw(self, images: int, stream: str) -> Tensor:
        """Ids, of one architecture or of one for each image."""
        rng = self.run.stream(stream)
        if self.config.dropout:  # torch's own generator draws what is dropped
            torch.manual_seed(int(rng.integers(2**63)))
        return drawn(rng, self.config, images)

    def _look(self, percent: int) -> None:
        summed, right = 0.0, 0
        self.network.eval()
        rng = self.run.stream(f"architectures tested at step {self.step}")
        with torch.no_grad():
            for x, y in self.test.in_order(self.config.batch):
                logits = self.network(x, drawn(rng, self.config, len(y)))
                summed += functional.cross_entropy(logits, y, reduction="sum").item()
                right += int((logits.argmax(1) == y).sum())
        n, (loss, hits, images) = len(self.test), self.sums
        self.curve.append([percent, loss / images, 100 * hits / images, summed / n, 100 * right / n])
        self.sums = [0.0, 0.0, 0.0]


def classification(
    outputs: Tensor | tuple[Tensor, Tensor], y: Tensor, auxiliary: float
) -> tuple[Tensor, Tensor]:
    """The cross-entropy of both classifiers, and the logits of the first."""
    if not isinstance(outputs, tuple):
        return functional.cross_entropy(outputs, y), outputs
    logits, second = outputs
    return functional.cross_entropy(logits, y) + auxiliary * functional.cross_entropy(second, y), logits


def drawn(rng: np.random.Generator, config: Recipe, images: int) -> Tensor:
    one = config.sampling == "batch" or config.architectures == 1
    return torch.from_numpy(rng.integers(config.architectures, size=1 if one else images))


def rates(config: Recipe, total: int) -> list[float]:
    """Of each step: lr_max, and behind each point of `falls_at` a constant factor less."""
    factor = (config.weights.lr_min / config.weights.lr_max) ** (1 / max(1, len(config.falls_at)))
    falls = np.array([round(total * share) for share in config.falls_at])
    return [config.weights.lr_max * factor ** int((falls <= step).sum()) for step in range(total)]


def leave_curve(run: Run, training: Training) -> None:
    """The table of Figures 2 and 3, and how much its lines jump from look to look in the second half."""
    rows = np.array(training.curve)
    run.table("curve", {name: rows[:, i] for i, name in enumerate(CURVE)})
    later = rows[len(rows) // 2 - 1 :]
    for name in CURVE[1:]:
        run.metric(f"jumps_{name}", float(np.abs(np.diff(later[:, CURVE.index(name)])).mean()))
    run.metric("steps", training.total)


@torch.no_grad()
def log_probabilities(network: nn.Module, batches: list[tuple[Tensor, Tensor]], which: Tensor) -> np.ndarray:
    """[images, classes] in double precision, by one architecture, as the network is set."""
    logits = torch.cat([network(x, which) for x, _ in batches]).double()
    return torch.log_softmax(logits, -1).cpu().numpy()
