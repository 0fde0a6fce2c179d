"""Each way to train a super-network against its formula, written out."""

import pytest
import torch
from torch.nn import functional

import harness.supernet.nb201_net as space
from harness.supernet.sampling import whole
from harness.supernet.training import Method, adapt, descend, passes

ROWS = ("233111", "312230", "141414", "300213")


def small(seed: int = 0) -> space.SuperNetwork:
    torch.manual_seed(seed)
    return space.SuperNetwork(space.Skeleton(4, 1, affine=False, track=False, conv_bias=True))


def batch(seed: int = 1, n: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, 3, 8, 8, generator=generator), torch.randint(10, (n,), generator=generator)


def paths(net: space.SuperNetwork, *rows: str) -> list:
    return [whole(row, net.cells) for row in rows]


def sgd(net: torch.nn.Module, **changed: float) -> torch.optim.SGD:
    return torch.optim.SGD(net.parameters(), **{"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-2, **changed})


def weights(net: torch.nn.Module) -> list[torch.Tensor]:
    return [p.detach().clone() for p in net.parameters()]


def close(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return all(torch.allclose(x, y, rtol=1e-5, atol=1e-7) for x, y in zip(a, b, strict=True))


def test_several_paths_give_the_gradient_of_their_mean_loss():
    net, reference, (x, y) = small(), small(), batch()
    loss = descend(net, sgd(net, momentum=0), paths(net, *ROWS), (x, y), Method())
    mean = sum(functional.cross_entropy(reference(x, p), y) for p in paths(reference, *ROWS)) / len(ROWS)
    mean.backward()
    for p in reference.parameters():
        if p.grad is not None:
            p.data -= 0.1 * (p.grad + 1e-2 * p.data)
    assert loss == pytest.approx(mean.item(), rel=1e-6)
    assert close(weights(net), weights(reference))


@pytest.mark.parametrize("zero_grad", [True, False])
def test_unsampled_weights_move_on_or_rest(zero_grad):
    """D14: with zero gradients momentum and decay go on; without gradients nothing does."""
    net = small()
    optimiser, method = sgd(net), Method(zero_grad=zero_grad)
    first, second = paths(net, "333333", "222222")
    descend(net, optimiser, [first], batch(), method)
    before = [p.detach().clone() for p in net.body[0].edges[0][3].parameters()]
    descend(net, optimiser, [second], batch(2), method)
    moved = not close(before, [p.detach() for p in net.body[0].edges[0][3].parameters()])
    assert moved is zero_grad


@pytest.mark.parametrize("squared", [True, False])
def test_the_proximal_term_is_the_gradient_of_its_formula(squared):
    net, reference, (x, y) = small(), small(), batch()
    start = [p + 0.01 * torch.randn_like(p) for p in weights(net)]
    method = Method(inner_steps=2, proximal=10.0, squared=squared)
    descend(net, sgd(net), paths(net, ROWS[0]), (x, y), method, start=start)
    loss = functional.cross_entropy(reference(x, paths(reference, ROWS[0])[0]), y)
    squares = sum(((p - s) ** 2).sum() for p, s in zip(reference.parameters(), start, strict=True))
    (loss + 10.0 / 2 * (squares if squared else squares.sqrt())).backward()
    optimiser = sgd(reference)
    optimiser.step()
    assert close(weights(net), weights(reference))


def test_the_unsquared_norm_pulls_nowhere_at_the_start():
    net, other = small(), small()
    steps = Method(inner_steps=2, proximal=10.0, squared=False)
    descend(net, sgd(net), paths(net, ROWS[0]), batch(), steps, start=weights(net))
    descend(other, sgd(other), paths(other, ROWS[0]), batch(), Method())
    assert close(weights(net), weights(other))


def test_reptile_as_run_is_sequential_descent_on_one_minibatch():
    """D8: with an outer rate of 1 and no rollback it is SGD, four steps a minibatch, paths drawn anew."""
    net, reference, here = small(), small(), batch()
    drawn = iter([paths(net, row) for row in ROWS])
    method = Method(inner_steps=4)
    adapt(net, sgd(net), lambda: next(drawn), here, method)
    optimiser = sgd(reference)
    for row in ROWS:
        descend(reference, optimiser, paths(reference, row), here, method)
    assert close(weights(net), weights(reference))


def test_true_reptile_goes_part_of_the_way_of_one_architecture():
    net, reference = small(), small()
    start = weights(reference)
    here, method = batch(), Method(inner_steps=4, redraw=False, outer_lr=0.25)
    drawn = iter([paths(net, ROWS[1])])  # a second draw would fail
    adapt(net, sgd(net, momentum=0), lambda: next(drawn), here, method)
    optimiser = sgd(reference, momentum=0)
    for _ in range(4):
        descend(reference, optimiser, paths(reference, ROWS[1]), here, method)
    expected = [s + 0.25 * (w - s) for s, w in zip(start, weights(reference), strict=True)]
    assert close(weights(net), expected)
    assert not close(weights(net), weights(reference))


def test_metaprox_stays_nearer_to_its_start_than_reptile():
    moved = {}
    for proximal in (0.0, 10.0):
        net = small()
        start = weights(net)
        method = Method(inner_steps=4, proximal=proximal)
        adapt(net, sgd(net, lr=0.02), lambda net=net: paths(net, ROWS[0]), batch(), method)
        ways = [(w - s).norm() for w, s in zip(weights(net), start, strict=True)]
        moved[proximal] = torch.stack(ways).norm().item()
    assert moved[10.0] < 0.9 * moved[0.0]


def test_passes_are_counted():
    assert passes(Method(), 1) == 1
    assert passes(Method(), 5) == 5
    assert passes(Method(paths=4, inner_steps=4), 4) == 16
