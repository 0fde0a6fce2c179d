"""The super-network over NAS-Bench-201 cells against the stand-alone networks that it contains."""

import numpy as np
import pytest
import torch

from harness.base.errors import HarnessError
from harness.spaces import nb201
from harness.spaces.nb201_net import network
from harness.supernet.nb201_net import Skeleton, SuperNetwork, choice, connected, fair, uniform, used
from harness.supernet.sampling import drawing, whole

SMALL = {"channels": 4, "cells": 2}
ARCHS = [
    nb201.from_digits(row)
    for row in ("012344", "333333", "100020", "433210", "111111", "003001", "443343", "323423")
]


def images(n: int = 3, side: int = 16) -> torch.Tensor:
    return torch.randn(n, 3, side, side, generator=torch.Generator().manual_seed(1))


def path(net: SuperNetwork, arch: str) -> tuple[str, ...]:
    return whole(choice(arch), net.cells)


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
    ).to(net.stem[0].weight.dtype)
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
@pytest.mark.parametrize("track", [False, True])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format])
def test_an_architecture_is_its_stand_alone_network(arch, affine, track, training, layout):
    """Which is written with torch's own modules: the same outputs, gradients and statistics."""
    torch.manual_seed(0)
    skeleton = Skeleton(**SMALL, affine=affine, track=track, conv_bias=affine)
    net, x = SuperNetwork(skeleton).double(), images().double().to(memory_format=layout)
    with torch.no_grad():
        for vector in (p for p in net.parameters() if p.ndim == 1):
            vector.add_(
                torch.randn_like(vector)
            )  # at a shift of 0, ReLU has two gradients for what is constant
        for _ in range(2):  # so that the running statistics are not the initial ones
            net(x, path(net, ARCHS[0]))
    alone = copied(net, arch, skeleton)
    results = []
    for module, given in ((net, (x, path(net, arch))), (alone, (x,))):
        out = module.to(memory_format=layout).train(training)(*given)
        (out * torch.arange(10)).sum().backward()
        results.append(out)
    assert results[0].shape == (3, 10)
    torch.testing.assert_close(*results)
    chosen = chosen_of(net, arch)
    for name, theirs in alone.named_parameters():
        ours = chosen.get_parameter(name).grad
        # What `none` cuts off has a gradient of zero there and none here.
        torch.testing.assert_close(torch.zeros_like(theirs) if ours is None else ours, theirs.grad)
    not_run = set(range(6)) - net.body[0].used(nb201.digits(arch))
    for name, theirs in alone.named_buffers():
        if not any(f".edges.{edge}." in name for edge in not_run):
            torch.testing.assert_close(chosen.get_buffer(name), theirs)


def chosen_of(net: SuperNetwork, arch: str) -> torch.nn.Module:
    """The super-network's own modules, named as those of the stand-alone network."""
    found = torch.nn.Module()
    found.stem, found.head, found.body = net.stem, net.head, torch.nn.ModuleList()
    for part in net.body:
        if hasattr(part, "edges"):
            cell = torch.nn.Module()
            cell.edges = torch.nn.ModuleList(
                edge[int(op)] for edge, op in zip(part.edges, nb201.digits(arch), strict=True)
            )
            part = cell
        found.body.append(part)
    return found


@pytest.mark.parametrize(("arch", "times"), [("333333", 3), ("444444", 3), ("233243", 4), ("443344", 5)])
def test_what_edges_of_a_node_share_is_computed_once(arch, times):
    """The ReLU and the pool of each of the three nodes with edges going out, where there are any."""
    cell, calls = SuperNetwork(Skeleton(**SMALL)).body[0], []
    for module in cell.modules():
        if isinstance(module, torch.nn.ReLU | torch.nn.AvgPool2d):
            module.register_forward_hook(lambda *given: calls.append(given))
    cell(torch.randn(2, 4, 8, 8), arch)
    assert len(calls) == times


