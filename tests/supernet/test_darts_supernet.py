"""DARTS' search network against the stand-alone networks that it contains."""

import numpy as np
import pytest
import torch
from torch import nn

from harness.base.errors import HarnessError
from harness.spaces.darts import OPS, SPACE, Genotype, costs
from harness.spaces.darts_net import FactorizedReduce, Network, network
from harness.supernet.darts_net import Skeleton, SuperNetwork, choice, fair, uniform
from harness.supernet.depthwise_net import Depthwise
from harness.supernet.sampling import drawing


def images(n: int = 4, side: int = 16) -> torch.Tensor:
    return torch.randn(n, 3, side, side, generator=torch.Generator().manual_seed(1))


def small(**flags: object) -> SuperNetwork:
    torch.manual_seed(0)
    return SuperNetwork(Skeleton(**{"channels": 4, "layers": 3, **flags}))


def drawn(cells: int, seed: int) -> tuple[Genotype, ...]:
    """A path in which every cell has its own choice."""
    rng = np.random.default_rng(seed)
    return tuple(uniform(rng) for _ in range(cells))


def part_of(genotype: Genotype, reduction: bool) -> tuple[tuple[str, int], ...]:
    return genotype.reduce if reduction else genotype.normal


def without_scale_and_shift(module: nn.Module) -> None:
    """Batch norms are replaced, the weights kept."""
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.BatchNorm2d):
                setattr(parent, name, nn.BatchNorm2d(child.num_features, affine=False))


def copied(net: SuperNetwork, genotype: Genotype, skeleton: Skeleton) -> Network:
    """The stand-alone network of one genotype with the search network's weights and statistics."""
    alone = network(str(genotype), skeleton.channels, skeleton.layers, skeleton.classes)
    alone.stem.load_state_dict(net.stem.state_dict())
    alone.head.load_state_dict(net.head.state_dict())
    for ours, theirs in zip(alone.cells, net.body, strict=True):
        if not skeleton.affine:
            without_scale_and_shift(ours)
        ours.before.load_state_dict(theirs.before.state_dict())
        ours.last.load_state_dict(theirs.last.state_dict())
        for i, (op, source) in enumerate(part_of(genotype, theirs.reduction)):
            if skeleton.pool_norm and "pool" in op:
                width = theirs.last[1].out_channels
                ours.edges[i] = nn.Sequential(ours.edges[i], nn.BatchNorm2d(width, affine=skeleton.affine))
            ours.edges[i].load_state_dict(theirs.edges[f"{source}-{2 + i // 2}"][op].state_dict())
    return alone


@pytest.mark.parametrize("flags", [{}, {"affine": True, "pool_norm": False}, {"layers": 6, "classes": 7}])
@pytest.mark.parametrize("training", [True, False])
def test_an_architecture_is_its_stand_alone_network(flags, training):
    skeleton = Skeleton(**{"channels": 4, "layers": 3, **flags})
    net = small(**flags)
    with torch.no_grad():
        for seed in range(3):  # so that the running statistics are not the initial ones
            net(images(), drawn(net.cells, seed))
        outputs = []
        for arch in SPACE.sample(4, np.random.default_rng(1)):
            alone = copied(net, choice(arch), skeleton).train(training)
            outputs.append(net.train(training)(images(), (choice(arch),) * net.cells))
            assert torch.equal(outputs[-1], alone(images()))
    assert all(not torch.allclose(outputs[0], other) for other in outputs[1:])


def test_only_the_chosen_operations_are_run():
    net, ran = small(layers=4), set()
    for place, cell in enumerate(net.body):
        for edge, ops in cell.edges.items():
            for op, module in ops.items():
                module.register_forward_hook(lambda *_, name=(place, edge, op): ran.add(name))
    path = drawn(net.cells, 0)
    net(images(), path)
    assert ran == {
        (place, f"{source}-{2 + i // 2}", op)
        for place, genotype in enumerate(path)
        for i, (op, source) in enumerate(part_of(genotype, reduction=place in (1, 2)))
    }


