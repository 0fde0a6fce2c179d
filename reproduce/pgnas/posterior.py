"""Section 2.2: drop probabilities, relaxed and hard masks, and the regulariser that couples them to weights.

Everywhere p is the probability that an input channel is dropped (D1), and λ = logit(p) is what is learnt.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from harness.base.errors import HarnessError

EPS = 1e-8  # the authors' guard inside every logarithm


@dataclass(frozen=True)
class Prior:
    """The constants of Eq. 15."""

    l2: float  # squared length scale of the weights' prior, l² in section 3.1
    n: float  # N, data points: 5e5 for CIFAR in the authors' code, ten times as many as there are (D3)
    half: bool = False  # the ½ of Eq. 15, which the code does not have (D2)
    coupled: bool = True  # False: the "constant L2 term" of Table 2, without its factor 1 − p
    entropy: float = 1.0  # −1: the sign of H in Eq. 15 (D4)

    def __post_init__(self) -> None:
        if not (self.l2 >= 0 and self.n > 0):
            raise HarnessError(f"a prior has l² ≥ 0 and N > 0, not l² = {self.l2} and N = {self.n}")

    @property
    def weight_coefficient(self) -> float:
        return self.l2 / self.n / (2 if self.half else 1)

    @property
    def entropy_coefficient(self) -> float:
        return self.entropy / self.n


def logit_of(p: float) -> float:
    if not 0 < p < 1:
        raise HarnessError(f"a drop probability lies between 0 and 1, not at {p}: correct drop_start")
    return math.log(p) - math.log1p(-p)


def checked_tau(tau: float) -> float:
    if not tau > 0:
        raise HarnessError(f"the temperature τ must be above 0, not {tau}: the paper's are 0.2 and 2/3")
    return tau


def relaxed(logits: Tensor, u1: Tensor, u2: Tensor, tau: float) -> Tensor:
    """Eq. 16 in the authors' form: masks in (0, 1), near 1 where a channel is kept.

    The difference of two Gumbel variables is a logistic one, so this is concrete dropout (Gal et al. 2017).
    """
    noise = (EPS - (u1 + EPS).log()).log() - (EPS - (u2 + EPS).log()).log()
    return torch.sigmoid(-(logits + noise) / tau)


def hard(p: Tensor, u: Tensor) -> Tensor:
    """Line 7 of Algorithm 1: 0 where a channel is dropped, which happens with probability p."""
    return 1.0 - torch.floor(u + p)


def regulariser(p: Tensor, norms: Tensor, channels: Tensor, prior: Prior) -> Tensor:
    """The second and third term of Eq. 15; one entry per drop probability of p, ‖W‖² and K."""
    weights = norms * (1 - p) if prior.coupled else norms
    entropy = torch.xlogy(p, p) + torch.xlogy(1 - p, 1 - p)
    return prior.weight_coefficient * weights.sum() + prior.entropy_coefficient * (channels * entropy).sum()


def logit_gradient(logits: Tensor, norms: Tensor, channels: Tensor, prior: Prior) -> Tensor:
    """∂ regulariser / ∂λ = p(1 − p)·(−c‖W‖² + K/N·λ), c = l²/N; finite also where p rounds to 1."""
    p = torch.sigmoid(logits)
    pull = channels * prior.entropy_coefficient * logits
    if prior.coupled:
        pull = pull - prior.weight_coefficient * norms
    return p * (1 - p) * pull


def fixed_point(norms: Tensor, channels: Tensor, prior: Prior) -> Tensor:
    """The logit where p comes to rest without data; p = σ(l²‖W‖²/K)."""
    return prior.weight_coefficient * norms / (channels * prior.entropy_coefficient)
