"""Searches by gradient beside the plain way: Algorithms 1 to 3, Appendix A."""

import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from gradient_searches import SEARCHES, SOTL, SOVL, begun, made_up_searches  # noqa: F401
from small_runs import metrics, table
from torch import Tensor
from torch.nn import functional

from harness.spaces.nb201 import SPACE
from reproduce.sotl import architecture_slopes, gradient_steps
from reproduce.sotl.curvature import eigenvalues
from reproduce.sotl.gradient_steps import SearchLoop
from reproduce.sotl.mixed_networks import read

pytestmark = pytest.mark.usefixtures("one_thread", "made_up_searches")


def loss_of(loop: SearchLoop, batch: tuple[Tensor, Tensor], network: Any = None) -> Tensor:
    weights = loop.alphas[0].softmax(dim=-1)
    return functional.cross_entropy((network or loop.network)(batch[0], weights), batch[1])


def rounded(ours: Any, other: Any) -> None:
    torch.testing.assert_close(ours, other, rtol=1e-9, atol=1e-12)


def weights_of(loop: SearchLoop) -> list[Tensor]:
    return [value.clone() for value in loop.network.state_dict().values()]


def appendix_a(loop: SearchLoop, first: int, steps: int) -> None:
    """The example code's order of things, on the loop's own network and optimisers."""
    network, w_optimizer, a_optimizer = loop.network, loop.optimiser, loop.mover
    alpha, batches = loop.alphas[0], [loop.batch(first + i) for i in range(steps)]
    kept = copy.deepcopy(network.state_dict())
    momentum = copy.deepcopy(w_optimizer.state_dict())
    alpha.grad = None
    for time in ("rollout", "replay"):
        for i, batch in enumerate(batches):
            for group in w_optimizer.param_groups:
                group["lr"] = loop.rates[first + i]
            w_optimizer.zero_grad()
            loss_of(loop, batch).backward()
            w_optimizer.step()
        if time == "rollout":
            a_optimizer.step()
            network.load_state_dict(kept)
            w_optimizer.load_state_dict(momentum)


def test_sotl_darts_is_appendix_a(tmp_path: Path) -> None:
    """Two updates: summed gradients, Adam's step, the weights put back and trained again; momentum too."""
    ours, plain = begun(tmp_path / "a", **SOTL), begun(tmp_path / "b", **SOTL)
    for first, steps in ((0, 3), (3, 1)):  # an epoch of four minibatches: one chunk of three, one of one
        ours.one()
        appendix_a(plain, first, steps)
        rounded(ours.alphas[0], plain.alphas[0])
        rounded(weights_of(ours), weights_of(plain))
    assert ours.chunks == 2 and [row["epoch"] for row in ours.rows] == [0, 1]


def test_a_rollout_leaves_no_trace(tmp_path: Path) -> None:
    """Bug of its name: statistics, momentum and weights are to the bit what they were."""
    loop = begun(tmp_path, **SOTL)
    loop.one()
    before, momentum = weights_of(loop), copy.deepcopy(loop.optimiser.state_dict()["state"])
    loop.slopes(range(3, 4))
    assert all(torch.equal(a, b) for a, b in zip(before, weights_of(loop), strict=True))
    for number, state in loop.optimiser.state_dict()["state"].items():
        assert torch.equal(state["momentum_buffer"], momentum[number]["momentum_buffer"])


def test_momentum_that_is_kept_goes_on_from_the_rollout(tmp_path: Path) -> None:
    """D43: weights are put back, the optimiser's momentum is not."""
    loops = [begun(tmp_path / str(kept), **SOTL, momentum_restored=kept) for kept in (True, False)]
    for loop in loops:
        loop.slopes(range(3))
    for a, b in zip(*map(weights_of, loops), strict=True):
        assert torch.equal(a, b)
    restored, kept = (loop.optimiser.state[next(loop.network.parameters())] for loop in loops)
    assert restored["momentum_buffer"] is None and float(kept["momentum_buffer"].abs().sum()) > 0


def test_the_sum_of_direct_gradients(tmp_path: Path) -> None:
    """Eq. 3.22 at the weights of each step; the mean is a third; the slip sums parameters (D44)."""
    loop = begun(tmp_path / "a", **SOTL)
    other = copy.deepcopy(loop.network)
    optimiser = torch.optim.SGD(other.parameters(), **_plain(loop))
    expected = torch.zeros_like(loop.alphas[0])
    for step in range(3):
        optimiser.param_groups[0]["lr"] = loop.rates[step]
        loss = loss_of(loop, loop.batch(step), other)
        expected += torch.autograd.grad(loss, loop.alphas[0], retain_graph=True)[0]
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    rounded(loop.slopes(range(3))[0], expected)
    rounded(begun(tmp_path / "b", **SOTL, mean=True).slopes(range(3))[0], expected / 3)
    slipped = begun(tmp_path / "c", **{**SOTL, "algorithm": "sovl_slip"})
    rounded(slipped.slopes(range(3))[0], 3 * slipped.alphas[0].detach())


def _plain(loop: SearchLoop) -> dict[str, float]:
    setup = loop.config.weights
    return {
        "lr": setup.lr_max,
        "momentum": setup.momentum,
        "nesterov": setup.nesterov,
        "weight_decay": setup.weight_decay,
    }


def test_sovl_sums_gradients_behind_each_step(tmp_path: Path) -> None:
    """Of validation minibatches, at the weights that the step led to."""
    loop = begun(tmp_path, **SOVL)
    other, expected = copy.deepcopy(loop.network), torch.zeros_like(loop.alphas[0])
    optimiser = torch.optim.SGD(other.parameters(), **_plain(loop))
    for step in range(2):
        optimiser.param_groups[0]["lr"] = loop.rates[step]
        optimiser.zero_grad()
        loss_of(loop, loop.batch(step), other).backward()
        optimiser.step()
        expected += torch.autograd.grad(loss_of(loop, loop.held_batch(step), other), loop.alphas[0])[0]
    rounded(loop.slopes(range(2))[0], expected)