def test_every_cell_reads_its_own_genotype_and_of_it_the_part_for_its_kind():
    net = small(layers=4).eval()
    path, others = drawn(4, 0), drawn(4, 1)
    with torch.no_grad():
        before = net(images(), path)
        for place, (mine, other) in enumerate(zip(path, others, strict=True)):
            ours, theirs = Genotype(other.normal, mine.reduce), Genotype(mine.normal, other.reduce)
            unseen, seen = (ours, theirs) if place in (1, 2) else (theirs, ours)
            assert torch.equal(net(images(), (*path[:place], unseen, *path[place + 1 :])), before)
            assert not torch.allclose(net(images(), (*path[:place], seen, *path[place + 1 :])), before)


def test_parameters_are_those_that_darts_logs():
    """`param size = 1.930618MB` (in millions) stands at the top of its search logs."""
    assert sum(p.numel() for p in SuperNetwork(Skeleton()).parameters()) == 1_930_618


@pytest.mark.parametrize(("channels", "layers", "classes"), [(16, 8, 10), (8, 3, 7), (4, 4, 10)])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("pool_norm", [True, False])
def test_parameters_are_those_of_the_fixed_parts_and_of_every_operation(
    channels, layers, classes, affine, pool_norm
):
    """From the space's own table; of a reduction cell's 14 edges eight have a stride."""
    table = costs(channels, layers, classes, affine=affine)
    normal, reduction = table.edges[..., 0].sum(axis=2)
    total = table.fixed[0] + 14 * normal[0] + 6 * reduction[0] + 8 * reduction[1]
    width = [channels << ((i >= layers // 3) + (i >= 2 * layers // 3)) for i in range(layers)]
    if not affine:  # the table's inputs of cells always have scale and shift
        total -= sum(4 * c for c in width)
    elif pool_norm:
        total += sum(14 * 2 * 2 * c for c in width)
    net = SuperNetwork(Skeleton(channels, layers, classes, affine, pool_norm=pool_norm))
    assert sum(p.numel() for p in net.parameters()) == total


def test_batch_norm_is_as_the_flags_say():
    for affine in (True, False):
        for track in (True, False):
            net = small(affine=affine, track=track)
            inside = [m for m in net.body.modules() if isinstance(m, nn.BatchNorm2d)]
            assert {(m.affine, m.track_running_stats) for m in inside} == {(affine, track)}
            # per edge two norms of pools, four of separable and two of dilated convolutions; inputs; skips
            assert len(inside) == 3 * (14 * 8 + 2) + 2 * 8
            assert net.stem[1].affine and net.stem[1].track_running_stats
            pools = [ops[op] for cell in net.body for ops in cell.edges.values() for op in OPS[:2]]
            assert all(isinstance(pool[1], nn.BatchNorm2d) for pool in pools)


def test_cells_of_one_and_two_thirds_reduce():
    for layers, places in ((8, {2, 5}), (3, {1, 2}), (4, {1, 2})):
        cells = small(layers=layers).body
        assert {i for i, cell in enumerate(cells) if cell.reduction} == places
        after = {i + 1 for i in places if i + 1 < layers}
        assert {i for i, cell in enumerate(cells) if isinstance(cell.before, FactorizedReduce)} == after


def test_channels_last_gives_the_same_logits():
    net = small()
    with torch.no_grad():
        for seed in range(4):
            path = drawn(net.cells, seed)
            plain = net(images(), path)
            other = net.to(memory_format=torch.channels_last)
            x = images().contiguous(memory_format=torch.channels_last)
            torch.testing.assert_close(other(x, path), plain, rtol=1e-4, atol=1e-4)


def gradients(net: nn.Module, x: torch.Tensor, *path: object) -> list[torch.Tensor]:
    x.requires_grad_()
    net(x, *path).square().sum().backward()
    return [x.grad, *(p.grad for p in net.parameters() if p.grad is not None)]


def test_channels_last_gives_the_same_gradients():
    """In double precision: there the quick gradients and those of slices in one piece are used."""
    for seed in range(4):
        path, found = drawn(3, seed), []
        for form in (torch.contiguous_format, torch.channels_last):
            net = small().double().to(memory_format=form)
            found.append(gradients(net, images().double().contiguous(memory_format=form), path))
        for plain, other in zip(*found, strict=True):
            torch.testing.assert_close(other, plain, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kernel", [3, 5])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("sides", [(8, 8), (12, 6), (4, 2), (7, 5)])
def test_quick_gradients_are_those_of_the_plain_convolution(kernel, dilation, stride, sides):
    torch.manual_seed(0)
    args = (4, 4, kernel, stride, dilation * (kernel // 2), dilation, 4, False)
    plain, quick = nn.Conv2d(*args).double(), Depthwise(*args).double()
    quick.load_state_dict(plain.state_dict())
    x = torch.randn(3, 4, *sides).double().contiguous(memory_format=torch.channels_last)
    assert torch.equal(quick(x), plain(x))
    for ours, theirs in zip(gradients(quick, x.clone()), gradients(plain, x.clone()), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


def test_quick_gradients_have_gradients():
    """Of second order, for the eigenvalues of section 4.3."""
    x = torch.randn(1, 2, 4, 4).double().contiguous(memory_format=torch.channels_last).requires_grad_()
    net = Depthwise(2, 2, 5, 1, 4, 2, groups=2, bias=False).double()

    def of(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(net, {"weight": weight}, (x,))

    assert torch.autograd.gradgradcheck(of, (x, net.weight))


def test_quick_gradients_leave_mixed_precision_alone():
    x = images().repeat(1, 2, 1, 1)[:, :4].contiguous(memory_format=torch.channels_last)
    net = Depthwise(4, 4, 5, 1, 2, groups=4, bias=False)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert net(x).dtype == torch.bfloat16


def test_fair_genotypes_use_each_operation_once_per_edge():
    rng = np.random.default_rng(0)
    seen, first = set(), np.zeros((16, len(OPS)))
    for _ in range(300):
        genotypes = fair(rng)
        assert len(genotypes) == 7 and all(choice(str(g)) == g for g in genotypes)
        rows = [g.normal + g.reduce for g in genotypes]
        for edge in range(16):
            assert {row[edge][0] for row in rows} == set(OPS)
            assert len({row[edge][1] for row in rows}) == 1
            first[edge, OPS.index(rows[0][edge][0])] += 1
        seen.add(tuple(source for _, source in rows[0]))
        assert len({tuple(OPS.index(row[edge][0]) for row in rows) for edge in range(16)}) > 8
    assert len(seen) > 280  # inputs are drawn anew
    assert abs(first / 300 - 1 / 7).max() < 0.09


def test_draws_are_of_the_space_and_even():
    rng = np.random.default_rng(0)
    genotypes = [uniform(rng) for _ in range(1500)]
    assert all(choice(str(g)) == g for g in genotypes[:50])
    for kind in ("normal", "reduce"):
        cells = [getattr(g, kind) for g in genotypes]
        for node, pairs in zip((2, 3, 4, 5), (1, 3, 6, 10), strict=True):
            inputs = [f"{c[2 * node - 4][1]}{c[2 * node - 3][1]}" for c in cells]
            shares = np.unique(inputs, return_counts=True)[1] / len(cells)
            assert len(shares) == pairs and abs(shares - 1 / pairs).max() < 0.045
        ops = np.array([[op for op, _ in c] for c in cells])
        assert abs((ops == "skip_connect").mean(axis=0) - 1 / 7).max() < 0.035


def test_the_space_is_drawn_built_and_run():
    import harness.supernet.darts_net as here

    net, rng = SuperNetwork(Skeleton(4, 3, 7)), np.random.default_rng(0)
    for how, count, apart in (("shared", 2, 1), ("per_cell", 2, 3), ("fair", 7, 1)):
        paths = drawing(here, how, 2, net.cells)(rng)
        assert [len(set(path)) for path in paths] == [apart] * count
        assert net(images(), paths[0]).shape == (4, 7)
    # In evaluation running statistics count: an image's logits do not depend on the rest of its batch.
    assert torch.allclose(net.eval()(images(), paths[0])[:2], net(images()[:2], paths[0]), atol=1e-5)


def test_what_is_no_path_is_refused():
    net, path = small(), drawn(3, 0)
    for question in (net.live, lambda path: net(images(), path)):
        with pytest.raises(HarnessError, match="through 3 cells names 2"):
            question(path[:2])
    with pytest.raises(HarnessError, match="cannot be read"):
        choice("|nor_conv_3x3~0|")
