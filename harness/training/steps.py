"""Steps of a training that follow from their number, so that it goes on from anywhere."""

import numpy as np
from torch import Tensor

from harness.runs.record import Run
from harness.training.batches import Batches
from harness.training.optimisers import SGD, learning_rates


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
        self.rates = learning_rates(weights, *each)
        self._order: tuple[int, np.ndarray] | None = None  # of the current epoch

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        """The minibatch of this number, cropped and flipped."""
        epoch, place = divmod(step, self.per_epoch)
        if self._order is None or self._order[0] != epoch:
            self._order = epoch, self.run.stream(f"order of epoch {epoch}").permutation(len(self.images))
        indices = self._order[1][place * self.batch_size : (place + 1) * self.batch_size]
        return self.images.take(indices, self.run.stream(f"crops of step {step}"))
