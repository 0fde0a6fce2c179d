"""Gradients through training: against finite differences, explicit Hessians, autograd through all steps."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from harness.base.errors import HarnessError
from harness.training.unrolled import Batch, Final, Outer, State, Step, forward_mode, sgd, unrolled

T = 9
EXACT = {
    "√T": unrolled,
    "every state": partial(unrolled, keep=1),
    "every fourth": partial(unrolled, keep=4),
    "one part": partial(unrolled, keep=T),
    "more than there are": partial(unrolled, keep=10 * T),
    "reach T": partial(unrolled, reach=T),
    "forwards": forward_mode,
}


pytestmark = pytest.mark.usefixtures("one_thread")


def loss(state: State, outer: Outer, batch: Batch) -> Tensor:
    """A small network with a gate per hidden unit and a learnt penalty; `unused` plays no part."""
    x, y = batch
    hidden = torch.tanh(x @ state["in"] * outer["gate"])
    return ((hidden @ state["out"] - y) ** 2).mean() + outer["penalty"] * (state["in"] ** 2).sum()


def task(dtype: torch.dtype = torch.float64, steps: int = T) -> tuple[Step, State, Outer, list[Batch]]:
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> Tensor:
        return torch.tensor(rng.standard_normal(shape), dtype=dtype)

    state = {"in": draw(4, 5), "out": draw(5)}
    outer = {"gate": draw(5).abs(), "penalty": draw().abs() / 50, "lr": draw().abs(), "unused": draw(2)}
    batches = [(draw(6, 4), draw(6)) for _ in range(steps)]
    return sgd(loss, lambda outer: outer["lr"]), state, outer, batches


HELD_OUT = task()[3][0]


def held_out(state: State, outer: Outer) -> Tensor:
    return loss(state, outer, HELD_OUT)


def objective(
    outer: Outer, state: State, batches: list[Batch], weights: list[float], final: Final | None = None
) -> Tensor:
    """Written out by autograd alone, through the graph of all steps."""
    state = {name: value.clone().requires_grad_() for name, value in state.items()}
    total = torch.zeros((), dtype=state["in"].dtype)
    for batch, weight in zip(batches, weights, strict=True):
        value = loss(state, outer, batch)
        total = total + weight * value
        slopes = torch.autograd.grad(value, list(state.values()), create_graph=True)
        state = {k: w - outer["lr"] * s for (k, w), s in zip(state.items(), slopes, strict=True)}
    return total + final(state, outer) if final else total


def whole_graph(outer: Outer, *rest) -> Outer:
    leaves = {name: value.clone().requires_grad_() for name, value in outer.items()}
    value, asked = objective(leaves, *rest), list(leaves.values())
    return dict(zip(leaves, torch.autograd.grad(value, asked, materialize_grads=True), strict=True))


def furthest(a: Outer, b: Outer) -> float:
    assert a.keys() == b.keys()
    return max(float((a[name] - b[name]).abs().max() / (1 + b[name].abs().max())) for name in a)


@pytest.mark.parametrize("way", EXACT.values(), ids=EXACT)
@pytest.mark.parametrize("final", [None, held_out], ids=["losses", "and a last one"])
def test_equal_to_autograd_through_the_whole_graph(way, final):
    step, state, outer, batches = task()
    weights = [0.5 + t for t in range(T)]
    learnt = {name: value.clone().requires_grad_() for name, value in state.items()}  # graphs of the caller's
    found = way(step, learnt, outer, batches, weights=weights, final=final)
    assert furthest(found.gradient, whole_graph(outer, state, batches, weights, final)) < 1e-13
    assert found.losses.shape == (T,) and found.gradient["gate"].shape == (5,)
    assert not found.losses.requires_grad and found.state["in"].grad_fn is None


@pytest.mark.parametrize("way", EXACT.values(), ids=EXACT)
def test_finite_differences(way):
    step, state, outer, batches = task()
    found = way(step, state, outer, batches, final=held_out).gradient
    h = 1e-6
    for name, value in outer.items():
        for i in range(value.numel()):
            shift = torch.zeros_like(value).view(-1)
            shift[i] = h
            up, down = ({**outer, name: value + sign * shift.view_as(value)} for sign in (1, -1))
            values = [objective(o, state, batches, [1.0] * T, held_out).item() for o in (up, down)]
            slope = (values[0] - values[1]) / (2 * h)
            assert found[name].view(-1)[i].item() == pytest.approx(slope, rel=1e-6, abs=1e-8)


def test_the_closed_form_of_the_thesis_with_explicit_hessians():
    """Eq. 3.20 on a gated linear model; the sums end where training began (the text goes one too far)."""
    rng = np.random.default_rng(1)
    w, a, lr = rng.standard_normal(4), rng.random(4) + 0.5, 0.05
    data = [(rng.standard_normal((7, 4)), rng.standard_normal(7)) for _ in range(6)]

    def gated(state: State, outer: Outer, batch: Batch) -> Tensor:
        x, y = batch
        return 0.5 * ((x @ (outer["a"] * state["w"]) - y) ** 2).sum()

    expected, curved, mixed = np.zeros(4), [], []
    for t, (x, y) in enumerate(data):
        slope = x.T @ (x @ (a * w) - y)
        of_w, of_a = a * slope, w * slope
        moved = np.zeros((4, 4))  # ∂w_t/∂a, Eq. 3.18
        for j in range(t):
            product = np.eye(4)
            for k in range(j):
                product = product @ (np.eye(4) - lr * curved[t - k - 1])
            moved -= lr * product @ mixed[t - j - 1]
        expected += of_a + of_w @ moved
        curved.append(a[:, None] * (x.T @ x) * a)
        mixed.append(np.diag(slope) + a[:, None] * (x.T @ x) * w)
        w = w - lr * of_w

    state = {"w": torch.tensor(np.random.default_rng(1).standard_normal(4))}
    batches = [(torch.tensor(x), torch.tensor(y)) for x, y in data]
    for way in (unrolled, forward_mode):
        found = way(sgd(gated, lr), state, {"a": torch.tensor(a)}, batches)
        np.testing.assert_allclose(found.gradient["a"], expected, rtol=1e-11)
        np.testing.assert_allclose(found.state["w"], w, rtol=1e-11)


def test_equation_4_2_is_one_step_of_reach():
    """Baydin's gradient of a loss by the learning rate: −∇f(θ_t)·∇f(θ_{t−1})."""
    step, state, outer, batches = task(steps=2)
    slopes = []
    for batch in batches:
        slopes.append(torch.func.grad(loss)(state, outer, batch))
        state = {name: value - outer["lr"] * slopes[-1][name] for name, value in state.items()}
    expected = -sum((slopes[0][name] * slopes[1][name]).sum() for name in state)
    start = task()[1]
    for reach in (1, 2, None):
        found = unrolled(step, start, outer, batches, reach=reach).gradient["lr"]
        assert float(found) == pytest.approx(float(expected), rel=1e-12)
    assert float(unrolled(step, start, outer, batches, reach=0).gradient["lr"]) == 0  # no loss depends on it


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_stored_does_not_move_a_bit(dtype):
    step, state, outer, batches = task(dtype)
    way = partial(unrolled, step, state, outer, batches, final=partial(loss, batch=batches[0]))
    first = way(keep=1)
    for keep in (None, 2, 4, 5, T, 100):
        other = way(keep=keep)
        assert torch.equal(first.losses, other.losses)
        for one, same in ((first.gradient, other.gradient), (first.state, other.state)):
            assert all(torch.equal(one[name], same[name]) for name in one), keep


