"""NAS-Bench-1Shot1's one-shot model against a plain one that computes everything, with choices as factors."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.spaces.nb1shot1 import PARENTS, space
from harness.supernet.nb1shot1_net import Choices, Skeleton, SuperCell, SuperNetwork, choice, uniform
from harness.supernet.sampling import drawing, whole

LOOSE = "0;0,1;0,1;1,2;0,2|conv3x3-bn-relu,conv1x1-bn-relu,maxpool3x3,conv3x3-bn-relu"  # 3 and 4 lead nowhere


def images(n: int = 6, side: int = 12, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, 3, side, side, generator=torch.Generator().manual_seed(seed))


def small(number: int, **flags: object) -> SuperNetwork:
    torch.manual_seed(number)
    return SuperNetwork(number, Skeleton(**{"channels": 4, "cells": 1, **flags}))


def drawn(number: int, cells: int, seed: int) -> tuple[str, ...]:
    """A path in which every cell has its own choice."""
    rng = np.random.default_rng(seed)
    return tuple(uniform(rng, number) for _ in range(cells))


def masks(arch: str) -> tuple[list[list[int]], list[str]]:
    """For every block and the output a 0 or 1 per earlier vertex; the operations."""
    groups, ops = (part.split(sep) for part, sep in zip(arch.split("|"), ";,", strict=True))
    rows = [[int(str(v) in group.split(",")) for v in range(i)] for i, group in enumerate(groups, start=1)]
    return rows, ops.copy()


def normed(norm: nn.BatchNorm2d, x: torch.Tensor, training: bool) -> torch.Tensor:
    """Without touching the running statistics."""
    of_batch = training or norm.running_mean is None
    statistics = (None, None) if of_batch else (norm.running_mean, norm.running_var)
    return functional.batch_norm(x, *statistics, norm.weight, norm.bias, of_batch, eps=1e-5)


def everything(net: SuperNetwork, x: torch.Tensor, path: tuple[str, ...], training: bool) -> torch.Tensor:
    """Logits of the published form: all parts run, outputs keep their full width, choices are factors."""

    def layer(conv: nn.Conv2d, norm: nn.BatchNorm2d, x: torch.Tensor, padding: int = 0) -> torch.Tensor:
        return functional.relu(normed(norm, functional.conv2d(x, conv.weight, padding=padding), training))

    def op(name: str, module: nn.Module, x: torch.Tensor) -> torch.Tensor:
        if name == "maxpool3x3":
            return functional.max_pool2d(x, 3, 1, 1)
        return layer(module[0], module[1], x, padding=int(name == "conv3x3-bn-relu"))

    x = layer(net.stem[0], net.stem[1], x, padding=1)
    choices = iter(path)
    for part in net.body:
        if not isinstance(part, SuperCell):
            x = functional.max_pool2d(x, 2, 2, part.padding)
            continue
        rows, ops = masks(next(choices))
        edges = [layer(p.conv, p.norm, x) for p in part.projections]
        values: list[torch.Tensor] = []
        for row, name, edge, block in zip(rows[:-1], ops, edges[:-1], part.blocks, strict=True):
            total = sum(weight * value for weight, value in zip(row, [edge, *values], strict=True))
            values.append(sum((name == other) * op(other, block[other], total) for other in block))
        joined = torch.cat([w * value for w, value in zip(rows[-1][1:], values, strict=True)], dim=1)
        x = rows[-1][0] * edges[-1] + joined
    x = normed(net.fold_norm, functional.conv2d(functional.relu(x), net.fold.weight), training)
    return net.classifier(x.flatten(2).mean(-1))


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("flags", [{}, {"affine": False, "track": False, "padded_pools": False, "cells": 2}])
def test_a_path_is_what_the_whole_model_computes_with_choices_as_factors(number, training, flags):
    net = small(number, **flags)
    for seed in range(3):  # so that the running statistics are not the initial ones
        net(images(seed=seed), drawn(number, net.cells, seed))
    net.train(training)
    for seed in range(4):
        path = drawn(number, net.cells, 10 + seed)
        plain = everything(net, images(), path, training)
        torch.testing.assert_close(net(images(), path), plain, rtol=1e-4, atol=1e-5)


def test_live_weights_are_those_with_a_gradient():
    """In the network, where the others have none at all, and in the plain model, where theirs are zero."""
    for seed in range(21):
        number = 1 + seed % 3
        net = small(number, affine=seed % 2 == 0, cells=1 + seed % 2, padded_pools=False)
        path = drawn(number, net.cells, seed)
        live = {id(p) for p in net.live(path)}
        assert len(live) == len(net.live(path))
        net(images(), path).square().sum().backward()
        found = {id(p): p.grad for p in net.parameters()}
        assert {key for key, gradient in found.items() if gradient is not None} == live
        assert all(found[key].abs().sum() > 0 for key in live)
        net.zero_grad()
        everything(net, images(), path, True).square().sum().backward()
        assert {id(p) for p in net.parameters() if p.grad.any()} == live
        for parameter in net.live(path):
            scale = parameter.grad.abs().max().item()
            torch.testing.assert_close(found[id(parameter)], parameter.grad, rtol=1e-3, atol=1e-4 * scale)


def test_what_leads_nowhere_is_not_run():
    net, ran = small(1), []
    cell = net.body[0]
    names = {f"p{i}": projection for i, projection in enumerate(cell.projections, start=1)}
    for i, block in enumerate(cell.blocks, start=1):
        names |= {f"{i} {op}": module for op, module in block.items()}
    for name, module in names.items():
        module.register_forward_hook(lambda *_, name=name: ran.append(name))
    net(images(), (LOOSE,) * net.cells)
    # p5 is the output's own projection; block 2 reads 0 and 1, the output 0 and 2
    assert ran == ["p1", "1 conv3x3-bn-relu", "p2", "2 conv1x1-bn-relu", "p5"]
    ran.clear()
    net(images(), (LOOSE.replace("0,2|", "1,3|"),) * net.cells)
    assert ran == ["p1", "1 conv3x3-bn-relu", "p3", "3 maxpool3x3"]


def test_every_cell_makes_its_own_choice():
    net = small(3).eval()
    with torch.no_grad():
        path = drawn(3, net.cells, 0)
        for cell in range(net.cells):
            other = (*path[:cell], *drawn(3, 1, 5), *path[cell + 1 :])
            assert not torch.allclose(net(images(), path), net(images(), other))


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize(("channels", "cells", "classes"), [(16, 3, 10), (4, 1, 7)])
@pytest.mark.parametrize("affine", [True, False])
def test_parameters(number, channels, cells, classes, affine):
    """Per block a 3x3 and a 1x1; projections to every block and, n times as wide, to the output."""
    n, norm = len(PARENTS[number]) - 1, 2 * affine
    total, inputs = 27 * channels + 2 * channels, channels
    for stage in range(3):
        c = channels << stage
        for _ in range(cells):
            total += n * ((9 + 1) * c * c + 2 * norm * c) + 2 * n * (inputs * c + norm * c)
            inputs = n * c
    total += inputs * 4 * channels + (4 * channels + 1) * classes
    net = SuperNetwork(number, Skeleton(channels, cells, classes, affine))
    assert sum(p.numel() for p in net.parameters()) == total


@pytest.mark.parametrize(("padded", "sides"), [(True, [32, 17, 9]), (False, [32, 16, 8])])
def test_the_sides_between_the_pools(padded, sides):
    net, seen = small(2, padded_pools=padded), []
    for part in net.body:
        if isinstance(part, SuperCell):
            part.register_forward_hook(lambda _, __, result: seen.append(result[0].shape[-1]))
    net(images(side=32), drawn(2, 3, 0))
    assert seen == sides


def test_batch_norm_is_as_the_flags_say():
    for affine in (True, False):
        for track in (True, False):
            net = small(1, affine=affine, track=track, momentum=0.25)
            inside = [m for m in net.body.modules() if isinstance(m, nn.BatchNorm2d)]
            assert len(inside) == 3 * (5 + 4 * 2)
            assert {(m.affine, m.track_running_stats, m.momentum) for m in inside} == {(affine, track, 0.25)}
            fold, stem = net.fold_norm, net.stem[1]
            assert (fold.affine, fold.track_running_stats) == (False, track)
            assert (stem.affine, stem.track_running_stats, stem.momentum) == (True, True, 0.25)


def test_channels_last_gives_the_same_logits():
    net = small(3)
    with torch.no_grad():
        for seed in range(3):
            path = drawn(3, net.cells, seed)
            plain = net(images(), path)
            other = net.to(memory_format=torch.channels_last)
            x = images().contiguous(memory_format=torch.channels_last)
            torch.testing.assert_close(other(x, path), plain, rtol=1e-4, atol=1e-5)


def test_draws_are_of_the_space_and_even():
    rng = np.random.default_rng(0)
    for number in (1, 2, 3):
        archs = [uniform(rng, number) for _ in range(2000)]
        assert all(choice(arch, number) == arch for arch in archs[:50])
        for vertex, parents in enumerate(PARENTS[number]):
            groups = [arch.split("|")[0].split(";")[vertex] for arch in archs]
            shares = np.unique(groups, return_counts=True)[1] / len(archs)
            assert abs(shares - 1 / len(shares)).max() < 0.04
            assert all(len(group.split(",")) == parents for group in groups)
        ops = np.array([arch.split("|")[1].split(",") for arch in archs])
        assert ops.shape[1] == space(number).blocks
        assert abs((ops == "maxpool3x3").mean(axis=0) - 1 / 3).max() < 0.04


def test_a_space_is_drawn_built_and_run():
    here, rng = Choices(2), np.random.default_rng(0)
    net = SuperNetwork(2, Skeleton(4, 1, 7))
    for how, apart in (("shared", 1), ("per_cell", 3)):
        paths = drawing(here, how, 2, net.cells)(rng)
        assert [len(set(path)) for path in paths] == [apart] * 2
        assert net(images(), paths[0]).shape == (6, 7)
    arch = space(2).sample(1, rng)[0]
    assert here.choice(arch) == arch and net.live(whole(arch, net.cells))
    with pytest.raises(HarnessError, match="strict fairness needs operations on edges"):
        drawing(here, "fair", 1, net.cells)
    # In evaluation running statistics count: an image's logits do not depend on the rest of its batch.
    assert torch.allclose(net.eval()(images(), paths[0])[:3], net(images(3), paths[0]), atol=1e-4)


def test_what_is_no_path_is_refused():
    net, path = small(1), (LOOSE,) * 3
    for question in (net.live, lambda path: net(images(), path)):
        with pytest.raises(HarnessError, match="through 3 cells names 2"):
            question(path[:2])
        with pytest.raises(HarnessError, match="the output has 2 parents where 3 are needed"):
            SuperNetwork(2, Skeleton(4, 1)).live(("0;1;0,1;0,1;0,2|" + ",".join(["maxpool3x3"] * 4),) * 3)
    with pytest.raises(HarnessError, match="unknown op"):
        choice(LOOSE.replace("conv1x1-bn-relu", "conv5x5"), 1)
    assert choice(LOOSE.replace("1,2;0,2", "2, 1;2,0"), 1) == LOOSE
