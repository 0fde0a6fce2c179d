"""Mixed networks beside the thesis author's code, as SoTL-DARTS ran it (sections 3.3 and 4.3)."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from witness.formula import noise, numbers, sketch
from witness.sotl_search import filled, images, near
from witness.sotl_start import LEARN, flat, minibatch

from harness.spaces import darts, nb1shot1
from harness.supernet import darts_net, mixed, nb1shot1_net, nb201_net, relaxed
from harness.supernet.relaxed import BlockWeights, CellWeights, over, softmax

THEIRS = numbers("sotl_mixed")
NB201 = {"C4 N1": (4, 1), "C8 N2": (8, 2)}  # channels, cells per stage
DARTS = {"8": (8, relaxed.DARTS_OPS), "20": (20, relaxed.DARTS_OPS), "8 s2": (8, relaxed.S2)}
COLUMNS = [1, 2, 0]  # the author's for our NAS-Bench-1Shot1 operations: he has the pool first
CASES = [("nb201", name) for name in NB201]
CASES += [("nb1shot1", name) for name in "123"] + [("darts", name) for name in DARTS]

pytestmark = pytest.mark.usefixtures("one_thread")


def network(space: str, name: str) -> nn.Module:
    if space == "nb201":
        channels, cells = NB201[name]
        net = nb201_net.build(channels, cells, 10)
        net.head[0] = nn.BatchNorm2d(4 * channels, affine=False, track_running_stats=False)  # as his is
        return mixed.NB201(filled(net))
    if space == "nb1shot1":
        skeleton = nb1shot1_net.Skeleton(channels=4)
        return mixed.NB1Shot1(filled(nb1shot1_net.SuperNetwork(int(name), skeleton)))
    layers, ops = DARTS[name]
    net = darts_net.SuperNetwork(darts_net.Skeleton(channels=4, layers=layers))
    return mixed.Darts(filled(mixed.only(net, ops)), ops)


def parameters(space: str, name: str, draw: Any = None) -> list[Tensor]:
    """The author's architecture parameters, in his order."""
    if space == "nb201":
        shapes = [(6, 5)]
    elif space == "darts":
        shapes = [(14, len(DARTS[name][1]))] * 2
    else:
        blocks = nb1shot1.space(int(name)).blocks
        shapes = [(blocks, 3), (1, blocks + 1), *((1, n) for n in relaxed.choosing(int(name)))]
    return [(noise(50_000 + i, *shape) if draw is None else draw(i, shape)) for i, shape in enumerate(shapes)]


def weights(space: str, given: list[Tensor]) -> Any:
    if space == "nb201":
        return softmax(given[0])
    if space == "darts":
        return over(CellWeights(*given), softmax)
    ops, output, *inputs = given
    return over(BlockWeights(ops[:, COLUMNS], output[0], tuple(row[0] for row in inputs)), softmax)


def batch(space: str, number: int) -> tuple[Tensor, Tensor]:
    x, y = minibatch(LEARN + number) if space == "nb201" else images(number)
    return x.to(memory_format=torch.channels_last), y


@pytest.mark.parametrize(("space", "name"), CASES)
def test_a_mixed_network_forth_and_back(space: str, name: str) -> None:
    """Logits, gradients of weights and of architecture parameters, running statistics, evaluation."""
    net, theirs = network(space, name).train(), THEIRS[space][name]
    given, (x, y) = [p.requires_grad_() for p in parameters(space, name)], batch(space, 0)
    logits = net(x, weights(space, given))
    loss = functional.cross_entropy(logits, y)
    loss.backward()
    near(logits[:2], theirs["training"])
    near(loss.item(), theirs["loss"])
    near(sketch(flat([p.grad for p in net.parameters()])), theirs["gradient"])
    for ours, other in zip(given, theirs["alphas"], strict=True):
        near(ours.grad, other)
    near(sketch(flat(list(net.buffers()))), theirs["buffers"])
    if "evaluation" in theirs:
        with torch.no_grad():
            near(net.eval()(x, weights(space, given))[:2], theirs["evaluation"])


@pytest.mark.parametrize(("space", "name"), [case for case in CASES if case != ("darts", "20")])
def test_what_gradients_of_four_steps_add_up_to(space: str, name: str) -> None:
    """The approximate SoTL gradient (3.22): weights move, architecture parameters stay."""
    net, theirs = network(space, name).train(), THEIRS[space][name]["sotl"]
    given = [p.requires_grad_() for p in parameters(space, name)]
    optimiser = torch.optim.SGD(net.parameters(), 0.025, 0.9, weight_decay=3e-4)
    losses = []
    for number in range(4):
        x, y = batch(space, number)
        optimiser.zero_grad()
        loss = functional.cross_entropy(net(x, weights(space, given)), y)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    near(losses, theirs["losses"])
    for ours, other in zip(given, theirs["summed"], strict=True):
        near(ours.grad, other)
    near(sketch(flat(list(net.parameters()))), theirs["weights"])


def test_as_many_parameters() -> None:
    for space, name in CASES:
        if "parameters" in (theirs := THEIRS[space][name]):
            assert sum(p.numel() for p in network(space, name).parameters()) == theirs["parameters"]


def test_the_architecture_of_nb201_weights() -> None:
    for i, theirs in enumerate(THEIRS["nb201"]["genotypes"]):
        assert relaxed.nb201_architecture(softmax(noise(60_000 + i, 6, 5))) == theirs


@pytest.mark.parametrize("name", DARTS)
def test_the_genotype_of_darts_weights_and_its_depth(name: str) -> None:
    """His order within a node is by strength, ours by input."""
    for i, theirs in enumerate(THEIRS["darts"][name]["genotypes"]):
        given = parameters("darts", name, lambda j, shape, i=i: 3 * noise(60_000 + 2 * i + j, *shape))
        genotype = darts.parse(relaxed.darts_genotype(weights("darts", given), DARTS[name][1]))
        for ours, kind, depth in zip(
            (genotype.normal, genotype.reduce), CellWeights._fields, theirs["depth"], strict=True
        ):
            edges = [tuple(edge) for edge in theirs[kind]]
            pairs = [sorted(edges[at : at + 2], key=lambda edge: edge[1]) for at in range(0, 8, 2)]
            assert ours == tuple(edge for pair in pairs for edge in pair)
            assert relaxed.darts_depth(ours) == depth


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_architecture_of_nb1shot1_weights_and_its_depth(number: int) -> None:
    """He leaves out what leads nowhere; so do our wirings."""
    here = nb1shot1.space(number)
    kept = [*range(here.blocks + 1), 6]  # without the dummy
    for i, theirs in enumerate(THEIRS["nb1shot1"][str(number)]["architectures"]):
        given = parameters(
            "nb1shot1", str(number), lambda j, s, i=i: 3 * noise(60_000 + 50 * number + 10 * i + j, *s)
        )
        arch = relaxed.nb1shot1_architecture(weights("nb1shot1", given), number)
        wired = nb1shot1_net.wiring(arch, number)
        matrix = np.array(theirs["matrix"])[np.ix_(kept, kept)]
        *blocks, output = (tuple(np.flatnonzero(column).tolist()) for column in matrix.T[1:])
        assert wired.ops == tuple(theirs["ops"][1 : here.blocks + 1]) and wired.output == output
        assert wired.parents == {block: parents for block, parents in enumerate(blocks, 1) if parents}
        assert relaxed.nb1shot1_depth(arch, number) == theirs["depth"]