@pytest.mark.parametrize("way", EXACT.values(), ids=EXACT)
def test_single_precision(way):
    reference = unrolled(*task()).gradient
    found = way(*task(torch.float32)).gradient
    assert all(value.dtype == torch.float32 for value in found.values())
    assert furthest(found, reference) < 1e-5


def detached_after(step: Step, state: State, outer: Outer, batches: list[Batch], reach: int) -> Outer:
    """Each loss on its own, with the weights of `reach` updates before it taken as constants."""
    total = {name: torch.zeros_like(value) for name, value in outer.items()}
    states = [state]
    for batch in batches:
        states.append(step(states[-1], outer, batch)[0])
    for t in range(len(batches)):
        first = max(0, t - reach)
        weights = [0.0] * (t - first) + [1.0]
        slope = whole_graph(outer, states[first], batches[first : t + 1], weights)
        total = {name: total[name] + slope[name] for name in total}
    return total


@pytest.mark.parametrize("reach", [0, 1, 2, 5, T - 1])
def test_reach_cuts_every_loss_off_alike(reach):
    step, state, outer, batches = task()
    found = unrolled(step, state, outer, batches, reach=reach)
    assert furthest(found.gradient, detached_after(step, state, outer, batches, reach)) < 1e-13
    exact = unrolled(step, state, outer, batches)
    assert torch.equal(found.losses, exact.losses) and torch.equal(found.state["in"], exact.state["in"])
    if reach < T - 1:
        assert furthest(found.gradient, exact.gradient) > 1e-3
    last = unrolled(step, state, outer, batches, weights=[0.0] * T, final=held_out, reach=reach).gradient
    for batch in batches[: T - reach]:
        state = step(state, outer, batch)[0]
    expected = whole_graph(outer, state, batches[T - reach :], [0.0] * reach, held_out)
    assert furthest(last, expected) < 1e-13


