"""The ends of a Hessian's spectrum beside the whole one."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from harness.supernet import mixed, nb201_net
from reproduce.sotl import curvature
from reproduce.sotl.curvature import dense, eigenvalues, lanczos, products

pytestmark = pytest.mark.usefixtures("one_thread")


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


def test_lanczos_ends_where_the_space_does() -> None:
    """A multiple of the unit matrix leaves one step."""
    assert lanczos(lambda vector: 3 * vector, 5, 5) == pytest.approx([3.0])
