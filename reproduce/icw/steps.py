"""Steps of a training that follow from their number, as those of `harness.training.loop`.

These stay as they are for as long as their records do.
"""

import numpy as np
import torch
from torch import Tensor, nn, optim

from harness.runs.record import Run
from harness.training.batches import Batches
from harness.training.optimisers import SGD, weight_optimiser


class Steps:
    """How many there are, and of each its images, crops and learning rate.

    `total`: so many steps instead of whole epochs, with a schedule without warm-up over all of them.
    """

    def __init__(
        self,
        run: Run,
        images: Batches,
        batch_size: int,
        epochs: int,
        weights: SGD,
        total: int | None = None,
    ) -> None:
        self.run, self.images, self.batch_size = run, images, batch_size
        self.per_epoch = -(-len(images) // batch_size)
        self.total = self.per_epoch * epochs if total is None else total
        each = (epochs, self.per_epoch) if total is None else (1, total)
        dummy = weight_optimiser(nn.Linear(1, 1), weights)
        self.rates = learning_rates(dummy, schedule(dummy, weights, *each), self.total)
        self._order: tuple[int, np.ndarray] | None = None  # of the current epoch

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        """The minibatch of this number, cropped and flipped."""
        epoch, place = divmod(step, self.per_epoch)
        if self._order is None or self._order[0] != epoch:
            self._order = epoch, self.run.stream(f"order of epoch {epoch}").permutation(len(self.images))
        indices = self._order[1][place * self.batch_size : (place + 1) * self.batch_size]
        return self.images.take(indices, self.run.stream(f"crops of step {step}"))

    def set_rate(self, optimiser: optim.Optimizer, step: int) -> None:
        for group in optimiser.param_groups:
            group["lr"] = self.rates[step]


def schedule(
    optimiser: torch.optim.Optimizer, setup: SGD, epochs: int, steps: int
) -> torch.optim.lr_scheduler.LRScheduler:
    """Linear warm-up where there is one, then a cosine from lr_max to lr_min; `steps` iterations an epoch."""
    warm = setup.warmup_epochs * steps
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs * steps - warm, setup.lr_min)
    if not warm:
        return cosine
    linear = torch.optim.lr_scheduler.LinearLR(optimiser, 1 / (warm + 1), 1.0, warm)
    return torch.optim.lr_scheduler.SequentialLR(optimiser, [linear, cosine], [warm])


def learning_rates(
    optimiser: torch.optim.Optimizer, scheduler: torch.optim.lr_scheduler.LRScheduler, steps: int
) -> list[float]:
    """The learning rate of each iteration and the one that the schedule ends at, as really stepped."""
    rates = []
    for _ in range(steps + 1):
        rates.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        scheduler.step()
    return rates
