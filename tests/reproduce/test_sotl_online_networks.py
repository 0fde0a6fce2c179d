"""Hypergradients of a learning rate: a perceptron's, run forwards, and a VGG's, in reverse."""

import numpy as np
import pytest
import torch
from plain_perceptron import loss
from torch.nn import functional

from harness.training.unrolled import Batch, State, sgd, unrolled
from reproduce.sotl.perceptron import Goal, Perceptron, product
from reproduce.sotl.vgg import VGG

pytestmark = pytest.mark.usefixtures("one_thread")


def batches(steps: int, dtype: torch.dtype = torch.float64, size: int = 7) -> list[Batch]:
    rng = np.random.default_rng(3)
    return [
        (torch.tensor(rng.normal(size=(size, 6)), dtype=dtype), torch.from_numpy(rng.integers(0, 4, size)))
        for _ in range(steps)
    ]


def double(state: State) -> State:
    return {name: weight.double() for name, weight in state.items()}


GOALS = {
    "sum": lambda steps: Goal([1.0] * steps),
    "mean": lambda steps: Goal([1 / steps] * steps),
    "uneven": lambda steps: Goal([0.5 * t for t in range(steps)]),
    "held-out": lambda steps: Goal([0.0] * steps, held=batches(steps + 1)[-1]),
    "one step": lambda steps: Goal([1.0] * steps, one_step=True),
    "held-out, one step": lambda steps: Goal([0.0] * steps, batches(steps + 1)[-1], one_step=True),
}


@pytest.mark.parametrize("hidden", [(), (5,), (5, 8), (5, 8, 3)], ids=str)
@pytest.mark.parametrize("steps", [1, 2, 6])
@pytest.mark.parametrize("goal", GOALS)
def test_a_perceptron_run_forwards_agrees_with_reverse_mode(goal, steps, hidden):
    """Also that neither its weights nor the first slope, from which training goes on, were spoilt."""
    network, goal, rate = Perceptron((6, *hidden, 4)), GOALS[goal](steps), 0.3
    state = double(network.start(0))
    before = {name: weight.clone() for name, weight in state.items()}
    found, first = network.hypergradient(state, rate, batches(steps), goal)
    expected = unrolled(
        sgd(lambda s, _, batch: loss(s, batch), lambda outer: outer["rate"]),
        state,
        {"rate": torch.tensor(rate, dtype=torch.float64)},
        batches(steps),
        weights=goal.weights,
        final=(lambda s, _: loss(s, goal.held)) if goal.held else None,
        reach=1 if goal.one_step else None,
    )
    assert found == pytest.approx(expected.gradient["rate"].item(), rel=1e-10, abs=1e-14)
    assert all(torch.equal(state[name], before[name]) for name in state)
    if first:
        plain = network.slope(state, batches(1)[0])
        for mine, other in zip(first.deltas, plain.deltas, strict=True):
            torch.testing.assert_close(mine, other)
        assert first.loss == pytest.approx(plain.loss)


def test_a_hypergradient_is_a_slope_and_for_two_losses_that_of_eq_4_2():
    network, (one, two) = Perceptron((6, 5, 4)), batches(2)
    state = double(network.start(1))

    def along(rate: float) -> float:
        moved = {name: weight.clone() for name, weight in state.items()}
        network.move(moved, network.slope(moved, one), rate)
        return loss(moved, two).item()

    found, _ = network.hypergradient(state, 0.2, [one, two], Goal([1.0, 1.0]))
    assert found == pytest.approx((along(0.2 + 1e-6) - along(0.2 - 1e-6)) / 2e-6, rel=1e-6)
    leaves = {name: weight.clone().requires_grad_() for name, weight in state.items()}
    first = torch.autograd.grad(loss(leaves, one), list(leaves.values()))
    moved = {
        n: (w - 0.2 * g).detach().requires_grad_() for (n, w), g in zip(leaves.items(), first, strict=True)
    }
    second = torch.autograd.grad(loss(moved, two), list(moved.values()))
    assert found == pytest.approx(-sum((a * b).sum().item() for a, b in zip(first, second, strict=True)))


def test_at_a_rate_near_zero_an_epoch_pushes_the_learning_rate_down():
    """Where the slope of all images is small; not so with minibatches drawn independently (NOTES D29)."""
    network, rate, n = Perceptron((6, 4)), 1e-9, 8
    x, y = (torch.cat(parts) for parts in zip(*batches(n, size=5), strict=True))
    state = double(network.start(1))
    for _ in range(3000):
        network.move(state, network.slope(state, (x, y)), 0.5)

    def slope(batch: Batch) -> torch.Tensor:
        leaves = {name: weight.clone().requires_grad_() for name, weight in state.items()}
        return torch.cat(
            [g.flatten() for g in torch.autograd.grad(loss(leaves, batch), list(leaves.values()))]
        )

    def found(images: np.ndarray) -> float:
        run = [(x[part], y[part]) for part in images.reshape(n, 5)]
        each = torch.stack([slope(batch) for batch in run])
        gradient, _ = network.hypergradient(state, rate, run, Goal([1.0] * n))
        assert gradient == pytest.approx(
            (each.square().sum() - each.sum(0).square().sum()).item() / 2, rel=1e-5
        )
        return gradient

    rng = np.random.default_rng(0)
    epochs = [found(rng.permutation(5 * n)) for _ in range(20)]
    independent = [found(rng.integers(0, 5 * n, 5 * n)) for _ in range(200)]
    assert min(epochs) > 0
    assert abs(np.mean(independent)) < 0.2 * np.mean(epochs)  # its expectation at the minimum is zero


