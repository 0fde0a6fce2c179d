"""Training a super-network: one gradient of several paths, or several steps on a task (Reptile and kin)."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.supernet.sampling import How, Path

Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True, kw_only=True)
class Method:
    """What a super-network is trained by; the defaults are one path per step (SPOS)."""

    sampling: How = "shared"
    paths: int = 1  # per gradient (MultiPath); FairNAS takes one per operation
    averaged: bool = True  # the losses of these paths; False: summed (sotl D33)
    inner_steps: int = 1  # more than one: steps within a task, which is one minibatch (Reptile, Metaprox)
    redraw: bool = True  # new paths at every inner step (sotl D8); False: a task is one architecture
    outer_lr: float = 1.0  # how far to follow the task's weights; 1 = there is no way back (sotl D8)
    proximal: float = 0.0  # Metaprox' lambda
    squared: bool = True  # lambda/2 times the squared norm, as run; False: the norm, as written (sotl D9)
    zero_grad: bool = True  # unsampled weights get zero gradients and keep moving (D14); False: they rest

    @property
    def in_tasks(self) -> bool:
        return self.inner_steps > 1


def passes(method: Method, drawn: int) -> int:
    """Forward and backward passes of one minibatch, where a gradient has `drawn` paths."""
    return drawn * method.inner_steps


def descend(
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    paths: list[Path],
    batch: Batch,
    method: Method,
    *,
    start: list[Tensor] | None = None,
    amp: bool = False,
) -> float:
    """One step on the mean or the sum of the losses of these paths, and their mean.

    `start`: where the proximal term pulls back to.
    """
    optimiser.zero_grad(set_to_none=not method.zero_grad)
    x, y = batch
    total, parts = 0.0, len(paths) if method.averaged else 1
    for path in paths:
        with torch.autocast(x.device.type, dtype=torch.bfloat16, enabled=amp):
            loss = functional.cross_entropy(network(x, path), y) / parts
        loss.backward()
        total += loss.item()
    if start is not None and method.proximal:
        _pull(list(network.parameters()), start, method)
    optimiser.step()
    return total * parts / len(paths)


@torch.no_grad()
def _pull(parameters: list[nn.Parameter], start: list[Tensor], method: Method) -> None:
    """Add the gradient of the proximal term, over all weights, sampled or not."""
    way = torch._foreach_sub(parameters, start)
    if method.squared:
        torch._foreach_mul_(way, method.proximal)
    else:
        norm = torch.stack(torch._foreach_norm(way)).norm()
        if norm == 0:
            return  # the norm has no gradient where the task begins
        torch._foreach_mul_(way, method.proximal / 2 / norm.item())
    for parameter, pull in zip(parameters, way, strict=True):
        parameter.grad = pull if parameter.grad is None else parameter.grad.add_(pull)


def adapt(
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    draw: Callable[[], list[Path]],
    batch: Batch,
    method: Method,
    *,
    amp: bool = False,
) -> float:
    """The steps within a task, all on its minibatch, and the step towards where they led; their mean loss."""
    parameters = list(network.parameters())
    start = [p.detach().clone() for p in parameters]
    paths, losses = draw(), []
    for step in range(method.inner_steps):
        if step and method.redraw:
            paths = draw()
        losses.append(descend(network, optimiser, paths, batch, method, start=start, amp=amp))
    if method.outer_lr != 1.0:
        with torch.no_grad():
            for parameter, before in zip(parameters, start, strict=True):
                parameter.copy_(before.lerp(parameter, method.outer_lr))
    return sum(losses) / len(losses)