class Refused(torch.autograd.Function):
    """The identity; it cannot be differentiated."""

    generate_vmap_rule = True
    forward = staticmethod(lambda x: x.clone())
    setup_context = staticmethod(lambda ctx, inputs, output: None)

    @staticmethod
    def backward(ctx, slope: Tensor) -> Tensor:
        raise RuntimeError("a second derivative was asked for")


class Once(Refused):
    """The identity; its derivative cannot be differentiated."""

    backward = staticmethod(lambda ctx, slope: Refused.apply(slope))


def test_first_order_is_the_sum_of_direct_gradients_and_takes_no_second_derivative():
    _, state, outer, batches = task()

    def once(state: State, outer: Outer, batch: Batch) -> Tensor:
        return loss({**state, "in": Once.apply(state["in"])}, outer, batch)

    step = sgd(once, lambda outer: outer["lr"])
    expected, now = {name: torch.zeros_like(value) for name, value in outer.items()}, state
    for batch in batches:
        slope = torch.func.grad(loss, argnums=1)(now, outer, batch)
        expected = {name: expected[name] + slope[name] for name in expected}
        now = step(now, outer, batch)[0]
    assert furthest(unrolled(step, state, outer, batches, reach=0).gradient, expected) == 0
    with pytest.raises(RuntimeError, match="second derivative"):
        unrolled(step, state, outer, batches)


@pytest.mark.parametrize("way", EXACT.values(), ids=EXACT)
def test_a_validation_loss_alone_and_the_mean(way):
    step, state, outer, batches = task()
    alone = way(step, state, outer, batches, weights=[0.0] * T, final=held_out).gradient
    assert furthest(alone, whole_graph(outer, state, batches, [0.0] * T, held_out)) < 1e-13
    mean = way(step, state, outer, batches, weights=[1 / T] * T).gradient
    whole = way(step, state, outer, batches).gradient
    assert furthest({name: T * value for name, value in mean.items()}, whole) < 1e-13


@pytest.mark.parametrize("reach", [None, 0, 2])
def test_what_no_loss_uses_has_no_slope(reach):
    step, state, outer, batches = task()
    for way in (partial(unrolled, reach=reach), forward_mode):
        found = way(step, state, outer, batches).gradient["unused"]
        assert found.shape == (2,) and not found.any()
        one = way(step, state, {**outer, "unused": torch.ones(3)}, batches[:1])  # and a single step
        assert not one.gradient["unused"].any() and not one.gradient["lr"].any()


def test_a_step_with_momentum():
    """State is whatever a step changes."""
    _, state, outer, batches = task()

    def step(state: State, outer: Outer, batch: Batch) -> tuple[State, Tensor]:
        weights = {name: state[name] for name in ("in", "out")}
        slope, value = torch.func.grad_and_value(loss)(weights, outer, batch)
        speed = {f"speed {name}": 0.9 * state[f"speed {name}"] + slope[name] for name in weights}
        return {**speed, **{k: w - outer["lr"] * speed[f"speed {k}"] for k, w in weights.items()}}, value

    state |= {f"speed {name}": torch.zeros_like(value) for name, value in state.items()}
    found = unrolled(step, state, outer, batches).gradient
    assert furthest(found, forward_mode(step, state, outer, batches).gradient) < 1e-12


@pytest.mark.parametrize(("keep", "steps"), [(1, 2 * 16 - 1), (4, 16 + 12), (None, 16 + 12), (16, 16)])
def test_no_step_is_run_more_than_twice(keep, steps):
    step, state, outer, batches = task(steps=16)
    calls = []
    unrolled(lambda *given: calls.append(1) or step(*given), state, outer, batches, keep=keep)
    assert len(calls) == steps


@pytest.mark.parametrize("way", [unrolled, forward_mode])
def test_what_cannot_be_asked(way):
    step, state, outer, batches = task()
    with pytest.raises(HarnessError, match="no batch"):
        way(step, state, outer, [])
    with pytest.raises(HarnessError, match="2 weights for the losses of 9 batches"):
        way(step, state, outer, batches, weights=[1, 2])
    for wrong in ({"keep": 0}, {"reach": -1}):
        with pytest.raises(HarnessError, match="at least"):
            unrolled(step, state, outer, batches, **wrong)
