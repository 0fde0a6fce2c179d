"""Gradients through training: of a sum of losses along T steps, by what these steps depend on (Eq. 3.20)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import grad, grad_and_value, jvp, vjp

from harness.base.errors import HarnessError

State = dict[str, Tensor]  # what training changes: weights, and momentum where a step has any
Outer = dict[str, Tensor]  # what stays fixed while it trains: an architecture, a learning rate
Batch = tuple[Tensor, ...]
# One step of training: the new state, and the loss before the step. It must not write into what it is given.
Step = Callable[[State, Outer, Batch], tuple[State, Tensor]]
Loss = Callable[[State, Outer, Batch], Tensor]
Final = Callable[[State, Outer], Tensor]  # a loss of the last state, e.g. on held-out data
# Derivatives of the new state (None: there are none) and of the loss → those of the old state and of outer.
Pull = Callable[[State | None, Tensor], tuple[State | None, Outer]]


@dataclass(frozen=True)
class _Course:
    """Steps to go from a state, and how their losses count."""

    step: Step
    state: State
    outer: Outer
    batches: Sequence[Batch]
    weights: list[float]
    final: Final | None


@dataclass(frozen=True)
class Unrolled:
    """T steps of training, and the gradient of the objective along them."""

    losses: Tensor  # (T,), each before its step
    state: State  # after T steps
    gradient: Outer


def sgd(loss: Loss, lr: float | Callable[[Outer], Tensor]) -> Step:
    """Plain gradient descent (Eq. 4.1); the learning rate is a constant or taken from outer."""
    slope_and_value = grad_and_value(loss)

    def step(state: State, outer: Outer, batch: Batch) -> tuple[State, Tensor]:
        slope, value = slope_and_value(state, outer, batch)
        rate = lr(outer) if callable(lr) else lr
        return {name: weight - rate * slope[name] for name, weight in state.items()}, value

    return step


def unrolled(
    step: Step,
    state: State,
    outer: Outer,
    batches: Sequence[Batch],
    *,
    weights: Sequence[float] | None = None,
    final: Final | None = None,
    keep: int | None = None,
    reach: int | None = None,
) -> Unrolled:
    """The gradient of Σ weights[t]·loss[t] + final(state after T steps) with respect to outer.

    Weights are ones where none are given (a sum; 1/T each is the mean, zeros leave `final` alone). Exact
    reverse mode, a step at a time: every `keep`-th state is stored (√T where none is given), and what lies
    between two of them is run again when its turn comes. `reach`: each loss's gradient flows back through
    so many updates at most; with 0 only direct gradients remain, without a second derivative (Eq. 3.22).
    """
    if (keep is not None and keep < 1) or (reach is not None and reach < 0):
        raise HarnessError(
            f"keep={keep}, reach={reach}: keep is at least 1, reach at least 0, or both are None"
        )
    course = _Course(step, _detached(state), _detached(outer), batches, _weights(batches, weights), final)
    if reach is None or reach >= len(batches):
        return _exact(course, keep or max(1, round(len(batches) ** 0.5)))
    return _truncated(course, reach) if reach else _direct(course)


def forward_mode(
    step: Step,
    state: State,
    outer: Outer,
    batches: Sequence[Batch],
    *,
    weights: Sequence[float] | None = None,
    final: Final | None = None,
) -> Unrolled:
    """The same exact gradient, forwards: one tangent per number in outer, no memory that grows with T."""
    each = _weights(batches, weights)
    state, outer = _detached(state), _detached(outer)
    units = _units(outer)
    tangents = [_zeros(state) for _ in units]
    slopes = [torch.zeros(()) for _ in units]
    losses = []
    for batch, weight in zip(batches, each, strict=True):
        new, loss = None, None
        for i, unit in enumerate(units):
            (new, loss), (tangents[i], slope) = jvp(
                lambda s, o, batch=batch: step(s, o, batch), (state, outer), (tangents[i], unit)
            )
            slopes[i] = slopes[i] + weight * slope
        state = new
        losses.append(loss)
    if final:
        for i, unit in enumerate(units):
            slopes[i] = slopes[i] + jvp(final, (state, outer), (tangents[i], unit))[1]
    flat = iter(slopes)
    gradient = {k: torch.stack([next(flat) for _ in range(v.numel())]).view_as(v) for k, v in outer.items()}
    return Unrolled(torch.stack(losses), state, gradient)


def _exact(course: _Course, keep: int) -> Unrolled:
    step, state, outer, batches = course.step, course.state, course.outer, course.batches
    last = len(batches) - 1

    def record(state: State, part: Sequence[int]) -> tuple[State, list[Tensor], list[Pull]]:
        """Run this part of the steps so that each can be pulled back; the first and the last need less."""
        losses, pulls = [], []
        for t in part:
            state, loss, pull = _recorded(
                step, state, outer, batches[t], t > 0, t < last or bool(course.final)
            )
            losses.append(loss)
            pulls.append(pull)
        return state, losses, pulls

    parts = [range(first, min(first + keep, last + 1)) for first in range(0, last + 1, keep)]
    starts, losses = [], []
    for part in parts[:-1]:
        starts.append(state)
        for t in part:
            state, loss = step(state, outer, batches[t])
            losses.append(loss)
    state, those, pulls = record(state, parts[-1])
    losses += those
    back, gradient = _of_final(course.final, state, outer)
    for part in reversed(parts):
        if part is not parts[-1]:
            pulls = record(starts.pop(), part)[2]
        for t in reversed(part):
            back, slope = pulls.pop()(back, torch.full_like(losses[t], course.weights[t]))
            gradient = _sum(gradient, slope)
    return Unrolled(torch.stack(losses), state, gradient)


def _recorded(
    step: Step, state: State, outer: Outer, batch: Batch, to_state: bool, of_state: bool
) -> tuple[State, Tensor, Pull]:
    """One step with its pull; the first needs none to its state, and behind the last no state is used."""

    def run(outer: Outer, state: State = state) -> tuple[tuple[State, Tensor] | Tensor, ...]:
        new, loss = step(state, outer, batch)
        return ((new, loss), (new, loss)) if of_state else (loss, (new, loss))

    _, pullback, (new, loss) = vjp(run, *((outer, state) if to_state else (outer,)), has_aux=True)

    def pull(of_new: State | None, of_loss: Tensor) -> tuple[State | None, Outer]:
        slopes = pullback((of_new or _zeros(new), of_loss) if of_state else of_loss)
        return (slopes[1] if to_state else None), slopes[0]

    return new, loss, pull


def _direct(course: _Course) -> Unrolled:
    """Eq. 3.22: what each loss says of outer at the weights it met."""

    def loss_of(outer: Outer, state: State, batch: Batch) -> tuple[Tensor, tuple[State, Tensor]]:
        new, loss = course.step(state, outer, batch)
        return loss, (new, loss)

    direct, state, outer = grad(loss_of, has_aux=True), course.state, course.outer
    gradient, losses = _zeros(outer), []
    for batch, weight in zip(course.batches, course.weights, strict=True):
        slope, (state, loss) = direct(outer, state, batch)
        gradient = {name: gradient[name] + weight * slope[name] for name in gradient}
        losses.append(loss)
    return Unrolled(torch.stack(losses), state, _sum(gradient, _of_final(course.final, state, outer)[1]))


def _truncated(course: _Course, reach: int) -> Unrolled:
    """Every loss pulled back on its own, for `reach` updates: so many pulls per step."""
    step, state, outer, batches = course.step, course.state, course.outer, course.batches
    states, losses = [], []
    for batch in batches:
        states.append(state)
        state, loss = step(state, outer, batch)
        losses.append(loss)
    back, gradient = _of_final(course.final, state, outer)
    under_way = [back] if back else []  # derivatives of later losses, the youngest first
    for t in reversed(range(len(batches))):
        of_loss = torch.full_like(losses[t], course.weights[t])
        _, _, pull = _recorded(step, states.pop(), outer, batches[t], True, True)
        older = []
        for of_new in under_way:
            of_old, slope = pull(of_new, torch.zeros_like(of_loss))
            gradient = _sum(gradient, slope)
            older.append(of_old)
        own, slope = pull(None, of_loss)
        gradient = _sum(gradient, slope)
        under_way = [own, *older][:reach]
    return Unrolled(torch.stack(losses), state, gradient)


def _of_final(final: Final | None, state: State, outer: Outer) -> tuple[State | None, Outer]:
    """The derivatives of the last loss with respect to the state (None: there is no such loss) and outer."""
    if final is None:
        return None, _zeros(outer)
    return grad(final, argnums=(0, 1))(state, outer)


def _weights(batches: Sequence[Batch], weights: Sequence[float] | None) -> list[float]:
    if not len(batches):
        raise HarnessError("there is no batch to unroll a training over: give at least one")
    each = [1.0] * len(batches) if weights is None else [float(w) for w in weights]
    if len(each) != len(batches):
        raise HarnessError(f"{len(each)} weights for the losses of {len(batches)} batches: give one for each")
    return each


def _units(outer: Outer) -> list[Outer]:
    """A tangent for every number in outer: one there, zero elsewhere."""
    units = []
    for name, value in outer.items():
        for i in range(value.numel()):
            one = torch.zeros_like(value).view(-1)
            one[i] = 1
            units.append({**_zeros(outer), name: one.view_as(value)})
    return units


def _detached(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """So that no graph of the caller's grows along with the steps."""
    return {name: value.detach() for name, value in tensors.items()}


def _zeros(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: torch.zeros_like(value) for name, value in tensors.items()}


def _sum(a: Outer, b: Outer) -> Outer:
    return {name: a[name] + b[name] for name in a}
