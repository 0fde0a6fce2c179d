"""DARTS' super-network against the thesis author's code, as it ran (sections 3.2.1 and 3.4)."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from witness.formula import noise, numbers, sketch
from witness.sotl_search import answers, filled, flat, images, near, norms, trained

from harness.spaces.darts import OPS, Edge, Genotype
from harness.supernet import darts_net
from harness.supernet.darts_net import Skeleton, SuperNetwork
from harness.supernet.sampling import whole
from harness.supernet.training import Method

THEIRS = numbers("sotl_darts")
RUNS = {
    "spos": Method(),
    "multipath": Method(paths=4),
    "reptile": Method(inner_steps=4),
    "metaprox": Method(inner_steps=4, proximal=10.0),
}


def both(theirs: dict[str, Any]) -> Genotype:
    """What the author's genotype says; the order within a node is his."""
    return Genotype(*(tuple((op, source) for op, source in theirs[kind]) for kind in ("normal", "reduce")))


def first_twice(theirs: dict[str, Any]) -> Genotype:
    """What his network then computes (D20): a normal cell's second operation reads the first's input."""
    genotype = both(theirs)
    return Genotype(tuple(_doubled(genotype.normal)), genotype.reduce)


def _doubled(edges: tuple[Edge, ...]) -> list[Edge]:
    return [(op, edges[i - i % 2][1]) for i, (op, _) in enumerate(edges)]


def network() -> nn.Module:
    return filled(SuperNetwork(Skeleton()))


def by_formula(net: nn.Module) -> None:
    """Running statistics that let a signal through: after one batch they still have the variance near 1."""
    for number, norm in enumerate(norms(net)):
        norm.running_mean.copy_(noise(10_000 + number, norm.num_features) / 10)
        norm.running_var.copy_((noise(20_000 + number, norm.num_features) + 2) / 10)


def test_as_many_parameters() -> None:
    assert sum(p.numel() for p in network().parameters()) == THEIRS["parameters"]


@pytest.mark.parametrize("which", range(3))
def test_an_architecture_whose_inputs_are_both_read(which: int) -> None:
    """The author's network where it is handed the weights of both edges."""
    theirs = THEIRS["architectures"][which]
    ours = answers(network(), whole(both(theirs), 8), by_formula)
    for key in ("training", "loss", "gradient", "evaluation"):
        near(ours[key], theirs["both"][key])


@pytest.mark.parametrize("which", range(3))
def test_an_architecture_as_the_author_s_code_sets_it(which: int) -> None:
    """D20: normal cells read one input twice."""
    theirs = THEIRS["architectures"][which]
    ours = answers(network(), whole(first_twice(theirs), 8), by_formula)
    for key in ("training", "loss", "gradient", "evaluation"):
        near(ours[key], theirs["stored"][key])
    assert np.abs(np.subtract(theirs["stored"]["training"], theirs["both"]["training"])).max() > 0.1


def test_the_same_operation_twice_on_one_input_counts_once_there() -> None:
    """D20's fine print: the second of two equal operations is lost."""
    theirs, net = THEIRS["twice"], network()
    genotype = first_twice(theirs)
    repeated = [i for i in range(1, 8, 2) if genotype.normal[i] == genotype.normal[i - 1]]
    assert repeated

    class Nothing(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.zeros_like(x)

    for cell in net.body:
        chosen = cell.chosen

        def once(genotype: Genotype, chosen: Any = chosen, reduction: bool = cell.reduction) -> list:
            edges = chosen(genotype)
            for i in [] if reduction else repeated:
                edges[i] = (edges[i][0], Nothing())
            return edges

        cell.chosen = once
    near(net(images()[0], whole(genotype, 8))[:2], theirs["stored"])


@pytest.mark.parametrize("name", RUNS)
def test_steps_of_the_author_s_search(name: str) -> None:
    theirs, net = THEIRS[name], network()
    losses = trained(net, theirs, RUNS[name], first_twice, again=True)
    if name != "metaprox":  # its losses have the penalty in them
        near(losses, np.reshape(theirs["losses"], (len(losses), -1)).mean(axis=1))
    near(sketch(flat(list(net.parameters()))), theirs["weights"])
    means, variances, moves = theirs["statistics"]
    near(sketch(flat([norm.running_mean for norm in norms(net)])), means)
    near(sketch(flat([norm.running_var for norm in norms(net)])), variances)
    assert sum(int(norm.num_batches_tracked) for norm in norms(net)) == moves


def test_what_a_task_is_there() -> None:
    """D32: every step draws anew; Reptile keeps Nesterov momentum, Metaprox does not."""
    for name, nesterov in (("reptile", True), ("metaprox", False)):
        assert len({str(both(path)) for path in THEIRS[name]["paths"]}) == 4
        assert {with_it for _, with_it in THEIRS[name]["rates"]} == {nesterov}


@pytest.mark.parametrize(("scale", "same"), [(2.0, True), (1.0, False)])
def test_paths_within_metaprox_are_summed_there(scale: float, same: bool) -> None:
    """D33: the losses of two paths are added up, not averaged (scale 1), before the penalty."""
    theirs, net = THEIRS["inner_sandwich"], network()
    for parameter in net.parameters():
        parameter.register_hook(lambda gradient: gradient * scale)  # not the penalty's
    trained(net, theirs, Method(paths=2, inner_steps=2, proximal=10.0), first_twice, again=True)
    ours = sketch(flat(list(net.parameters())))
    if same:
        near(ours, theirs["weights"])
    else:
        assert np.abs(np.subtract(ours, theirs["weights"])).max() > 0.1


def test_fairnas_draws_among_eight_operations_there() -> None:
    """D20: `none` is one of them; both use every operation once on every edge, inputs being the same."""
    theirs = [both(one) for one in THEIRS["fairnas"]]
    ours = darts_net.fair(np.random.default_rng(0))
    for genotypes, ops in ((theirs, {"none", *OPS}), (ours, set(OPS))):
        assert len(genotypes) == len(ops)
        for edges in zip(*(one.normal + one.reduce for one in genotypes), strict=True):
            assert {op for op, _ in edges} == ops
            assert len({source for _, source in edges}) == 1


def test_single_paths_are_drawn_alike() -> None:
    """Theirs: every pair of inputs and each of the seven operations equally often, `none` never."""
    theirs, rng = THEIRS["sampling"], np.random.default_rng(0)
    assert set(theirs["ops"]) == set(OPS)
    pairs = [[Counter(), Counter()] for _ in range(4)]
    ops: Counter[str] = Counter()
    draws = 4000
    for _ in range(draws):
        genotype = darts_net.uniform(rng)
        for kind, edges in enumerate((genotype.normal, genotype.reduce)):
            ops.update(op for op, _ in edges)
            for node in range(4):
                pairs[node][kind][str([source for _, source in edges[2 * node : 2 * node + 2]])] += 1
    even(ops, 7, 16 * draws)
    even(theirs["ops"], 7, 16 * theirs["draws"])
    for node, of_both in enumerate(theirs["pairs"]):
        for kind, counts in enumerate(of_both):
            assert set(counts) == set(pairs[node][kind])
            even(counts, [1, 3, 6, 10][node], theirs["draws"])
            even(pairs[node][kind], [1, 3, 6, 10][node], draws)


def even(counts: dict[str, int], kinds: int, draws: int) -> None:
    """So many kinds, each within five deviations of its share."""
    assert len(counts) == kinds
    share = 1 / kinds
    for count in counts.values():
        assert abs(count - draws * share) <= 5 * (draws * share * (1 - share)) ** 0.5
