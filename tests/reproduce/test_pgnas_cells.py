"""PGNAS: each operation of ENAS's cell against a plain computation, pixel by pixel; wiring and drop path."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from reproduce.pgnas import enas_cell
from reproduce.pgnas.enas_cell import NORMAL, REDUCE, Cell, Halved, Pointwise, Pool, Separable


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def windows(x: np.ndarray, kernel: int, stride: int):
    """TensorFlow's SAME: each output's place, and the pixels of its window that lie inside the image."""
    side = x.shape[-1]
    outputs = math.ceil(side / stride)
    before = max((outputs - 1) * stride + kernel - side, 0) // 2
    for i in range(outputs):
        for j in range(outputs):
            top, left = i * stride - before, j * stride - before
            yield (
                (i, j),
                [
                    (a, b, top + a, left + b)
                    for a in range(kernel)
                    for b in range(kernel)
                    if 0 <= top + a < side and 0 <= left + b < side
                ],
            )


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def normed(x: np.ndarray, norm: nn.BatchNorm2d) -> np.ndarray:
    mean, var, weight, bias = (
        t.detach().numpy()[:, None, None]
        for t in (norm.running_mean, norm.running_var, norm.weight, norm.bias)
    )
    return (x - mean) / np.sqrt(var + norm.eps) * weight + bias


def pointwise(x: np.ndarray, conv: nn.Conv2d) -> np.ndarray:
    return np.einsum("oi,nihw->nohw", conv.weight.detach().numpy()[:, :, 0, 0], x)


def depthwise(x: np.ndarray, weight: np.ndarray, stride: int) -> np.ndarray:
    side = math.ceil(x.shape[-1] / stride)
    out = np.zeros((*x.shape[:2], side, side))
    for (i, j), inside in windows(x, weight.shape[-1], stride):
        for a, b, row, column in inside:
            out[:, :, i, j] += x[:, :, row, column] * weight[None, :, 0, a, b]
    return out


def ready(part: nn.Module) -> nn.Module:
    """In evaluation, with statistics, scales and shifts that are not the first ones; in double precision."""
    for norm in part.modules():
        if isinstance(norm, nn.BatchNorm2d):
            for values in (norm.running_mean, norm.bias):
                values.data.normal_()
            for values in (norm.running_var, norm.weight):
                values.data.uniform_(0.5, 2)
    return part.double().eval()


def same(part: nn.Module, x: Tensor, wanted: np.ndarray) -> None:
    with torch.no_grad():
        np.testing.assert_allclose(part(x).numpy(), wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("side", [6, 7])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kernel", [3, 5])
def test_separable_convolution(kernel: int, stride: int, side: int):
    part, x = ready(Separable(3, kernel, stride)), torch.randn(2, 3, side, side).double()
    wanted = x.numpy()
    for i, s in enumerate((stride, 1)):
        wanted = depthwise(relu(wanted), part.depth[i].weight.detach().numpy(), s)
        wanted = normed(pointwise(wanted, part.point[i]), part.norm[i])
    same(part, x, wanted)


@pytest.mark.parametrize("side", [6, 7])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kind", ["max", "average"])
def test_pools(kind: str, stride: int, side: int):
    x = torch.randn(2, 3, side, side).double()
    wanted = np.zeros((2, 3, math.ceil(side / stride), math.ceil(side / stride)))
    for (i, j), inside in windows(x.numpy(), 3, stride):
        pixels = np.stack([x.numpy()[:, :, row, column] for _, _, row, column in inside])
        wanted[:, :, i, j] = pixels.max(0) if kind == "max" else pixels.mean(0)
    same(Pool(kind, stride), x, wanted)


@pytest.mark.parametrize("side", [6, 7])
def test_halving(side: int):
    part, x = ready(Halved(3, 4)), torch.randn(2, 3, side, side).double()
    moved = np.zeros_like(x.numpy())
    moved[:, :, :-1, :-1] = x.numpy()[:, :, 1:, 1:]
    one, other = (
        pointwise(x.numpy()[:, :, ::2, ::2], part.conv1),
        pointwise(moved[:, :, ::2, ::2], part.conv2),
    )
    same(part, x, normed(np.concatenate([one, other], 1), part.norm))


def test_pointwise_convolution():
    part, x = ready(Pointwise(3, 5)), torch.randn(2, 3, 4, 4).double()
    same(part, x, normed(pointwise(relu(x.numpy()), part.conv), part.norm))


@pytest.mark.parametrize(("stride", "arc"), [(1, NORMAL), (2, REDUCE)])
def test_a_cell_sums_two_operations_per_node_and_joins_what_is_not_read(stride: int, arc: tuple):
    """States are numbered as the released arc has them: two inputs, then five nodes."""
    cell = ready(Cell((6, 6), (8, 8), 4, stride))
    first, second = torch.randn(2, 1, 6, 8, 8).double()
    with torch.no_grad():
        states = [cell.calibrate0(first), cell.base(cell.calibrate1(second))]
        for number, (a, of_a, b, of_b) in enumerate(arc):
            parts = []
            for place, (at, which) in enumerate(((a, of_a), (b, of_b))):
                operation = cell.operations[2 * number + place]
                half = stride == 2 and at < 2
                kind = (Separable, Separable, Pool, Pool, Halved if half else nn.Identity)[which]
                assert type(operation) is kind
                if which < 2:
                    assert operation.kernel == (3, 5)[which] and operation.strides[0] == (2 if half else 1)
                elif which < 4:
                    assert operation.kind == ("average", "max")[which - 2] and operation.stride == (
                        2 if half else 1
                    )
                parts.append(operation(states[at]))
            states.append(parts[0] + parts[1])
        read = {at for node in arc for at in (node[0], node[2])}
        wanted = torch.cat([state for i, state in enumerate(states) if i not in read], 1)
        torch.testing.assert_close(cell(first, second, 1.0), wanted)
    assert wanted.shape[1] == cell.out_channels and wanted.shape[2] == 8 // stride


def test_drop_path_drops_images_of_all_but_identities():
    x = torch.ones(4000, 2, 1, 1)
    found = enas_cell._drop_path(x, 0.7)
    assert found.unique().tolist() == pytest.approx([0, 1 / 0.7])
    assert (found[:, 0] == found[:, 1]).all()
    assert (found[:, 0] > 0).float().mean().item() == pytest.approx(0.7, abs=0.03)
    assert torch.equal(enas_cell._drop_path(x, 1.0), x)


def test_drop_path_grows_with_depth_and_training(monkeypatch: pytest.MonkeyPatch):
    kept = []
    monkeypatch.setattr(enas_cell, "_drop_path", lambda x, keep: kept.append(round(keep, 6)) or x)
    network = enas_cell.EnasNet(enas_cell.Shape(filters=4, layers=3)).train()
    for progress in (0.0, 0.5, 1.0):
        kept.clear()
        network.progress = progress
        network(torch.randn(2, 3, 32, 32))
        assert sorted(set(kept), reverse=True) == sorted(
            {round(1 - progress * (i + 1) / 5 * 0.4, 6) for i in range(5)}, reverse=True
        )
    kept.clear()
    network.eval()(torch.randn(1, 3, 32, 32))
    assert kept == []
