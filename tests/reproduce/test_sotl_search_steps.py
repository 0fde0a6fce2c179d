"""Steps of searches by gradient, each beside a plain computation in double precision."""

import copy
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from gradient_searches import SOTL, begun, made_up_searches  # noqa: F401
from plain_mixed import plain_darts, with_torch_s_modules
from scipy.stats import beta
from torch import Tensor
from torch.nn import functional

from harness.base import seeds
from harness.supernet.relaxed import dirichlet

pytestmark = pytest.mark.usefixtures("one_thread", "made_up_searches")


def near(ours: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(ours, other, rtol=1e-8, atol=1e-12)


def adam(alpha: Tensor, slopes: list[Tensor], rate: float = 0.01, decay: float = 1e-3) -> Tensor:
    """As Kingma and Ba write it, with weight decay in the gradient; betas .5 and .999."""
    first = second = torch.zeros_like(alpha)
    for t, slope in enumerate(slopes, start=1):
        slope = slope + decay * alpha
        first, second = 0.5 * first + 0.5 * slope, 0.999 * second + 0.001 * slope**2
        alpha = alpha - rate * (first / (1 - 0.5**t)) / ((second / (1 - 0.999**t)).sqrt() + 1e-8)
    return alpha


def descended(
    network: torch.nn.Module, momentum: dict[str, Tensor], slopes: tuple[Tensor, ...], rate: float
) -> None:
    """A step with Nesterov momentum .9 and weight decay 5e-4, written out."""
    with torch.no_grad():
        for (name, weight), slope in zip(network.named_parameters(), slopes, strict=True):
            push = slope + 5e-4 * weight
            momentum[name] = 0.9 * momentum[name] + push if name in momentum else push
            weight -= rate * (push + 0.9 * momentum[name])


def cosine(step: int, steps: int) -> float:
    return 0.001 + (0.05 - 0.001) * (1 + math.cos(math.pi * step / steps)) / 2


def test_rates_fall_along_all_minibatches_of_a_search(tmp_path: Path) -> None:
    """By a cosine; a rollout has the rates of the minibatches that are trained on behind it."""
    loop, seen = begun(tmp_path, **SOTL), []
    step = loop.optimiser.step
    loop.optimiser.step = lambda: (seen.append(loop.optimiser.param_groups[0]["lr"]), step())
    while loop.step < loop.total:
        loop.one()
    order = [0, 1, 2, 0, 1, 2, 3, 3, 4, 5, 6, 4, 5, 6, 7, 7]
    assert seen == pytest.approx([cosine(number, 8) for number in order], rel=1e-9)


def test_the_architecture_by_plain_descent(tmp_path: Path) -> None:
    """`sgd`: the rate times the gradient with weight decay, and no momentum."""
    loop = begun(tmp_path, optimiser="sgd", architecture={"lr": 0.1, "weight_decay": 1e-3})
    alpha = loop.alphas[0].detach().clone()
    for step in range(2):
        alpha = alpha - 0.1 * (loop.slopes(range(step, step + 1))[0] + 1e-3 * alpha)
        loop.one()
        near(loop.alphas[0].detach(), alpha)


def test_adam_moves_as_far_by_a_mean_as_by_a_sum(tmp_path: Path) -> None:
    """Of T gradients: it divides by their size, so that T times as large a one is no longer step."""
    longer = {**SOTL, "unroll": 4}  # all updates along as many minibatches
    loops = [begun(tmp_path / str(mean), **longer, mean=mean) for mean in (True, False)]
    for loop in loops:
        while loop.step < loop.total:
            loop.one()
    assert loops[0].travelled == pytest.approx(loops[1].travelled, rel=0.02)


@pytest.mark.parametrize("algorithm", ["darts", "sotl"])
def test_twenty_cells_of_the_whole_darts_space(tmp_path: Path, algorithm: str) -> None:
    """Two updates of Algorithms 2 and 3 through all eight operations of torch's own modules."""
    loop = begun(
        tmp_path, space="darts", cells=20, channels=2, batch_size=16, algorithm=algorithm, truth_source="none"
    )
    plain, momentum = with_torch_s_modules(loop.network.network).train(), {}
    alphas, seen = [alpha.detach().clone() for alpha in loop.alphas], [[], []]

    def slopes_of(batch: tuple[Tensor, Tensor], wanted: list[Tensor]) -> tuple[Tensor, ...]:
        weights = [alpha.softmax(dim=-1) for alpha in given]
        return torch.autograd.grad(
            functional.cross_entropy(plain_darts(plain, batch[0], weights), batch[1]), wanted
        )

    for step in range(2):
        given = [alpha.clone().requires_grad_() for alpha in alphas]
        batch = loop.batch(step) if algorithm == "sotl" else loop.held_batch(step)
        for number, slope in enumerate(slopes_of(batch, given)):
            seen[number].append(slope)
        start = [alpha.detach() for alpha in loop.first]
        given = alphas = [adam(first, own) for first, own in zip(start, seen, strict=True)]
        loop.one()
        for ours, other in zip(loop.alphas, alphas, strict=True):
            near(ours.detach(), other)
        descended(plain, momentum, slopes_of(loop.batch(step), list(plain.parameters())), cosine(step, 4))
    names = dict(plain.named_parameters())
    for name, ours in loop.network.network.named_parameters():
        near(ours, names[name])


def test_drnas_draws_weights_for_every_minibatch(tmp_path: Path) -> None:
    """Dirichlet's, anew in each pass of rollout and replay; the gradient is the sum along the rollout."""
    loop = begun(tmp_path, **SOTL, relaxation="dirichlet")
    network, momentum, total = copy.deepcopy(loop.network), {}, torch.zeros_like(loop.alphas[0])

    def pass_(step: int, name: str, alpha: Tensor) -> Tensor:
        torch.manual_seed(int(seeds.stream(0, name.format(step)).integers(2**62)))
        weights = torch.distributions.Dirichlet(functional.elu(alpha) + 1).rsample()
        x, y = loop.batch(step)
        return functional.cross_entropy(network(x, weights), y)

    before = copy.deepcopy(network.state_dict())
    for step in range(3):
        alpha = loop.first[0].clone().requires_grad_()
        loss = pass_(step, "draws of the rollout's step {}", alpha)
        slope, *others = torch.autograd.grad(loss, [alpha, *network.parameters()])
        total += slope
        descended(network, momentum, tuple(others), cosine(step, 8))
    moved, momentum = adam(loop.first[0], [total]), {}
    network.load_state_dict(before)
    for step in range(3):
        slopes = torch.autograd.grad(pass_(step, "draws of step {}", moved), list(network.parameters()))
        descended(network, momentum, slopes, cosine(step, 8))
    loop.one()
    near(loop.alphas[0].detach(), moved)
    for ours, other in zip(loop.network.parameters(), network.parameters(), strict=True):
        near(ours, other)


def test_dirichlet_s_gradient_is_that_of_its_quantile() -> None:
    """Of a draw of two weights: the slope of the quantile that it is, by differences of scipy's."""
    alpha = torch.tensor([0.3, -0.4], dtype=torch.float64, requires_grad=True)
    share = dirichlet(alpha, np.random.default_rng(3))[0]
    level = beta.cdf(share.item(), *(functional.elu(alpha) + 1).tolist())
    slope = torch.autograd.grad(share, alpha)[0]
    for place, unit in enumerate(torch.eye(2, dtype=torch.float64)):
        sides = (
            beta.ppf(level, *(functional.elu(alpha + side * unit) + 1).tolist()) for side in (1e-5, -1e-5)
        )
        assert slope[place].item() == pytest.approx(float(np.subtract(*sides)) / 2e-5, rel=1e-4)
