"""Searches by gradient beyond NAS-Bench-201: epochs cut short, all images to train on, exact gradients."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.runs.checkpoint import Checkpoint
from harness.runs.record import Run
from harness.training.batches import Batches
from harness.training.optimisers import learning_rates
from reproduce.sotl import gradient_search
from reproduce.sotl.gradient_steps import SearchLoop
from reproduce.sotl.mixed_networks import MixedNetwork
from reproduce.sotl.one_shot import image_parts


@dataclass(frozen=True, kw_only=True)
class Config(gradient_search.Config):
    """What some of the other spaces' searches do besides."""

    minibatches: int | None = None  # of an epoch; all images' where it is None (D47)
    merged: bool = False  # validation images are trained on, too (SoTL-DARTS-20, section 4.3.2)
    exact: bool = False  # Eq. 3.20 in place of Eq. 3.22


def run(run: Run, config: Config) -> None:
    checkpoint = Checkpoint(run)
    train, held, classes = parts(run, config)
    mixed = MixedNetwork(run, config, classes)
    gradient_search.known(run, config, [mixed.architecture()])
    search = VariantLoop(run, config, mixed, train, held)
    search.train(checkpoint)
    gradient_search.leave(run, config, search)
    checkpoint.remove()


def parts(run: Run, config: Config) -> tuple[Batches, Batches, int]:
    """Images to train on and to validate on, and the number of classes."""
    train, held, classes = image_parts(run, config)
    if config.merged:
        x, y = (np.concatenate([getattr(part, name) for part in (train, held)]) for name in ("x", "y"))
        train = Batches(x, y, train.pixels, train.device, train.pad)
    return train, held, classes


class VariantLoop(SearchLoop):
    """An epoch is so many minibatches, and a pass over the images goes on in the next one."""

    def __init__(self, run: Run, config: Config, mixed: MixedNetwork, train: Batches, held: Batches) -> None:
        super().__init__(run, config, mixed, train, held)
        self.whole = self.per_epoch
        if config.minibatches is None:
            return
        if not config.unroll <= config.minibatches:
            raise HarnessError(
                f"{run.spec.id}: unroll is {config.unroll} minibatches, an epoch has {config.minibatches}:"
                " lower it"
            )
        self.per_epoch = config.minibatches
        self.chunks = -(-self.per_epoch // config.unroll)
        self.total = config.darts_epochs * self.chunks
        self.rates = learning_rates(config.weights, config.darts_epochs, self.per_epoch)

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        run, (number, place) = self.run, divmod(step, self.whole)
        if self._order is None or self._order[0] != number:
            self._order = number, run.stream(f"order of epoch {number}").permutation(len(self.images))
        chosen = self._order[1][place * self.batch_size : (place + 1) * self.batch_size]
        return self.images.take(chosen, run.stream(f"crops of step {step}"))

    def _rollout(self, steps: range) -> list[Tensor]:
        return self._exact(steps) if self.config.exact else super()._rollout(steps)

    def _exact(self, steps: range) -> list[Tensor]:
        """Eq. 3.20 through the optimiser's steps, momentum and weight decay included; nothing is changed.

        The graph of all T steps is kept: backward passes of mixed networks are none of torch.func's.
        """
        alphas, setup = list(self.alphas), self.config.weights
        names, weights = zip(*self.network.named_parameters(), strict=True)
        found = [self.optimiser.state[weight].get("momentum_buffer") for weight in weights]
        momentum = [torch.zeros_like(w) if b is None else b for w, b in zip(weights, found, strict=True)]
        buffers = {name: buffer.clone() for name, buffer in self.network.named_buffers()}
        now, total = list(weights), torch.zeros(())
        for step in steps:
            x, y = self.batch(step)
            draws = self.run.stream(f"draws of the rollout's step {step}")
            given = {**dict(zip(names, now, strict=True)), **buffers}
            logits = functional_call(self.network, given, (x, self.mixed.weights(draws)))
            loss = functional.cross_entropy(logits, y)
            total = total + loss
            slopes = torch.autograd.grad(loss, now, create_graph=True)
            pushes = [slope + setup.weight_decay * weight for slope, weight in zip(slopes, now, strict=True)]
            momentum = [setup.momentum * b + push for b, push in zip(momentum, pushes, strict=True)]
            if setup.nesterov:
                pushes = [p + setup.momentum * b for p, b in zip(pushes, momentum, strict=True)]
            else:
                pushes = momentum
            rate = self.rates[step]
            now = [weight - rate * push for weight, push in zip(now, pushes, strict=True)]
        found = torch.autograd.grad(total, alphas)
        return [slope / len(steps) for slope in found] if self.config.mean else list(found)
