"""Weights that are split by the choice before, against copies of state dictionaries."""

import copy

import pytest
import torch
from dependent_networks import ONE, SETUP, baseline, batch, content, paths, seeded, train
from torch import Tensor, nn

from harness.supernet import nb201_net
from harness.supernet.dependent import Dependence
from harness.supernet.dependent_nb201_net import SuperNetwork, before
from harness.supernet.nb201_net import Skeleton
from harness.training.optimisers import SGD, weight_optimiser

EDGES = 18  # of three cells


def network(skeleton: Skeleton = ONE, **said) -> SuperNetwork:
    return seeded(skeleton, kind="split", **said)


class Written:
    """uninas' way, as the notes tell it: state dictionaries are stored and loaded in every forward pass."""

    def __init__(self, base: nb201_net.SuperNetwork, dependence: Dependence) -> None:
        self.network, self.before = base, before(base.cells, dependence)
        self.edges = [e for part in base.body if hasattr(part, "edges") for e in part.edges]
        self.stored = [{} for _ in self.edges]
        self.last = [0] * len(self.edges)
        self.split = False
        self.first = [self.now(e) for e in self.edges]
        self.from_first = dependence.copies_from == "snapshot"

    def now(self, edge: nn.Module) -> dict:
        return {name: value.clone() for name, value in edge.state_dict().items()}

    def begin(self) -> None:
        self.split, self.first = True, [self.now(e) for e in self.edges]

    def __call__(self, x: Tensor, path: tuple[str, ...]) -> Tensor:
        chosen = [int(d) for row in path for d in row]
        for i, (edge, those) in enumerate(zip(self.edges, self.before, strict=True)):
            if self.split and those and chosen[those[-1]] != self.last[i]:
                self.stored[i][self.last[i]] = self.now(edge)
                new = self.first[i] if self.from_first else self.stored[i][self.last[i]]
                edge.load_state_dict(self.stored[i].get(chosen[those[-1]], new))
                self.last[i] = chosen[those[-1]]
        return self.network(x, path)

    def parameters(self):
        return self.network.parameters()


@pytest.mark.parametrize(
    ("order", "source", "ops", "zero_grad"),
    [
        ("construction", "active", "01234", True),
        ("construction", "active", "23", False),
        ("construction", "snapshot", "1234", True),
        ("graph", "active", "23", True),
        ("graph", "snapshot", "01234", False),
    ],
)
def test_pointers_do_what_state_dictionaries_do(order, source, ops, zero_grad):
    ours = network(copies_from=source, order=order)
    base = baseline(ONE)
    theirs = Written(base, ours.dependence)
    optimisers = weight_optimiser(ours, SETUP), weight_optimiser(base, SETUP)
    losses = [
        train(module, optimiser, paths(6, 3, ops), zero_grad=zero_grad)
        for module, optimiser in zip((ours, theirs), optimisers, strict=True)
    ]
    assert losses[0] == losses[1]
    ours.split()
    theirs.begin()
    losses = [
        train(module, optimiser, paths(25, 3, ops, seed=1), 6, zero_grad=zero_grad)
        for module, optimiser in zip((ours, theirs), optimisers, strict=True)
    ]
    assert losses[0] == losses[1]
    for i, edge in enumerate(theirs.edges):
        theirs.stored[i][theirs.last[i]] = theirs.now(edge)
        names = [n for n, _ in edge.named_parameters()] + [n for n, _ in edge.named_buffers()]
        if theirs.before[i]:
            assert set(ours.apart[i].held) == set(theirs.stored[i])
        for choice, stored in theirs.stored[i].items():
            held = ours.apart[i].held[choice] if ours.apart[i] else list(edge.state_dict().values())
            if ours.apart[i]:
                assert all(torch.equal(a, stored[n]) for a, n in zip(held, names, strict=True)), (i, choice)
    for a, b in zip(ours.state_dict().values(), base.state_dict().values(), strict=True):
        assert torch.equal(a, b)


def test_before_it_is_split_a_network_is_the_baseline():
    ours = network()
    base = baseline(ONE)
    for module in (ours, base):
        train(module, weight_optimiser(module, SETUP), paths(5, 3))
    assert ours.copies() == {} and ours.additional_parameters() == 0
    for a, b in zip(ours.state_dict().values(), base.state_dict().values(), strict=True):
        assert torch.equal(a, b)


def test_the_loss_is_continuous_at_the_split():
    ours = network()
    train(ours, weight_optimiser(ours, SETUP), paths(5, 3))
    whole = copy.deepcopy(ours)
    ours.split()
    for module in (ours, whole):
        module.eval()
    for path in paths(10, 3, seed=3):
        assert torch.equal(ours(batch(9)[0], path), whole(batch(9)[0], path))


def test_copies_begin_equal_and_go_apart_with_weights_and_statistics():
    ours = network()
    optimiser = weight_optimiser(ours, SETUP)
    ours.split()
    train(ours, optimiser, [("222222",) * 3])
    assert set(content(ours)) == {(p, c) for p in range(1, EDGES) for c in (0, 2)}
    train(ours, optimiser, [("333333",) * 3] * 2)
    for position in range(1, EDGES):
        copies = ours.apart[position]
        assert set(copies.held) == {0, 2, 3} and copies.loaded == 3
        for kept, new in zip(copies.held[2], copies.held[3], strict=True):
            # every weight has moved, by decay and momentum at least; statistics of the 1x1 convolutions rest
            moved = not torch.equal(kept, new)
            assert moved or not kept.dtype.is_floating_point or kept.ndim == 1
        assert any(not torch.equal(a, b) for a, b in zip(copies.held[2], copies.held[3], strict=True))