def test_gradients_keep_the_memory_format_of_what_they_belong_to():
    """Another one would have to be rearranged, which takes longer than what is done with it."""
    net, formats = SuperNetwork(Skeleton(**SMALL)).to(memory_format=torch.channels_last), []
    for module in net.modules():
        if isinstance(module, torch.nn.BatchNorm2d) or module is net.head[1]:
            module.register_full_backward_hook(
                lambda _, inner, outer: formats.append(
                    outer[0].is_contiguous(memory_format=torch.channels_last)
                )
            )
    net(images().to(memory_format=torch.channels_last), ("234343",) * net.cells).square().sum().backward()
    assert len(formats) == 7 + 6 * 4 and all(formats)  # stem, reductions and head; four in each cell


def test_only_the_chosen_operations_get_gradients():
    net = SuperNetwork(Skeleton(**SMALL, affine=True))
    net(images(), ("233111",) * net.cells).sum().backward()
    cell = net.body[0]
    chosen = {(0, 2), (1, 3), (2, 3)}
    for e, edge in enumerate(cell.edges):
        for o, op in enumerate(edge):
            with_gradient = [p.grad is not None for p in op.parameters()]
            assert all(with_gradient) if (e, o) in chosen else not any(with_gradient)


def test_two_architectures_differ():
    net = SuperNetwork(Skeleton(**SMALL)).eval()
    with torch.no_grad():
        outputs = [net(images(), path(net, arch)) for arch in ARCHS]
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
        choice("012345")
    rng = np.random.default_rng(0)
    for arch in nb201.SPACE.sample(3, rng):
        net = SuperNetwork(Skeleton(channels=2, cells=1, classes=7))
        assert net(images(), path(net, arch)).shape == (3, 7)


def test_used_edges_by_going_through_all_ways():
    """Against every path from input to output, for all 15,625 cells."""
    ways = [(3,), (0, 4), (1, 5), (0, 2, 5)]  # edges of 0→3, 0→1→3, 0→2→3, 0→1→2→3
    for row in map(nb201.digits, nb201.SPACE.enumerate()):
        open_ways = [way for way in ways if all(row[edge] != "0" for edge in way)]
        assert used(row) == frozenset(edge for way in open_ways for edge in way), row


def test_zeros_that_a_shift_would_move_are_computed():
    """Behind `none` a batch norm with a shift gives a constant, not nothing."""
    assert used("003001") == frozenset()
    assert used("003001", zeros_stay=False) == {2, 5}


def test_a_node_never_draws_nothing_but_none():
    rng = np.random.default_rng(0)
    rows = [connected(rng) for _ in range(4000)]
    assert all(set(row[a:b]) != {"0"} for row in rows for a, b in ((0, 1), (1, 3), (3, 6)))
    share = np.mean([row[3] == "0" for row in rows])
    assert abs(share - (1 / 5 - 1 / 125) / (1 - 1 / 125)) < 0.02  # P(none | not all three none)


def test_uniform_draws_reach_every_operation_and_the_empty_cell():
    rng = np.random.default_rng(0)
    counts = np.zeros((6, 5))
    for _ in range(5000):
        for edge, op in enumerate(uniform(rng)):
            counts[edge, int(op)] += 1
    assert abs(counts / 5000 - 0.2).max() < 0.025


def test_fair_cells_use_each_operation_once_per_edge():
    rng = np.random.default_rng(0)
    draws = [fair(rng) for _ in range(50)]
    for cells in draws:
        assert len(cells) == 5
        assert all({cell[edge] for cell in cells} == set("01234") for edge in range(6))
    assert any(len(set(cell)) > 1 for cells in draws for cell in cells)  # edges are permuted on their own


def test_drawings_share_cells_or_do_not():
    import harness.supernet.nb201_net as space

    rng = np.random.default_rng(0)
    per_cell = drawing(space, "per_cell", 1, 15)(rng)
    shared = drawing(space, "shared", 4, 15)(rng)
    fairly = drawing(space, "fair", 1, 15)(rng)
    assert [len(d) for d in (per_cell, shared, fairly)] == [1, 4, 5]
    assert len(set(per_cell[0])) > 5
    assert all(len(set(one)) == 1 and len(one) == 15 for one in shared + fairly)
