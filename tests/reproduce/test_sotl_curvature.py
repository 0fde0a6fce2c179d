"""The ends of a Hessian's spectrum beside the whole one."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from harness.supernet import darts_net, mixed, nb1shot1_net, nb201_net, relaxed
from reproduce.sotl import curvature
from reproduce.sotl.curvature import dense, eigenvalues, lanczos, products
from reproduce.sotl.mixed_networks import flat, shaped

pytestmark = pytest.mark.usefixtures("one_thread")
OPS = ("skip_connect", "sep_conv_5x5", "dil_conv_3x3", "max_pool_3x3")


def curved(points: list[Tensor]) -> Tensor:
    first, second = points
    return (first**4).sum() + (first.sum() * second).tanh().sum() - (second**2).sum() * first[0]


def test_the_dense_hessian_is_torch_s() -> None:
    torch.manual_seed(0)
    points = [torch.randn(3, dtype=torch.float64), torch.randn(2, dtype=torch.float64)]
    times, size = products(curved, points)
    joined = torch.cat(points)
    whole = torch.autograd.functional.hessian(lambda x: curved([x[:3], x[3:]]), joined).numpy()
    np.testing.assert_allclose(dense(times, size), whole, atol=1e-12)
    assert eigenvalues(curved, points) == pytest.approx(np.linalg.eigvalsh(whole)[[-1, 0]])


def test_lanczos_finds_the_ends_of_the_dense_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a mixed network: 30 parameters, to a thousandth in 20 steps; to rounding when it runs to the end."""
    torch.manual_seed(1)
    network = mixed.NB201(nb201_net.build(2, 1, 10)).double().train()
    x, y = torch.randn(6, 3, 4, 4, dtype=torch.float64), torch.randint(10, (6,))
    alpha = 0.1 * torch.randn(6, 5, dtype=torch.float64)

    def loss(points: list[Tensor]) -> Tensor:
        return functional.cross_entropy(network(x, points[0].softmax(dim=-1)), y)

    times, size = products(loss, [alpha])
    exact = np.linalg.eigvalsh(dense(times, size))
    np.testing.assert_allclose(lanczos(times, size, size)[[0, -1]], exact[[0, -1]], rtol=1e-8)
    monkeypatch.setattr(curvature, "DENSE", 10)
    assert eigenvalues(loss, [alpha]) == pytest.approx(exact[[-1, 0]], rel=1e-3)


@pytest.mark.parametrize("space", ["nb1shot1-3", "darts"])
def test_products_are_slopes_of_gradients(space: str) -> None:
    """Also through the mixed networks' own backward passes: against central differences of the gradient."""
    torch.manual_seed(2)
    if space == "darts":
        network = mixed.Darts(mixed.only(darts_net.SuperNetwork(darts_net.Skeleton(2, 3)), OPS), OPS)
    else:
        network = mixed.NB1Shot1(nb1shot1_net.SuperNetwork(3, nb1shot1_net.Skeleton(2, 1)))
    network = network.double().to(memory_format=torch.channels_last).train()
    x = torch.randn(4, 3, 8, 8, dtype=torch.float64).contiguous(memory_format=torch.channels_last)
    y, drawn = torch.randint(10, (4,)), relaxed.start(space, np.random.default_rng(0), OPS)

    def loss(points: list[Tensor]) -> Tensor:
        weights = relaxed.over(shaped(list(points), drawn), relaxed.softmax)
        return functional.cross_entropy(network(x, weights), y)

    def slope(joined: Tensor) -> Tensor:
        points = [part.clone().requires_grad_() for part in joined.split([part.numel() for part in parts])]
        shaped_ = [point.view_as(part) for point, part in zip(points, parts, strict=True)]
        return torch.cat(torch.autograd.grad(loss(shaped_), points))

    parts = flat(drawn)
    times, size = products(loss, parts)
    vector = np.random.default_rng(1).standard_normal(size)
    here, ahead = torch.cat([part.flatten() for part in parts]), 1e-5 * torch.from_numpy(vector)
    differences = (slope(here + ahead) - slope(here - ahead)) / 2e-5
    np.testing.assert_allclose(times(vector), differences.numpy(), atol=1e-7)


def test_lanczos_ends_where_the_space_does() -> None:
    """A multiple of the unit matrix leaves one step."""
    assert lanczos(lambda vector: 3 * vector, 5, 5) == pytest.approx([3.0])
