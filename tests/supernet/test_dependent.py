"""Super-networks over NAS-Bench-201 cells whose biases or gates depend on choices, against plain formulas."""

from functools import reduce
from itertools import product
from operator import add

import pytest
import torch
from dependent_networks import KINDS, ONE, SETUP, SMALL, baseline, batch, excite, images, paths, seeded
from torch import Tensor, nn
from torch.nn import functional

from harness.spaces.nb201 import EDGES
from harness.supernet import nb201_net
from harness.supernet.dependent import Dependence
from harness.supernet.dependent_nb201_net import SuperNetwork, _through, before
from harness.supernet.nb201_net import Skeleton
from harness.supernet.training import Method, descend
from harness.training.optimisers import weight_optimiser


def plain(network: SuperNetwork, x: Tensor, path: tuple[str, ...]) -> Tensor:
    """Section 3.3 as it stands: every edge is computed and adds its own vector to its view of the node."""
    chosen, depth = [int(d) for row in path for d in row], network.dependence.depth
    position, x = 0, network.stem(x)
    for part in network.body:
        if not isinstance(part, nb201_net.SuperCell):
            x = part(x)
            continue
        nodes = [x]
        for node in (1, 2, 3):
            incoming = []
            for source, target in EDGES:
                if target == node:
                    last = chosen[max(0, position - depth) : position + 1]
                    seen, here = nodes[source], len(incoming) + {1: 0, 2: 1, 3: 3}[node]
                    kind = network.dependence.kind
                    if kind == "bias" and position:
                        seen = seen + network.additional.of(position)[tuple(last)]
                    elif kind == "bias_sum" and position:
                        for i, choice in enumerate(last):
                            seen = seen + network.additional.of(position)[5 * i + choice]
                    elif kind in ("attention", "excitation"):
                        hot = torch.cat([functional.one_hot(torch.tensor(c), 5).to(x) for c in last])
                        seen = seen * network.additional[position](hot)[None, :, None, None]
                    incoming.append(part.edges[here][chosen[position]](seen))
                    position += 1
            nodes.append(reduce(add, incoming))
        x = nodes[3]
    return network.head(x)


def gradients(network: nn.Module, output: Tensor) -> dict[str, Tensor]:
    network.zero_grad()
    functional.cross_entropy(output, torch.arange(len(output)) % 10).backward()
    return {name: p.grad.clone() for name, p in network.named_parameters() if p.grad is not None}


SKELETONS = {
    "default": SMALL,
    "skip_linear": Skeleton(channels=4, cells=2, skip_linear=True),
    "counted": Skeleton(channels=4, cells=2, pool_counts_padding=True),
    "batch_statistics": Skeleton(channels=4, cells=2, track=False),
    "affine": Skeleton(channels=4, cells=1, affine=True, conv_bias=True),
}


@pytest.mark.parametrize("skeleton", SKELETONS.values(), ids=SKELETONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_output_and_gradients_are_the_plain_formulas(kind, depth, skeleton):
    network = seeded(skeleton, kind=kind, depth=depth).double()
    if kind in ("bias", "bias_sum"):
        excite(network)
    x = images(3).double()
    for path in paths(4, network.cells):
        kept = [b.clone() for b in network.buffers()]
        ours = network(x, path)
        mine = gradients(network, ours)
        statistics = [b.clone() for b in network.buffers()]
        for buffer, old in zip(network.buffers(), kept, strict=True):
            buffer.copy_(old)
        theirs = plain(network, x, path)
        there = gradients(network, theirs)
        assert torch.allclose(ours, theirs, atol=1e-9), path
        for a, b, old in zip(statistics, network.buffers(), kept, strict=True):
            # an operation that leads nowhere is not run: its statistics stay
            assert torch.allclose(a, b, atol=1e-9) or torch.equal(a, old)
        for name, gradient in there.items():
            found = mine.get(name, torch.zeros_like(gradient))  # None where it would be zero
            assert torch.allclose(found, gradient, atol=1e-9), (path, name)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("kind", "depth"), [("bias", 1), ("bias", 3), ("bias_sum", 2)])
def test_zero_bias_is_the_baseline_to_the_last_bit(kind, depth, training):
    base = baseline()
    network = seeded(kind=kind, depth=depth)
    for module in (base, network):
        module.to(memory_format=torch.channels_last).train(training)
    whole = [("".join(row),) * 6 for row in product("23", repeat=6)][::9]
    with torch.no_grad():
        for path in [*whole, *paths(12, 6)]:
            assert torch.equal(network(images(), path), base(images(), path)), path
    for name, buffer in base.state_dict().items():
        assert torch.equal(network.state_dict()[name], buffer), name