def test_a_copy_comes_back_exactly_and_all_candidates_with_it():
    ours = network(Skeleton(channels=4, cells=1, skip_linear=True, affine=True))
    optimiser = weight_optimiser(ours, SETUP)
    ours.split()
    train(ours, optimiser, paths(6, 3))
    train(ours, optimiser, [("222222",) * 3])
    then = {name: value.clone() for name, value in ours.state_dict().items()}
    train(ours, optimiser, [("333333",) * 3, ("134134",) * 3])
    changed = {n for n, v in ours.state_dict().items() if not torch.equal(v, then[n])}
    assert {f"body.0.edges.1.{op}.1.weight" for op in (2, 3)} <= changed
    ours.turn([2] * EDGES)
    now = ours.state_dict()
    for name, value in then.items():
        inside = "edges" in name and not name.startswith("body.0.edges.0.")
        assert torch.equal(now[name], value) or not inside, name
    assert any(not torch.equal(now[n], then[n]) for n in then if n.startswith("body.0.edges.0."))


def test_the_first_edge_is_never_split():
    ours = network()
    ours.split()
    ours.complete()
    assert ours.apart[0] is None and all(copies is not None for copies in ours.apart[1:])
    graph = network(order="graph")
    graph.split()
    assert [p for p, copies in enumerate(graph.apart) if copies is None] == [0, 1, 3]


def test_parameters_and_momentum_stay_the_same_objects():
    ours = network()
    optimiser = weight_optimiser(ours, SETUP)
    train(ours, optimiser, paths(10, 3))
    ours.split(optimiser)
    parameters = list(ours.parameters())
    momenta = [optimiser.state[p].get("momentum_buffer") for p in parameters]
    assert sum(momentum is not None for momentum in momenta) > 50
    ours.turn([3] * EDGES)
    ours.turn([1] * EDGES)
    assert all(a is b for a, b in zip(ours.parameters(), parameters, strict=True))
    for parameter, momentum in zip(parameters, momenta, strict=True):
        assert optimiser.state[parameter].get("momentum_buffer") is momentum


def test_a_momentum_of_its_own_per_copy():
    ours = network(momentum="per_copy")
    optimiser = weight_optimiser(ours, SETUP)
    train(ours, optimiser, paths(10, 3))
    ours.split(optimiser)
    weight = ours.body[0].edges[1][3][1].weight

    def momentum() -> Tensor:
        return optimiser.state[weight]["momentum_buffer"]

    first, value = momentum(), momentum().clone()
    ours.turn([3] * EDGES)
    assert momentum() is not first and torch.equal(momentum(), value)  # a copy begins with that of its source
    train(ours, optimiser, [("333333",) * 3])
    other = momentum().clone()
    assert not torch.equal(other, value) and torch.equal(first, value)
    ours.turn([0] * EDGES)
    assert momentum() is first and torch.equal(first, value)
    ours.turn([3] * EDGES)
    assert torch.equal(momentum(), other)


@pytest.mark.parametrize("source", ["active", "snapshot"])
def test_the_momentum_that_a_new_copy_starts_with(source):
    ours = network(momentum="per_copy", copies_from=source)
    optimiser = weight_optimiser(ours, SETUP)
    train(ours, optimiser, paths(10, 3))
    weight = ours.body[0].edges[1][3][1].weight
    ours.split(optimiser)
    begin = optimiser.state[weight]["momentum_buffer"].clone()
    train(ours, optimiser, [("333333",) * 3] * 2)
    active = optimiser.state[weight]["momentum_buffer"].clone()
    ours.turn([2] * EDGES)
    now = optimiser.state[weight]["momentum_buffer"]
    assert torch.equal(now, active if source == "active" else begin) and not torch.equal(active, begin)


def test_momentum_that_is_shared_moves_a_copy_on_and_its_own_does_not():
    """A copy that is turned to with an old momentum of zero goes nowhere without a gradient or decay."""
    setup = SGD(0.1, 1e-5, 0.9, 0.0, decay_vectors=False)
    moved = {}
    for kind in ("shared", "per_copy"):
        ours = network(momentum=kind)
        optimiser = weight_optimiser(ours, setup)
        ours.split(optimiser)
        ours.turn([4] * EDGES)
        train(ours, optimiser, [("333333",) * 3] * 2)
        ours.turn([4] * EDGES)
        weight = ours.body[0].edges[1][3][1].weight
        then = weight.detach().clone()
        optimiser.zero_grad(set_to_none=False)
        optimiser.step()
        moved[kind] = not torch.equal(weight, then)
    assert moved == {"shared": True, "per_copy": False}


@pytest.mark.parametrize("source", ["active", "snapshot"])
def test_what_a_new_copy_starts_from(source):
    ours = network(copies_from=source)
    optimiser = weight_optimiser(ours, SETUP)
    weight = ours.body[0].edges[1][3][1].weight
    ours.split(optimiser)
    begin = weight.detach().clone()
    train(ours, optimiser, [("333333",) * 3] * 2)
    active = weight.detach().clone()
    assert not torch.equal(active, begin)
    ours.turn([2] * EDGES)
    assert torch.equal(weight, active if source == "active" else begin)
    ours.turn([0] * EDGES)
    assert torch.equal(weight, begin)  # the weights from before the split belong to the first candidate


def test_positions_turn_even_where_nothing_is_computed():
    """Where the choice is `none`, or leads nowhere, a copy is loaded too: the optimiser moves it."""
    ours = network()
    ours.split()
    ours(batch(0)[0], ("333330",) * 3)
    assert [copies.loaded for copies in ours.apart[1:7]] == [3, 3, 3, 3, 3, 0]
    ours(batch(0)[0], ("300300",) * 3)  # (2, 0) and (2, 1) are not computed
    assert [copies.loaded for copies in ours.apart[1:6]] == [3, 0, 0, 3, 0]
