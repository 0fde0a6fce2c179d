"""One way to train: step by step, each of which follows from its number, to go on from anywhere."""

from typing import Any

import numpy as np
from torch import Tensor, nn, optim

from harness.base.errors import HarnessError
from harness.runs.checkpoint import Phase
from harness.runs.record import Run
from harness.training.batches import Batches
from harness.training.optimisers import SGD, learning_rates, touch, touched

KEEPS = nn.Module | optim.Optimizer  # a state of their own


class Loop:
    """`_one` is the next step and gives its loss, if it has one; the rest hangs on the attributes in `kept`.

    `unit`: of which progress is told, if it is; `name`: of what is trained, for an error.
    """

    def __init__(self, run: Run, total: int, unit: str, *kept: str) -> None:
        self.run, self.total, self.unit, self.kept = run, total, unit, ("step", "losses", *kept)
        self.step, self.losses, self.name = 0, [], "the network"

    def train(self, part: Phase, name: str = "training") -> None:
        """To the end, from where it was killed; what was trained before that is loaded."""
        trained = part.phase(name, self._to_the_end)
        if self.step < self.total:
            self.load(trained)

    def _to_the_end(self, part: Phase) -> dict[str, Any]:
        if part.state is not None:
            self.load(part.state)
        while self.step < self.total:
            self.one()
            if self.unit:
                self.run.progress(self.step, self.total, self.unit)
            if part.due:
                part.save(self.state())
        self.end()
        return self.state()

    def one(self) -> None:
        loss = self._one()
        if loss is not None:
            if not np.isfinite(loss):
                raise HarnessError(
                    f"{self.run.spec.id}: {self.name}: the loss became {loss} at step {self.step} of"
                    f" {self.total}: lower weights.lr_max"
                )
            self.losses.append(loss)
        self.step += 1

    def _one(self) -> float | None:
        raise NotImplementedError

    def end(self) -> None:
        """What is left to do behind the last step."""

    def state(self) -> dict[str, Any]:
        parts = {name: getattr(self, name) for name in self.kept}
        return {name: part.state_dict() if isinstance(part, KEEPS) else part for name, part in parts.items()}

    def load(self, state: dict[str, Any]) -> None:
        for name in self.kept:
            if isinstance(part := getattr(self, name), KEEPS):
                part.load_state_dict(state[name])
            else:
                setattr(self, name, state[name])


class Steps(Loop):
    """A loop over minibatches of a set; `network` and `optimiser` are for those who build on it to set.

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
        *kept: str,
        unit: str = "step of training",
    ) -> None:
        self.images, self.batch_size = images, batch_size
        self.per_epoch = -(-len(images) // batch_size)
        times, steps = (epochs, self.per_epoch) if total is None else (1, total)
        super().__init__(run, times * steps, unit, "network", "optimiser", *kept)
        self.rates = learning_rates(weights, times, steps)
        self._order: tuple[int, np.ndarray] | None = None  # of the current epoch

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        """The minibatch of this number, cropped and flipped."""
        epoch, place = divmod(step, self.per_epoch)
        if self._order is None or self._order[0] != epoch:
            self._order = epoch, self.run.stream(f"order of epoch {epoch}").permutation(len(self.images))
        indices = self._order[1][place * self.batch_size : (place + 1) * self.batch_size]
        return self.images.take(indices, self.run.stream(f"crops of step {step}"))

    def state(self) -> dict[str, Any]:
        return {**super().state(), "touched": touched(self.network)}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        touch(self.network, state["touched"])
