"""Mixed networks against paths, against the plain way, against finite differences."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from plain_mixed import plain_darts, plain_nb1shot1, plain_nb201, with_torch_s_modules
from torch import Tensor, nn
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.spaces import darts, nb1shot1, nb201
from harness.supernet import darts_net, mixed, nb1shot1_net, nb201_net, relaxed
from harness.supernet.quick_pool_net import QuickPool
from harness.supernet.relaxed import BlockWeights, CellWeights, of_darts, of_nb1shot1, of_nb201, over, softmax
from harness.supernet.sampling import whole

pytestmark = pytest.mark.usefixtures("one_thread")


class Case(NamedTuple):
    network: nn.Module
    mixed: nn.Module
    plain: Callable[..., Tensor]
    space: str
    exactly: Callable[[str], Any]  # the weights of one architecture
    choice: Callable[[str], Any]


def nb201_case(**flags: Any) -> Case:
    net = nb201_net.SuperNetwork(nb201_net.Skeleton(**{"channels": 4, "cells": 1, **flags}))
    return Case(net, mixed.NB201(net), plain_nb201, "nb201", of_nb201, nb201_net.choice)


def nb1shot1_case(number: int, **flags: Any) -> Case:
    net = nb1shot1_net.SuperNetwork(number, nb1shot1_net.Skeleton(**{"channels": 4, "cells": 1, **flags}))
    here = nb1shot1_net.Choices(number)
    weights = partial(of_nb1shot1, number=number)
    return Case(net, mixed.NB1Shot1(net), plain_nb1shot1, f"nb1shot1-{number}", weights, here.choice)


def darts_case(layers: int = 3, **flags: Any) -> Case:
    net = darts_net.SuperNetwork(darts_net.Skeleton(**{"channels": 4, "layers": layers, **flags}))
    return Case(net, mixed.Darts(net), plain_darts, "darts", of_darts, darts_net.choice)


CASES: dict[str, Callable[[], Case]] = {
    "nb201, the thesis": lambda: nb201_case(affine=False, track=False, conv_bias=True),
    "nb201, all kept": lambda: nb201_case(affine=True, track=True, conv_bias=True, cells=2),
    "nb201, benchmark": lambda: nb201_case(),
    "nb201, other skips": lambda: nb201_case(skip_linear=True, pool_counts_padding=True, conv_bias=True),
    "nb1shot1-1": lambda: nb1shot1_case(1),
    "nb1shot1-2": lambda: nb1shot1_case(2, affine=False, track=False, padded_pools=False),
    "nb1shot1-3": lambda: nb1shot1_case(3, cells=2),
    "darts": lambda: darts_case(),
    "darts, 8 layers": lambda: darts_case(8),
    "darts, other norms": lambda: darts_case(affine=True, track=False),
    "darts, bare pools": lambda: darts_case(4, pool_norm=False, track=False),
}


def made(name: str, seed: int = 0) -> Case:
    """In double precision, with statistics that are not the first ones."""
    torch.manual_seed(seed)
    case = CASES[name]()
    case.network.double().to(memory_format=torch.channels_last)
    with torch.no_grad():
        for vector in (p for p in case.network.parameters() if p.ndim == 1):
            vector.add_(torch.randn_like(vector))
        for _ in range(2):
            case.network(images(), whole(case.choice(drawn(case, 1)[0]), case.network.cells))
    return case


def images(n: int = 3, side: int = 16) -> Tensor:
    x = torch.randn(n, 3, side, side, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return x.to(memory_format=torch.channels_last)


def drawn(case: Case, count: int) -> list[str]:
    spaces = {"nb201": nb201.SPACE, "darts": darts.SPACE}
    here = spaces[case.space] if case.space in spaces else nb1shot1.space(int(case.space[-1]))
    return here.sample(count, np.random.default_rng(count))


def parameters(case: Case, scale: float = 1000.0) -> Any:
    """Far enough from zero that no weights are equal."""
    drawn_parameters = relaxed.start(case.space, np.random.default_rng(3))
    return over(drawn_parameters, lambda part: (scale * part).requires_grad_())


def leaves(weights: Any) -> list[Tensor]:
    parts = [weights] if isinstance(weights, Tensor) else weights
    return [leaf for part in parts for leaf in (part if isinstance(part, tuple) else [part])]


def loss_of(logits: Tensor) -> Tensor:
    return functional.cross_entropy(logits, torch.arange(len(logits)) % 10)


def gradients(network: nn.Module) -> list[Tensor]:
    """Of all weights: one without influence has none, or one of zero."""
    return [torch.zeros_like(p) if p.grad is None else p.grad for p in network.parameters()]


def close(ours: Any, theirs: Any) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_weights_of_one_architecture_give_its_path(name: str, training: bool) -> None:
    """Logits, and gradients of the weights that are on it; those of all others are zero, not none."""
    case = made(name)
    case.network.train(training)
    for arch in drawn(case, 2):
        found = []
        for net, chosen in (
            (case.network, whole(case.choice(arch), case.network.cells)),
            (case.mixed, case.exactly(arch)),
        ):
            case.network.zero_grad()
            logits = net(images(), chosen)
            loss_of(logits).backward()
            found.append((logits, gradients(case.network)))
        close(*found)
        assert logits.std() > 1e-3


@pytest.mark.parametrize("form", [torch.channels_last, torch.contiguous_format])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", [name for name in CASES if name != "darts, 8 layers"])
def test_a_mixture_is_the_plain_one(name: str, training: bool, form: torch.memory_format) -> None:
    """Logits, all gradients, all statistics."""
    case, found = made(name), []
    other = with_torch_s_modules(case.network)
    for network, forward in ((other, case.plain), (case.network, lambda _, x, w: case.mixed(x, w))):
        network.train(training).to(memory_format=form)
        given = parameters(case)
        logits = forward(network, images().contiguous(memory_format=form), over(given, softmax))
        loss_of(logits).backward()
        slopes = [leaf.grad for leaf in leaves(given)]
        found.append((logits, gradients(network), slopes, list(network.buffers())))
    close(*found)
    assert all(leaf.abs().max() > 1e-6 for leaf in found[0][2])


@pytest.mark.parametrize("name", ["nb201, the thesis", "nb1shot1-1", "nb1shot1-2", "nb1shot1-3", "darts"])
def test_gradients_of_parameters_by_finite_differences(name: str) -> None:
    case = made(name)
    given, step = parameters(case), 1e-5
    loss_of(case.mixed(images(), over(given, softmax))).backward()
    with torch.no_grad():
        for leaf in leaves(given):
            flat, slopes = leaf.data.view(-1), leaf.grad.view(-1)
            for place in {0, len(flat) // 2, len(flat) - 1}:
                ends = []
                for move in (step, -2 * step):
                    flat[place] += move
                    ends.append(loss_of(case.mixed(images(), over(given, softmax))).item())
                flat[place] += step
                assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(
                    slopes[place].item(), rel=1e-4, abs=1e-7
                )


@pytest.mark.parametrize("name", ["nb201, the thesis", "nb1shot1-2", "darts"])
def test_gradients_of_parameters_have_gradients(name: str) -> None:
    """The Hessian of section 4.3.5: its product with a vector, by finite differences of gradients."""
    case = made(name)

    def slope(given: Any, graph: bool) -> Tensor:
        loss = loss_of(case.mixed(images(2), over(given, softmax)))
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss, leaves(given), create_graph=graph)])

    given = parameters(case)
    vector = torch.linspace(-1, 1, sum(leaf.numel() for leaf in leaves(given)), dtype=torch.float64)
    exact = torch.autograd.grad(slope(given, True) @ vector, leaves(given))
    ends = []
    for move in (1e-5, -2e-5):
        with torch.no_grad():
            first = 0
            for leaf in leaves(given):
                leaf += move * vector[first : first + leaf.numel()].view_as(leaf)
                first += leaf.numel()
        ends.append(slope(given, False))
    difference = (ends[0] - ends[1]) / 2e-5
    torch.testing.assert_close(torch.cat([e.flatten() for e in exact]), difference, rtol=1e-4, atol=1e-6)


def test_weights_that_need_no_gradient_change_no_other() -> None:
    """As in the steps that train a network with weights that stay."""
    case, found = made("nb201, the thesis"), []
    for given in (parameters(case), parameters(case).detach()):
        case.network.zero_grad()
        loss_of(case.mixed(images(), softmax(given))).backward()
        found.append(gradients(case.network))
    close(*found)


@pytest.mark.parametrize("training", [True, False])
def test_s2_has_two_operations(training: bool) -> None:
    network = mixed.only(made("darts").network, relaxed.S2).train(training)
    s2, other = mixed.Darts(network, relaxed.S2), with_torch_s_modules(network)
    assert {op for cell in network.body for edge in cell.edges.values() for op in edge} == set(relaxed.S2)
    weights = CellWeights(*(softmax(torch.randn(14, 2, dtype=torch.float64)) for _ in range(2)))
    close(s2(images(), weights), plain_darts(other, images(), weights, relaxed.S2))


@pytest.mark.parametrize(
    ("name", "kind", "times"),
    [("darts", nn.MaxPool2d, 15), ("darts", nn.AvgPool2d, 15), ("nb201, benchmark", QuickPool, 9)],
)
def test_what_nodes_share_is_computed_once(name: str, kind: type[nn.Module], times: int) -> None:
    """In three cells each; an edge for itself would be 42 pools in the DARTS space, 18 on NAS-Bench-201."""
    case, ran = made(name), []
    for module in case.network.body.modules():
        if isinstance(module, kind):
            module.register_forward_hook(lambda *_: ran.append(1))
    case.mixed(images(), over(parameters(case), softmax))
    assert len(ran) == times


@pytest.mark.parametrize("name", ["nb201, the thesis", "nb1shot1-1", "darts"])
def test_parameters_may_be_more_precise_than_the_network(name: str) -> None:
    case, found = made(name), []
    for dtype in (torch.float64, torch.float32):
        case.network.to(dtype)
        given = parameters(case)
        loss_of(case.mixed(images().to(dtype), over(given, softmax))).backward()
        found.append([leaf.grad for leaf in leaves(given)])
    torch.testing.assert_close(*found, rtol=1e-2, atol=1e-4)
    assert all(slope.dtype == torch.float64 for slope in found[1])


def test_weights_of_another_shape_or_kind_are_refused() -> None:
    case = made("nb201, benchmark")
    for weights, message in (
        (torch.zeros(6, 4), r"weights of NAS-Bench-201: \(6, 4\) given, give a tensor of shape \(6, 5\)"),
        ([1.0], r"weights of NAS-Bench-201: list given, give a tensor of shape \(6, 5\)"),
        (torch.zeros(6, 5, dtype=torch.int64), "torch.int64 given, give floating point"),
        (torch.full((6, 5), float("nan")), r"NAS-Bench-201: nan at \[0, 0\]: the search diverged"),
        (torch.zeros(6, 5).index_fill(1, torch.tensor(2), float("inf")), r"inf at \[0, 2\]"),
    ):
        with pytest.raises(HarnessError, match=message):
            case.mixed(images(), weights)


def test_weights_of_cells_and_blocks_are_refused_by_name() -> None:
    good = torch.ones(14, 8)
    case = made("darts")
    with pytest.raises(HarnessError, match=r"DARTS' reduce cell: \(14, 2\) given, .* shape \(14, 8\)"):
        case.mixed(images(), CellWeights(good, torch.ones(14, 2)))
    with pytest.raises(HarnessError, match=r"DARTS: Tensor given, give CellWeights"):
        case.mixed(images(), good)
    with pytest.raises(HarnessError, match="unknown DARTS operation 'sep_conv_7x7'"):
        mixed.Darts(case.network, ["sep_conv_7x7"])
    with pytest.raises(HarnessError, match="name one or more beside none, once each"):
        mixed.Darts(case.network, ["none"])
    with pytest.raises(HarnessError, match="its network has no max_pool_3x3, avg_pool"):
        mixed.Darts(mixed.only(case.network, relaxed.S2))
    case = made("nb1shot1-1")
    right = over(parameters(case), softmax)
    for wrong, message in (
        (right.ops, "space 1: Tensor given, give BlockWeights with those of 2 blocks' inputs"),
        (BlockWeights(right.ops, right.output, right.inputs[:1]), "1 inputs given, give BlockWeights"),
        (BlockWeights(right.ops, right.ops, right.inputs), r"space 1, output: \(4, 3\) given"),
        (BlockWeights(right.ops, right.output, right.inputs[::-1]), "inputs of block 3: .* shape"),
    ):
        with pytest.raises(HarnessError, match=message):
            case.mixed(images(), wrong)