def test_first_order_darts_moves_the_architecture_first(tmp_path: Path) -> None:
    """Algorithm 2: by the gradient at the old weights, then the weights at the new architecture."""
    loop = begun(tmp_path)
    network, alpha = copy.deepcopy(loop.network), loop.alphas[0].detach().clone().requires_grad_()
    mover = torch.optim.Adam([alpha], lr=0.01, betas=(0.5, 0.999), weight_decay=1e-3)
    x, y = loop.held_batch(0)
    functional.cross_entropy(network(x, alpha.softmax(dim=-1)), y).backward()
    mover.step()
    optimiser = torch.optim.SGD(network.parameters(), **_plain(loop))
    optimiser.zero_grad()
    x, y = loop.batch(0)
    functional.cross_entropy(network(x, alpha.detach().softmax(dim=-1)), y).backward()
    optimiser.step()
    loop.one()
    rounded(loop.alphas[0], alpha)
    rounded(list(loop.network.parameters()), list(network.parameters()))


def test_second_order_darts_beside_the_exact_derivative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eq. 3.11 by differentiating through a step with momentum and decay; weights stay.

    With differences so small that nothing but rounding is left: DARTS' own are large for so small a network.
    """
    monkeypatch.setattr(architecture_slopes, "SMALL", 1e-5)
    loop = begun(tmp_path, algorithm="darts_second_order")
    loop.one()
    before = [p.detach().clone() for p in loop.network.parameters()]
    ours = loop.slopes(range(1, 2))[0]
    assert all(torch.equal(a, b) for a, b in zip(before, loop.network.parameters(), strict=True))
    alpha = loop.alphas[0].detach().clone().requires_grad_()
    names, weights = zip(*loop.network.named_parameters(), strict=True)

    def loss(values: list[Tensor], batch: tuple[Tensor, Tensor]) -> Tensor:
        given = dict(zip(names, values, strict=True))
        logits = torch.func.functional_call(loop.network, given, (batch[0], alpha.softmax(dim=-1)))
        return functional.cross_entropy(logits, batch[1])

    slopes = torch.autograd.grad(loss(list(weights), loop.batch(1)), weights, create_graph=True)
    setup, ahead = loop.config.weights, []
    for weight, slope in zip(weights, slopes, strict=True):
        push = slope + setup.weight_decay * weight
        push = push + setup.momentum * loop.optimiser.state[weight]["momentum_buffer"]
        ahead.append(weight - loop.rates[1] * push)
    exact = torch.autograd.grad(loss(ahead, loop.held_batch(1)), alpha)[0]
    first = begun(tmp_path / "first")
    first.load({**loop.state(), "mover": first.mover.state_dict()})
    direct = first.slopes(range(1, 2))[0]
    error, gap = (ours - exact).norm(), (direct - exact).norm()
    assert error < 0.02 * gap, f"{error} of {gap}"


def test_an_update_from_one_minibatch_and_one_from_noise(tmp_path: Path) -> None:
    """The controls: as many updates as SoTL-DARTS makes, and as long."""
    one = begun(tmp_path / "one", **{**SOTL, "algorithm": "one_minibatch"})
    rounded(one.slopes(range(3, 4))[0], torch.autograd.grad(loss_of(one, one.batch(3)), one.alphas[0])[0])
    noise, sotl = (begun(tmp_path / name, **{**SOTL, "algorithm": name}) for name in ("noise", "sotl"))
    for loop in (noise, sotl):
        loop.train(SimpleNamespace(phase=lambda name, function: function(Part())))
    assert noise.total == sotl.total == 4
    assert 0.5 < noise.travelled / sotl.travelled < 2
    assert not torch.equal(noise.alphas[0], sotl.alphas[0])


class Part:
    """A checkpoint's phase that keeps nothing."""

    state, due = None, False


def test_tables_and_metrics_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row per epoch from before the first on, and the truth of what would be chosen."""
    monkeypatch.setattr(gradient_steps, "eigenvalues", eigenvalues)
    run = SEARCHES.done(tmp_path, **SOTL, curvature_every=2)
    rows, curves, last = table(run, "epochs"), table(run, "curvature"), metrics(run)
    assert rows["epoch"].tolist() == [0, 1, 2] and rows["updates"].tolist() == [0, 2, 4]
    assert curves["epoch"].tolist() == [0, 2] and (curves["largest_val"] > curves["smallest_val"]).all()
    truth = 90 + SPACE.params_of(rows["architecture"].tolist(), "cifar10") / 1e6
    found = table(run, "truths")
    assert found["epoch"].tolist() == [0, 1, 2] and found["truth"].tolist() == pytest.approx(truth.tolist())
    assert last["truth"] == found["truth"].iloc[-1] and last["best_truth"] == found["truth"].max()
    assert last["travelled"] >= last["moved"] > 0 and "truth_cifar100" in last
    for _, row in rows.iterrows():
        assert dict(row[list(read("nb201", row["architecture"]))]) == read("nb201", row["architecture"])


def test_what_is_counted_of_a_cell() -> None:
    """Operations and depth, of each space."""
    cell = "|skip_connect~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|avg_pool_3x3~1|nor_conv_3x3~2|"
    assert read("nb201", cell) == {"skips": 2, "zeros": 1, "parameter_free": 4, "conv3x3": 2, "depth": 3}
