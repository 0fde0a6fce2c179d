"""Ranking architectures by a super-network: each is fine-tuned from it on the same minibatches and scored."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.supernet.sampling import Path

Batch = tuple[Tensor, Tensor]
# Of every minibatch, before its update. Higher = predicted better, except for the loss itself.
SCORES = ("loss", "tlmini", "sotl", "sog", "sogn", "sogn_l1", "sogn_double", "sog_author")


@dataclass(frozen=True, kw_only=True)
class FineTune:
    """How an architecture is trained on from the super-network's weights."""

    lr: float
    batch: int = 64
    updates: int = 100
    momentum: float = 0.9
    nesterov: bool = True
    weight_decay: float = 5e-4

    @property
    def name(self) -> str:
        return f"lr{self.lr:g}-b{self.batch}"


class Start:
    """The super-network's weights and statistics, to which it returns before every architecture."""

    def __init__(self, network: nn.Module) -> None:
        self.network = network
        self.kept = {name: value.clone() for name, value in network.state_dict().items()}

    @torch.no_grad()
    def restore(self) -> None:
        """In place; gradients are forgotten."""
        for name, value in self.network.state_dict().items():
            value.copy_(self.kept[name])
        self.network.zero_grad(set_to_none=True)


def fine_tune(
    network: nn.Module,
    path: Path,
    batches: list[Batch],
    setup: FineTune,
    validate: Callable[[int], None] | None = None,
    *,
    amp: bool = False,
) -> Tensor:
    """Scores by minibatch (rows) for one architecture; the network is left fine-tuned.

    There is one minibatch more than updates: row t belongs to the network after t updates, and its SoTL sums
    t + 1 losses, the first of which is the inherited weights' (as the author's). From a loss that is not
    finite on, all scores are the worst there are (-inf).
    """
    live = network.live(path)
    optimiser = torch.optim.SGD(
        live,
        lr=setup.lr,
        momentum=setup.momentum,
        nesterov=setup.nesterov,
        weight_decay=setup.weight_decay,
    )
    gradients = Gradients(live)
    rows, summed = torch.full((len(batches), len(SCORES)), -math.inf, dtype=torch.float64), 0.0
    rows[:, 0] = math.inf
    network.train()
    for step, (x, y) in enumerate(batches):
        if validate is not None:
            validate(step)
            network.train()
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast(x.device.type, dtype=torch.bfloat16, enabled=amp):
            loss = functional.cross_entropy(network(x, path), y)
        loss.backward()
        value = loss.item()
        if not math.isfinite(value):
            break
        summed += value
        rows[step] = torch.tensor([value, -value, -summed, *gradients.add()], dtype=torch.float64)
        if step < setup.updates:
            optimiser.step()
    return rows


class Gradients:
    """SoG and SoGN of section 4.2.4, accumulated over minibatches."""

    def __init__(self, parameters: list[nn.Parameter]) -> None:
        self.parameters = parameters
        self.sum = [torch.zeros_like(p) for p in parameters]
        self.first: list[Tensor] | None = None
        self.norms = self.norms_l1 = self.double = 0.0

    @torch.no_grad()
    def add(self) -> tuple[float, float, float, float, float]:
        """With the gradients of this minibatch: sog, sogn, sogn_l1, sogn_double, sog_author."""
        now = [
            torch.zeros_like(p) if p.grad is None else p.grad for p in self.parameters
        ]  # None: cut off by `none`
        torch._foreach_add_(self.sum, now)
        if self.first is None:
            self.first = [g.clone() for g in now]
        self.norms += _norm(now, 2)
        self.norms_l1 += _norm(now, 1)
        self.double += self.norms  # the running sum summed once more: the author's second key (sotl D13)
        # The author's accumulators lost the first gradient and counted each later one three times (sotl D12).
        author = 3 * _norm(torch._foreach_sub(self.sum, self.first), 1)
        return _norm(self.sum, 1), self.norms, self.norms_l1, self.double, author


def _norm(tensors: list[Tensor], order: int) -> float:
    """Of all tensors as one vector."""
    return torch.stack(torch._foreach_norm(tensors, order)).norm(order).item()


@torch.no_grad()
def hits(predict: Callable[[Tensor], Tensor], batches: Iterable[Batch]) -> Tensor:
    """Of each image, whether the most probable class is right."""
    return torch.cat([predict(x).argmax(dim=1) == y for x, y in batches])


def percent(right: Tensor) -> float:
    return 100.0 * right.sum().item() / len(right)


@torch.no_grad()
def accuracy(network: nn.Module, path: Path, batches: Iterable[Batch], *, amp: bool = False) -> float:
    """Percent right, in evaluation mode: cells without running statistics still use those of the batch."""
    network.eval()
    right = asked = 0
    for x, y in batches:
        with torch.autocast(x.device.type, dtype=torch.bfloat16, enabled=amp):
            right += (network(x, path).argmax(dim=1) == y).sum().item()
        asked += len(y)
    return 100.0 * right / asked
