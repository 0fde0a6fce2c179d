"""NAS-Bench-101: strings, samples, costs against the benchmark's table, and the network itself."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from spaces.cells import benchmark_cells, benchmark_costs, distinct, refused, relabelled, specs
from spaces.counting import outputs, parameters
from torch import nn

from harness.base.errors import HarnessError
from harness.spaces import nb101
from harness.spaces.graph_hash import NO_VERTEX, OPS, all_fingerprints, fingerprints, prune
from harness.spaces.nb101 import SPACE, arrays, decode, encode, strings, trained, vertex_channels
from harness.spaces.nb101_net import Cell, network

# two branches, a 1x1 beside them, and an edge from the input to the output: nine edges, three parts to join
RICH = "101011100000001100011:" + ",".join([OPS[i] for i in (1, 0, 2, 1, 0)])

relaxed = settings(max_examples=50, deadline=None)


# --- strings --------------------------------------------------------------------------------------


@relaxed
@given(st.integers(0, 2**32))
def test_strings_and_arrays_go_round(seed: int) -> None:
    archs = [*specs(seed, 5), *distinct(seed)[:5], "1:"]
    assert strings(*arrays(archs)) == archs
    assert [encode(*decode(arch)) for arch in archs] == archs
    assert [SPACE.validate(arch) for arch in archs] == archs


def test_bits_are_read_row_by_row() -> None:
    matrix, ops = decode("110101:conv3x3-bn-relu,maxpool3x3")
    assert matrix == [[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert ops == ["input", "conv3x3-bn-relu", "maxpool3x3", "output"]
    assert SPACE.validate(" 110101 : conv3x3-bn-relu, maxpool3x3\n") == "110101:conv3x3-bn-relu,maxpool3x3"


@pytest.mark.parametrize(
    ("arch", "message"),
    [
        (7, "is a string, not int"),
        ("101", "no ':'"),
        ("1", "no ':'"),
        ("", "no ':'"),
        ("121:conv3x3-bn-relu", "0 and 1 only"),
        ("10:conv3x3-bn-relu", r"2 edge bits where 3 vertices \(1 ops\) need 3"),
        ("101:conv3x3", "unknown op 'conv3x3': did you mean 'conv3x3-bn-relu'"),
        ("101:conv3x3-bn-relu,", "unknown op ''"),
        ("1" * 28 + ":" + ",".join(["maxpool3x3"] * 6), "8 vertices where 7 are the most"),
        ("100:conv3x3-bn-relu", "no path from input to output"),
        ("1" * 15 + ":" + ",".join(["maxpool3x3"] * 4), "15 edges between input and output where 9"),
    ],
)
def test_a_defect_is_named_in_one_sentence(arch, message: str) -> None:
    refused((SPACE.validate, SPACE.canonical, lambda a: SPACE.params_of(["1:", a], "cifar10")), arch, message)


def test_edges_are_counted_after_pruning() -> None:
    ops = ",".join(["maxpool3x3"] * 5)
    rows = ["111110", "11110", "1110", "110", "10", "0"]  # fifteen edges, none to the output
    with pytest.raises(HarnessError, match="no path"):
        SPACE.validate(f"{''.join(rows)}:{ops}")
    rows[0] = "111111"
    assert SPACE.canonical(SPACE.validate(f"{''.join(rows)}:{ops}")) == SPACE.canonical("1:")


@pytest.mark.parametrize(
    ("matrix", "ops", "message"),
    [
        ([[0, 1], [1, 0]], ["input", "output"], "upper triangular"),
        ([[0, 2], [0, 0]], ["input", "output"], "other values than 0 and 1"),
        ([[0, 1]], ["input", "output"], "one row and column per op"),
        ([[0, 1], [0, 0]], ["output", "input"], "begin with 'input'"),
    ],
)
def test_a_matrix_of_another_form_is_refused(matrix, ops, message: str) -> None:
    with pytest.raises(HarnessError, match=message):
        encode(matrix, ops)


# --- sampling -------------------------------------------------------------------------------------


def test_enumeration_holds_every_cell_once_in_the_form_that_was_trained() -> None:
    archs = list(SPACE.enumerate())
    assert len(set(archs)) == SPACE.size
    assert archs[0] == "1:"
    assert archs[1:4] == [f"101:{op}" for op in OPS]
    assert all(trained(arch) == arch for arch in archs[::5000])


def test_samples_are_distinct_and_uniform_over_cells() -> None:
    archs = SPACE.sample(20_000, np.random.default_rng(1))
    assert len(set(archs)) == 20_000
    assert archs == SPACE.sample(20_000, np.random.default_rng(1))
    place = np.searchsorted(all_fingerprints(), SPACE.fingerprints(archs))
    assert chisquare(np.histogram(place, bins=50, range=(0, SPACE.size))[0]).pvalue > 1e-4


def test_specs_are_the_benchmarks_random_search() -> None:
    """Edges are fair before rejection, which favours few edges; ops stay fair."""
    matrices, ops = arrays(specs(2, 5000))
    assert matrices.shape == (5000, 7, 7)
    assert ((ops != NO_VERTEX).sum(axis=1) == 7).all()
    assert chisquare(np.bincount(ops[:, 1:6].ravel(), minlength=5)[2:]).pvalue > 1e-4
    assert matrices.sum(axis=(1, 2)).max() > 9  # loose ends carry the rest


# --- costs ----------------------------------------------------------------------------------------


def test_parameters_and_flops_of_every_cell_are_the_tables() -> None:
    _, matrices, ops = benchmark_cells()
    for ours, theirs in zip(nb101.counts(fingerprints(matrices, ops)), benchmark_costs(), strict=True):
        assert np.array_equal(ours, theirs)


def test_costs_of_strings_are_those_of_arrays() -> None:
    (_, matrices, ops), (params, flops) = benchmark_cells(), benchmark_costs()
    rows = np.random.default_rng(4).choice(len(params), 300, replace=False)
    archs = [relabelled(arch, 9) for arch in strings(matrices[rows], ops[rows])]
    assert np.array_equal(SPACE.params_of(archs, "cifar10"), params[rows])
    assert np.array_equal(SPACE.flops_of(archs, "cifar10"), flops[rows])
    assert SPACE.flops(archs[0], "cifar10") == flops[rows[0]]


def test_what_is_left_of_a_split_goes_to_the_lowest_vertices() -> None:
    matrices, _ = arrays(["1110" + "001" + "01" + "1:" + "maxpool3x3,maxpool3x3,maxpool3x3"])
    assert vertex_channels(matrices, 128)[0].tolist() == [0, 43, 43, 42, 0, 0, 0]
    matrices, _ = arrays(["100" + "10" + "1:maxpool3x3,maxpool3x3"])
    assert vertex_channels(matrices, 128)[0].tolist() == [0, 128, 128, 0, 0, 0, 0]


@relaxed
@given(st.integers(0, 2**32))
def test_channels_never_grow_and_add_up(seed: int) -> None:
    matrices, ops, sizes = prune(*arrays(specs(seed, 20)))
    for width in (128, 256, 512):
        channels = vertex_channels(matrices, width)
        for matrix, row, size in zip(matrices, channels, sizes, strict=True):
            joined = matrix[1 : size - 1, size - 1].astype(bool)
            assert not joined.any() or row[1 : size - 1][joined].sum() == width
            for source, target in np.argwhere(matrix[1 : size - 1, 1 : size - 1]) + 1:
                assert row[source] - row[target] in (0, 1) and row[target] > 0


# --- the network ----------------------------------------------------------------------------------


def test_networks_have_the_counted_parameters_and_flops() -> None:
    torch.manual_seed(0)
    for arch in ["1:", *SPACE.sample(4, np.random.default_rng(8)), relabelled(specs(3)[0], 1)]:
        net = SPACE.build(arch, "cifar10").eval()
        assert parameters(net) == SPACE.params(arch, "cifar10")
        seen = outputs(net, torch.zeros(1, 3, 32, 32))
        flops = sum(
            numbers * leaf.weight[0].numel() if isinstance(leaf, nn.Conv2d | nn.Linear) else 2 * numbers
            for leaf, numbers in seen
            if isinstance(leaf, nn.Conv2d | nn.Linear | nn.BatchNorm2d)
        )
        assert flops == SPACE.flops(arch, "cifar10")


def test_the_network_is_set_up_as_the_benchmarks() -> None:
    torch.manual_seed(0)
    net = network("101:conv3x3-bn-relu")
    assert net(torch.zeros(2, 3, 32, 32)).shape == (2, 10)
    norms = [module for module in net.modules() if isinstance(module, nn.BatchNorm2d)]
    assert {(norm.eps, norm.momentum, norm.affine) for norm in norms} == {(1e-5, 0.003, True)}
    convolutions = [module for module in net.modules() if isinstance(module, nn.Conv2d)]
    assert all(module.bias is None for module in convolutions)
    widest = convolutions[-1].weight  # variance 1 / fan-in, cut at two deviations of the uncut normal
    assert widest.var().item() * widest[0].numel() == pytest.approx(1, rel=0.01)
    assert widest.abs().max().item() * widest[0].numel() ** 0.5 < 2 / 0.8796 + 1e-4
    assert not net.classifier.bias.any()


def test_a_cell_sums_inside_concatenates_at_its_output_and_projects_its_input() -> None:
    """By hand: 1 = pool(projection), 2 = pool(1 + projection), output = [1, 2] + projection."""
    torch.manual_seed(0)
    matrix = [[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    cell = Cell(matrix, ["input", "maxpool3x3", "maxpool3x3", "output"], [4, 3, 2, 5]).eval()
    x = torch.randn(2, 4, 6, 6)
    pool, project = nn.MaxPool2d(3, 1, 1), cell.projections
    first = pool(project["1"](x))
    second = pool(first[:, :2] + project["2"](x))
    expected = torch.cat([first, second], dim=1) + project["3"](x)
    assert torch.allclose(cell(x), expected, atol=1e-6)
    assert sorted(project) == ["1", "2", "3"]


def test_a_training_step_reaches_every_parameter() -> None:
    torch.manual_seed(0)
    net = SPACE.build(RICH, "cifar10")
    net(torch.randn(2, 3, 8, 8)).sum().backward()
    assert all(parameter.grad is not None for parameter in net.parameters())
