"""The super-network over NAS-Bench-201 cells against the stand-alone networks that it contains."""

import numpy as np
import pytest
import torch

from harness.errors import HarnessError
from harness.spaces import nb201
from harness.spaces.nb201_net import network
from harness.supernet.nb201_net import Skeleton, SuperNetwork

SMALL = {"channels": 4, "cells": 2}
ARCHS = [nb201.from_digits(row) for row in ("012344", "333333", "100020", "433210", "111111")]


def images(n: int = 3, side: int = 16) -> torch.Tensor:
    return torch.randn(n, 3, side, side, generator=torch.Generator().manual_seed(1))


def copied(net: SuperNetwork, arch: str, skeleton: Skeleton) -> torch.nn.Module:
    """The stand-alone network of one architecture with the super-network's weights and statistics."""
    alone = network(
        arch,
        skeleton.channels,
        skeleton.cells,
        skeleton.classes,
        skeleton.affine,
        skeleton.track,
        conv_bias=skeleton.conv_bias,
    )
    row = nb201.digits(arch)
    alone.stem.load_state_dict(net.stem.state_dict())
    alone.head.load_state_dict(net.head.state_dict())
    for ours, theirs in zip(alone.body, net.body, strict=True):
        if hasattr(theirs, "edges"):
            for op, edge, choice in zip(ours.edges, theirs.edges, row, strict=True):
                op.load_state_dict(edge[int(choice)].state_dict())
        else:
            ours.load_state_dict(theirs.state_dict())
    return alone


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("training", [True, False])
def test_an_architecture_is_its_stand_alone_network(arch, affine, training):
    torch.manual_seed(0)
    skeleton = Skeleton(**SMALL, affine=affine, conv_bias=affine)
    net = SuperNetwork(skeleton)
    with torch.no_grad():
        for _ in range(2):  # so that the running statistics are not the initial ones
            net(images(), ARCHS[0])
    alone = copied(net, arch, skeleton)
    for module in (net, alone):
        module.train(training)
    with torch.no_grad():
        ours = net(images(), arch)
        assert torch.equal(ours, alone(images()))
    assert ours.shape == (3, 10)
    if training:
        assert torch.equal(net.stem[1].running_mean, alone.stem[1].running_mean)


def test_only_the_chosen_operations_get_gradients():
    net = SuperNetwork(Skeleton(**SMALL, affine=True))
    net(images(), nb201.from_digits("233111")).sum().backward()
    cell = net.body[0]
    chosen = {(0, 2), (1, 3), (2, 3)}
    for e, edge in enumerate(cell.edges):
        for o, op in enumerate(edge):
            with_gradient = [p.grad is not None for p in op.parameters()]
            assert all(with_gradient) if (e, o) in chosen else not any(with_gradient)


def test_two_architectures_differ():
    net = SuperNetwork(Skeleton(**SMALL)).eval()
    with torch.no_grad():
        outputs = [net(images(), arch) for arch in ARCHS]
    assert all(not torch.equal(outputs[0], other) for other in outputs[1:])


@pytest.mark.parametrize(("skip_linear", "params"), [(False, 718_426), (True, 782_938)])
def test_parameters_of_icw_table_3(skip_linear, params):
    net = SuperNetwork(Skeleton(cells=2, skip_linear=skip_linear))
    assert sum(p.numel() for p in net.parameters()) == params
    assert sum(p.numel() for part in net.parts().values() for p in part.parameters()) == params


def test_parameters_are_those_of_the_fixed_parts_and_of_every_operation():
    """C = 16, N = 2 without affine batch norm: per searched cell 6 edges of a 1x1 and a 3x3 convolution."""
    parts = {
        n: sum(p.numel() for p in m.parameters()) for n, m in SuperNetwork(Skeleton(cells=2)).parts().items()
    }
    assert parts["stem"] == 9 * 3 * 16 + 2 * 16
    for name, c in {"0": 16, "1": 16, "3": 32, "4": 32, "6": 64, "7": 64}.items():
        assert parts[name] == 6 * (1 + 9) * c * c
    for name, c in {"2": 16, "5": 32}.items():
        assert parts[name] == 18 * c * c + 36 * c * c + 2 * c * c + 8 * c
    assert parts["head"] == 2 * 64 + 65 * 10
    assert list(parts) == ["stem", *map(str, range(8)), "head"]


def test_skip_as_a_convolution_is_one():
    torch.manual_seed(0)
    plain, linear = (SuperNetwork(Skeleton(**SMALL, skip_linear=flag)) for flag in (False, True))
    assert sum(1 for m in linear.modules() if isinstance(m, torch.nn.Conv2d)) == (
        sum(1 for m in plain.modules() if isinstance(m, torch.nn.Conv2d)) + 6 * 6
    )
    skip = linear.body[0].edges[0][1]
    assert isinstance(skip, torch.nn.Conv2d) and skip.bias is None and skip.kernel_size == (1, 1)


def test_the_pool_at_the_border():
    x = torch.ones(1, 4, 4, 4)
    for counts, corner in ((False, 1.0), (True, 4 / 9)):
        pool = SuperNetwork(Skeleton(**SMALL, pool_counts_padding=counts)).body[0].edges[0][4]
        assert pool(x)[0, 0, 0, 0].item() == pytest.approx(corner)
        assert pool(x)[0, 0, 1, 1].item() == pytest.approx(1.0)


def test_statistics_are_kept_or_not():
    assert SuperNetwork(Skeleton(**SMALL)).body[0].edges[0][3][2].running_mean is not None
    assert SuperNetwork(Skeleton(**SMALL, track=False)).body[0].edges[0][3][2].running_mean is None


def test_what_is_no_architecture_is_refused():
    with pytest.raises(HarnessError):
        SuperNetwork(Skeleton(**SMALL))(images(), "012345")
    rng = np.random.default_rng(0)
    for arch in nb201.SPACE.sample(3, rng):
        assert SuperNetwork(Skeleton(channels=2, cells=1, classes=7))(images(), arch).shape == (3, 7)