def test_none_is_the_baseline_through_training():
    base = baseline()
    network = seeded()
    assert network.additional_parameters() == 0 and list(network.parts()) == list(base.parts())
    minibatch = batch()
    for module in (base, network):
        optimiser = weight_optimiser(module, SETUP)
        for path in paths(8, 6):
            descend(module, optimiser, [path], minibatch, Method())
    assert list(network.state_dict()) == list(base.state_dict())
    for name, value in base.state_dict().items():
        assert torch.equal(network.state_dict()[name], value), name


@pytest.mark.parametrize("kind", [*KINDS, "split", "none"])
def test_all_kinds_start_with_the_baselines_weights(kind):
    base = baseline()
    network = seeded(kind=kind).state_dict()
    for name, value in base.state_dict().items():
        assert torch.equal(network[name], value), name


@pytest.mark.parametrize("kind", ["attention", "excitation"])
def test_gates_start_from_the_seed_too(kind):
    first, again = (seeded(kind=kind) for _ in range(2))
    for a, b in zip(first.additional.parameters(), again.additional.parameters(), strict=True):
        assert torch.equal(a, b)


# Node 1 and 2 lead nowhere but along the edge in question, so that only its bias can tell the choices apart.
@pytest.mark.parametrize("kind", ["bias", "bias_sum", "attention", "excitation"])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("back", [1, 2, 3])
def test_a_choice_d_edges_back_matters_with_depth_d_only(kind, depth, back):
    network = seeded(ONE, kind=kind, depth=depth).eval()
    if kind in ("bias", "bias_sum"):
        excite(network)
    edge = 3  # (3, 0): its source is the cell's input; 1 to 3 edges back are (2, 1), (2, 0), (1, 0)
    row = ["0", "0", "0", "3", "0", "0"]
    other = [*row]
    other[edge - back] = "4"  # a pool into a node from which nothing leads to the output
    fixed = ("333333", "333333")
    with torch.no_grad():
        a, b = (network(images(), ("".join(each), *fixed)) for each in (row, other))
    assert torch.equal(a, b) == (back > depth)


@pytest.mark.parametrize("depth", [1, 2])
def test_the_first_edge_of_a_cell_depends_on_the_last_of_the_cell_before(depth):
    network = excite(seeded(kind="bias", depth=depth))
    chosen = [1] * 36
    base = network.additional(chosen)
    for changed in (4, 5):
        others = [*chosen]
        others[changed] = 2
        found = network.additional(others)
        moved = [p for p in range(36) if base[p] is not None and not torch.equal(base[p], found[p])]
        assert moved == list(range(changed, changed + depth + 1))


def test_cells_have_vectors_of_their_own():
    network = excite(seeded(kind="bias"))
    vectors = network.additional([2] * 36)
    assert not torch.equal(vectors[1], vectors[7]) and not torch.equal(vectors[6], vectors[11])


def test_who_comes_before():
    construction = before(2, Dependence(depth=2))
    assert construction[:4] == [(), (0,), (0, 1), (1, 2)] and construction[6:8] == [(4, 5), (5, 6)]
    graph = before(2, Dependence(depth=2, order="graph"))
    # (1,0) (2,0) (2,1) (3,0) (3,1) (3,2): only what leads to where an edge starts
    assert graph[:6] == [(), (), (0,), (), (0,), (1, 2)]
    assert graph[6:] == [(4, 5), (4, 5), (5, 6), (4, 5), (5, 6), (7, 8)]
    deep = before(3, Dependence(depth=3, order="graph"))
    assert deep[5] == (0, 1, 2) and deep[8] == (4, 5, 6) and deep[12] == (9, 10, 11)


def test_graph_order_has_its_own_first_edges():
    network = excite(seeded(kind="bias", order="graph"))
    assert [p for p in range(36) if network.additional.of(p) is None] == [0, 1, 3]
    base, other = (network.additional([1, choice] + [1] * 34) for choice in (1, 2))
    moved = [p for p in range(36) if base[p] is not None and not torch.equal(base[p], other[p])]
    assert moved == []  # (2, 0) is before (3, 2), but (2, 1) is later
    other = network.additional([1, 1, 2] + [1] * 33)
    assert [p for p in range(36) if base[p] is not None and not torch.equal(base[p], other[p])] == [2, 5]


def test_a_bias_before_a_pool_that_counts_its_padding_has_a_border():
    network = seeded(Skeleton(channels=4, cells=1, pool_counts_padding=True), kind="bias")
    pool, x, shift = network.body[0].edges[0][4], torch.zeros(1, 4, 4, 4), torch.ones(1, 4, 1, 1)
    value, left = _through(pool, x, shift)
    assert left is None and value[0, 0, 0, 0] == pytest.approx(4 / 9) and value[0, 0, 1, 1] == 1