def test_in_float32_products_and_hypergradients_keep_their_precision():
    rng = torch.Generator().manual_seed(0)
    a, b, bias = (torch.randn(shape, generator=rng) for shape in ((40, 300), (50, 300), (50,)))
    exact = a.double() @ b.double().T + bias.double()
    for left, right in (
        (a, b),
        (a.T.contiguous().T, b.T.contiguous().T),
    ):  # views as the backward pass has them
        assert (product(left, right, bias) - exact).abs().max() < 1e-4
    network = Perceptron((6, 30, 30, 4))
    state = network.start(0)
    found, _ = network.hypergradient(state, 0.1, batches(20, torch.float32), Goal([1.0] * 20))
    exact, _ = network.hypergradient(double(state), 0.1, batches(20), Goal([1.0] * 20))
    assert found == pytest.approx(exact, rel=1e-4)


def vgg_batches(network: VGG, steps: int, dtype: torch.dtype) -> list[Batch]:
    """In channels_last, as training has them."""
    rng, found = np.random.default_rng(5), []
    for _ in range(steps):
        x = torch.tensor(rng.normal(size=(24, 8, 8, 3)), dtype=dtype).permute(0, 3, 1, 2)
        y = torch.from_numpy(rng.integers(0, 4, 24))
        found.append((x, y, *(mask.to(dtype) for mask in network.randomness(24, rng))))
    return found


@pytest.mark.parametrize("one_step", [False, True])
@pytest.mark.parametrize("held", [False, True])
def test_a_vggs_hypergradient_is_exact(held, one_step):
    """Against finite differences of training itself in float64; float32 comes near (units may cross zero)."""
    network, rate, steps = VGG([6, 0, 8, 8, 0, 8, 0], [8, 6], 4, 0.5), 0.1, 3
    state = network.start(2)
    goal = Goal([0.0 if held else 1.0] * steps, one_step=one_step)

    def given(dtype: torch.dtype) -> tuple[list[Batch], Goal]:
        *some, last = vgg_batches(network, steps + 1, dtype)
        return some, Goal(goal.weights, last if held else None, one_step)

    (some, exact), slopes = given(torch.float64), []

    def objective(rate: float) -> float:
        slopes.clear()
        here, total = double(state), 0.0
        for batch, weight in zip(some, exact.weights, strict=True):
            slope = VGG.slope(_still(network), here, batch)
            slopes.append(slope.whole)
            total += weight * slope.loss
            network.move(here, slope, rate)
        if held:
            slope = VGG.slope(_still(network), here, exact.held)
            slopes.append(slope.whole)
            total += slope.loss
        return total

    found, _ = network.hypergradient(double(state), rate, some, exact)
    expected = (objective(rate + 1e-5) - objective(rate - 1e-5)) / 2e-5
    if one_step:  # Eq. 4.2: each loss's slope against the one before it
        objective(rate)
        pairs = list(zip(slopes, slopes[1:], strict=False))[-1 if held else 0 :]
        expected = -sum((a[name] * b[name]).sum().item() for a, b in pairs for name in a)
    assert found == pytest.approx(expected, rel=1e-5)
    quick, _ = network.hypergradient(state, rate, *given(torch.float32))
    assert quick == pytest.approx(found, rel=2e-2)


def _still(network: VGG) -> VGG:
    """The same network in float64, with statistics of its own."""
    other = VGG(network.plan, network.sizes[1:-1], network.sizes[-1], network.dropout)
    other.statistics = double(other.statistics)
    return other


def test_running_statistics_move_with_training_and_with_nothing_else():
    network = VGG([6, 0, 8, 8, 0, 8, 0], [8, 6], 4, 0.5)
    state, some = network.start(2), vgg_batches(network, 2, torch.float32)
    before = {name: value.clone() for name, value in network.statistics.items()}
    network.hypergradient(state, 0.1, some, Goal([1.0, 1.0]))
    network.logits(state, some[0][0])
    assert all(torch.equal(network.statistics[name], before[name]) for name in before)
    network.slope(state, some[0])
    first = functional.conv2d(some[0][0], state["conv0.weight"], state["conv0.bias"], padding=1)
    torch.testing.assert_close(network.statistics["norm0.mean"], 0.1 * first.mean((0, 2, 3)))
    torch.testing.assert_close(network.statistics["norm0.var"], 0.9 + 0.1 * first.var((0, 2, 3)))
    one, several = network.logits(state, some[1][0][:1]), network.logits(state, some[1][0])
    torch.testing.assert_close(one, several[:1])  # an image is judged alone
