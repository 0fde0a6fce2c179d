"""Section 5.2: projected gradient descent against the mean prediction of all members."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from harness.base.errors import HarnessError
from harness.training.batches import Pixels
from reproduce.nsa.members import Member


@dataclass(frozen=True)
class Attack:
    """PGDa-b-c of Table 3: at most a grey levels of 255, b steps of c levels each."""

    budget: float
    steps: int
    step: float
    images: int | None = None  # the first so many test images; all where it is null

    def __post_init__(self) -> None:
        if self.budget < 1:
            raise HarnessError(
                f"an attack of {self.budget:g} grey levels changes no image that has 256: give it at least 1"
            )
        if self.steps < 1 or self.step <= 0:
            raise HarnessError(f"an attack of {self.steps} steps of {self.step:g} does nothing: give it some")

    @property
    def name(self) -> str:
        return f"pgd{self.budget:g}_{self.steps}_{self.step:g}"


def normalised(levels: Tensor, pixels: Pixels) -> Tensor:
    """What a network takes, of images on the scale of 0 to 255."""
    mean, deviation = (
        torch.as_tensor(v, dtype=levels.dtype, device=levels.device)[:, None, None]
        for v in (pixels.mean, pixels.deviation)
    )
    return (levels - mean) / deviation


def attacked(
    members: list[Member], levels: Tensor, y: Tensor, pixels: Pixels, attack: Attack, rng: np.random.Generator
) -> Tensor:
    """Images (0 to 255) within the budget; from a random start if there are several steps (D14)."""
    found = levels.clone()
    if attack.steps > 1:
        start = rng.uniform(-attack.budget, attack.budget, tuple(levels.shape))
        found += torch.from_numpy(start).to(levels)
    for _ in range(attack.steps):
        slope = gradient(members, found, y, pixels)
        found = found + attack.step * slope.sign()
        found = (levels + (found - levels).clamp(-attack.budget, attack.budget)).clamp(0, 255)
    return found.detach()


def gradient(members: list[Member], levels: Tensor, y: Tensor, pixels: Pixels) -> Tensor:
    """Of −log of the mean probability of the true class: each member's own, weighted by that probability.

    Two passes per member, and the activations of one member at a time.
    """
    total, slopes = levels.new_zeros(len(y)), torch.zeros_like(levels)
    for one in members:
        at = levels.detach().requires_grad_()
        log_p = torch.log_softmax(one(normalised(at, pixels)), -1).gather(1, y[:, None])[:, 0]
        (slope,) = torch.autograd.grad(log_p.sum(), at)
        p = log_p.detach().exp()
        slopes += p[:, None, None, None] * slope
        total += p
    return -slopes / total.clamp_min(1e-30)[:, None, None, None]
