"""Along which gradient a search moves its architecture: one function per `algorithm` of the config.

Each is asked before the weights are trained on the minibatches `steps`, and leaves the weights as they were.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from harness.supernet import ranking
from harness.training.optimisers import set_rate

if TYPE_CHECKING:
    from reproduce.sotl.gradient_steps import SearchLoop

SMALL = 0.01  # of finite differences (Eq. 3.12), over the norm of the direction, as DARTS has it


class Start(ranking.Start):
    """Weights, statistics and, if asked, momentum before a rollout, to which training returns."""

    def __init__(self, network: nn.Module, optimiser: torch.optim.SGD, momentum: bool) -> None:
        super().__init__(network)
        self.optimiser, self.buffers = optimiser, None
        if momentum:
            found = {p: optimiser.state[p].get("momentum_buffer") for p in network.parameters()}
            self.buffers = {p: None if b is None else b.clone() for p, b in found.items()}

    def restore(self) -> None:
        super().restore()
        for parameter, buffer in (self.buffers or {}).items():
            self.optimiser.state[parameter]["momentum_buffer"] = buffer


def darts(loop: "SearchLoop", steps: range) -> list[Tensor]:
    """Algorithm 2: of one validation minibatch."""
    return _direct(loop, loop.held_batch(steps[0]), steps[0])


def one_minibatch(loop: "SearchLoop", steps: range) -> list[Tensor]:
    return _direct(loop, loop.batch(steps[0]), steps[0])


def noise(loop: "SearchLoop", steps: range) -> list[Tensor]:
    rng = loop.run.stream(f"noise of step {steps[0]}")
    return [torch.from_numpy(rng.standard_normal(alpha.shape)).to(alpha) for alpha in loop.alphas]


def sotl(loop: "SearchLoop", steps: range) -> list[Tensor]:
    """Algorithm 3, step 1: direct gradients, each from the pass that also trains the weights."""
    weights = [p for p in loop.network.parameters() if p.requires_grad]

    def slopes(step: int) -> list[Tensor]:
        set_rate(loop.optimiser, loop.rates[step])
        loss = loop.loss(loop.batch(step), f"draws of the rollout's step {step}")
        found = torch.autograd.grad(loss, [*loop.alphas, *weights])
        for weight, slope in zip(weights, found[len(loop.alphas) :], strict=True):
            weight.grad = slope
        loop.optimiser.step()
        return list(found[: len(loop.alphas)])

    return _summed(loop, steps, slopes)


def sovl(loop: "SearchLoop", steps: range) -> list[Tensor]:
    """The same of validation minibatches, each behind a step of the weights."""

    def slopes(step: int) -> list[Tensor]:
        loop.train_on(step)
        return _direct(loop, loop.held_batch(step), step)

    return _summed(loop, steps, slopes)


def sovl_slip(loop: "SearchLoop", steps: range) -> list[Tensor]:
    """The author's: the architecture's parameters where their gradients should be (D44)."""

    def slopes(step: int) -> list[Tensor]:
        loop.train_on(step)
        return [alpha.detach() for alpha in loop.alphas]

    return _summed(loop, steps, slopes)


def darts_second_order(loop: "SearchLoop", steps: range) -> list[Tensor]:
    """Algorithm 1: Eq. 3.11, the product with the second derivative by central differences (Eq. 3.12).

    The look-ahead is a step with momentum and weight decay, never Nesterov's, as in DARTS' code (D46).
    """
    step, setup = steps[0], loop.config.weights
    alphas, weights = list(loop.alphas), list(loop.network.parameters())
    kept = [weight.detach().clone() for weight in weights]
    train, rate, draws = loop.batch(step), loop.rates[step], f"draws of step {step}"
    slopes = torch.autograd.grad(loop.loss(train, draws), weights)
    with torch.no_grad():
        for weight, slope in zip(weights, slopes, strict=True):
            push = slope + setup.weight_decay * weight
            if (buffer := loop.optimiser.state[weight].get("momentum_buffer")) is not None:
                push = push + setup.momentum * buffer
            weight -= rate * push
    loss = loop.loss(loop.held_batch(step), f"draws of the architecture's step {step}")
    (*direct,) = torch.autograd.grad(loss, [*alphas, *weights])
    towards = direct[len(alphas) :]
    size = SMALL / float(torch.cat([slope.flatten() for slope in towards]).norm())
    sides = []
    for sign in (1, -1):
        with torch.no_grad():
            for weight, was, slope in zip(weights, kept, towards, strict=True):
                weight.copy_(was + sign * size * slope)
        sides.append(torch.autograd.grad(loop.loss(train, draws), alphas))
    with torch.no_grad():
        for weight, was in zip(weights, kept, strict=True):
            weight.copy_(was)
    return [
        of_held - rate * (high - low) / (2 * size) for of_held, high, low in zip(direct, *sides, strict=False)
    ]


def sotl_exact(loop: "SearchLoop", steps: range) -> list[Tensor]:
    """Eq. 3.20 through the optimiser's steps, momentum and weight decay included; nothing is changed.

    The graph of all T steps is kept: backward passes of mixed networks are none of torch.func's.
    """
    setup = loop.config.weights
    names, weights = zip(*loop.network.named_parameters(), strict=True)
    found = [loop.optimiser.state[weight].get("momentum_buffer") for weight in weights]
    momentum = [torch.zeros_like(w) if b is None else b for w, b in zip(weights, found, strict=True)]
    buffers = {name: buffer.clone() for name, buffer in loop.network.named_buffers()}
    now, total = list(weights), torch.zeros(())
    for step in steps:
        x, y = loop.batch(step)
        draws = loop.run.stream(f"draws of the rollout's step {step}")
        given = {**dict(zip(names, now, strict=True)), **buffers}
        logits = loop.mixed.logits(
            x, draws, network=lambda *asked, given=given: functional_call(loop.network, given, asked)
        )
        loss = functional.cross_entropy(logits, y)
        total = total + loss
        slopes = torch.autograd.grad(loss, now, create_graph=True)
        pushes = [slope + setup.weight_decay * weight for slope, weight in zip(slopes, now, strict=True)]
        momentum = [setup.momentum * b + push for b, push in zip(momentum, pushes, strict=True)]
        if setup.nesterov:
            pushes = [p + setup.momentum * b for p, b in zip(pushes, momentum, strict=True)]
        else:
            pushes = momentum
        now = [weight - loop.rates[step] * push for weight, push in zip(now, pushes, strict=True)]
    return _reduced(loop, steps, list(torch.autograd.grad(total, list(loop.alphas))))


def _direct(loop: "SearchLoop", batch: tuple[Tensor, Tensor], step: int) -> list[Tensor]:
    loss = loop.loss(batch, f"draws of the architecture's step {step}")
    return list(torch.autograd.grad(loss, list(loop.alphas)))


def _summed(loop: "SearchLoop", steps: range, slopes: Callable[[int], list[Tensor]]) -> list[Tensor]:
    """Along T steps of training, which are then taken back."""
    start = Start(loop.network, loop.optimiser, loop.config.momentum_restored)
    sums = [torch.zeros_like(alpha) for alpha in loop.alphas]
    for step in steps:
        for total, slope in zip(sums, slopes(step), strict=True):
            total += slope
    start.restore()
    return _reduced(loop, steps, sums)


def _reduced(loop: "SearchLoop", steps: range, sums: list[Tensor]) -> list[Tensor]:
    return [total / len(steps) for total in sums] if loop.config.mean else sums


WAYS = {
    "darts": darts,
    "darts_second_order": darts_second_order,
    "sotl": sotl,
    "sotl_exact": sotl_exact,
    "sovl": sovl,
    "sovl_slip": sovl_slip,
    "one_minibatch": one_minibatch,
    "noise": noise,
}
