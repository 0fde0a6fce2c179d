"""NAS-Bench-201: strings, classes, costs against the benchmark's table, and the network itself."""

import csv
import gzip

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from spaces.counting import multiply_accumulates, parameters
from support import real_data
from torch import nn

from harness.base.errors import HarnessError
from harness.spaces import nb201
from harness.spaces.nb201 import SPACE, canonical, digits, flops_of, from_digits, params_of, rows_of
from harness.spaces.nb201_net import Cell, Reduction, network

EXAMPLE = "|nor_conv_3x3~0|+|nor_conv_3x3~0|avg_pool_3x3~1|+|none~0|nor_conv_3x3~1|avg_pool_3x3~2|"
ROWS = st.text("01234", min_size=6, max_size=6)
TABLE_NAMES = {"cifar10": "cifar10", "cifar100": "cifar100", "imagenet16-120": "ImageNet16-120"}


@pytest.fixture(scope="module")
def table() -> list[dict[str, str]]:
    with gzip.open(real_data("benchmarks/nb201/nb201.csv.gz"), "rt") as file:
        return list(csv.DictReader(file))


def test_digits_follow_the_order_of_edges_and_ops() -> None:
    assert digits(EXAMPLE) == "334034"
    assert from_digits("334034") == EXAMPLE
    assert from_digits("012340").startswith("|none~0|+|skip_connect~0|nor_conv_1x1~1|+|nor_conv_3x3~0|")


@given(ROWS)
def test_digits_and_strings_are_one_to_one(row: str) -> None:
    assert digits(from_digits(row)) == row
    assert SPACE.validate(from_digits(row)) == from_digits(row)
    assert rows_of([from_digits(row)]).tolist() == [[int(digit) for digit in row]]


@pytest.mark.parametrize(
    ("arch", "defect"),
    [
        (None, "a string, not NoneType"),
        ("", "has 1 nodes where 3"),
        (EXAMPLE + "+|none~0|", "has 4 nodes where 3"),
        (EXAMPLE[1:], "node 1, 'nor_conv_3x3~0|', must begin and end"),
        (EXAMPLE + " ", "node 3, .* must begin and end"),
        (EXAMPLE.replace("none~0|", ""), "node 3 has 2 edges where 3"),
        (EXAMPLE.replace("none", "nome"), r"node 3: unknown op 'nome': did you mean 'none'\?"),
        (EXAMPLE.replace("avg_pool_3x3~2", "avg_pool_3x3~1"), "must read 'avg_pool_3x3~2'"),
        (EXAMPLE.replace("avg_pool_3x3~1", "avg_pool_3x3"), "must read 'avg_pool_3x3~1'"),
    ],
)
def test_a_bad_string_is_refused_with_its_defect(arch: object, defect: str) -> None:
    with pytest.raises(HarnessError, match=defect):
        SPACE.validate(arch)  # type: ignore[arg-type]


@pytest.mark.parametrize("row", ["", "00000", "0000000", "000005", "00000a", "٣33333", 333333])
def test_bad_digits_are_refused(row: object) -> None:
    with pytest.raises(HarnessError, match="six digits are needed"):
        from_digits(row)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "rows",
    [np.full((1, 6), 5), np.full((1, 6), -1), np.zeros((1, 5), int), np.zeros(6, int), np.zeros((1, 6))],
)
def test_bad_rows_are_refused(rows: np.ndarray) -> None:
    with pytest.raises(HarnessError, match="rows of nb201 ops must be"):
        params_of(rows, 10)


def test_enumeration_is_the_whole_space_once() -> None:
    everything = list(SPACE.enumerate())
    assert len(everything) == len(set(everything)) == SPACE.size == 15_625
    assert everything[1] == from_digits("000001")


def test_there_are_6466_classes() -> None:
    assert len({canonical(arch) for arch in SPACE.enumerate()}) == 6_466


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("111111", "0+0+0+0"),
        ("000000", "#+#+#"),
        ("300010", "#+#+(0)@nor_conv_3x3"),
        ("033333", "#+(#+(0)@nor_conv_3x3)@nor_conv_3x3+(0)@nor_conv_3x3"),
    ],
)
def test_names_of_classes_by_hand(row: str, name: str) -> None:
    assert canonical(from_digits(row)) == name


def test_equal_functions_share_a_name_as_far_as_the_benchmark_sees_them() -> None:
    # a path of two skips is the direct skip
    assert canonical(from_digits("100010")) == canonical(from_digits("000100"))
    # an op after a skip, or a skip after the op
    assert canonical(from_digits("100030")) == canonical(from_digits("300010"))
    assert canonical(from_digits("300010")) != canonical(from_digits("200010"))
    # the same two paths through nodes 1 and 2 in turn: equal functions that the benchmark keeps apart
    assert canonical(from_digits("230043")) != canonical(from_digits("320034"))


def terms(row: str) -> tuple[str, ...]:
    """The cell's output as a flat sum without zeros: an independent, stricter reading."""
    nodes: list[tuple[str, ...]] = [("x",)]
    for first, count in ((0, 1), (1, 2), (3, 3)):
        total: list[str] = []
        for value, op in zip(nodes[:count], row[first : first + count], strict=True):
            if value and op != "0":
                total += value if op == "1" else [f"{op}({'+'.join(value)})"]
        nodes.append(tuple(sorted(total)))
    return nodes[3]


def test_a_name_never_joins_different_functions() -> None:
    functions: dict[str, set[tuple[str, ...]]] = {}
    for arch in SPACE.enumerate():
        functions.setdefault(canonical(arch), set()).add(terms(digits(arch)))
    assert {len(found) for found in functions.values()} == {1}
    assert len(set().union(*functions.values())) == 4_930


def test_classes_are_the_benchmarks(table: list[dict[str, str]]) -> None:
    assert len(table) == 15_625
    assert [canonical(row["arch_str"]) for row in table] == [row["unique_str"] for row in table]


@pytest.mark.parametrize("dataset", SPACE.datasets)
def test_params_and_flops_are_the_benchmarks_for_every_cell(
    table: list[dict[str, str]], dataset: str
) -> None:
    name, task = TABLE_NAMES[dataset], nb201.TASKS[dataset]
    archs = [row["arch_str"] for row in table]
    params = [round(float(row[f"{name}_params_M"]) * 1e6) for row in table]
    flops = [round(float(row[f"{name}_flops_M"]) * 1e6) for row in table]
    assert SPACE.params_of(archs, dataset).tolist() == params
    assert flops_of(rows_of(archs), task.classes, task.side).tolist() == flops
    assert SPACE.params(archs[0], dataset) == params[0]
    assert SPACE.flops(archs[0], dataset) == flops[0]


@pytest.mark.parametrize("dataset", SPACE.datasets)
@pytest.mark.parametrize("row", ["334034", "000000", "222222", "433130"])
def test_the_network_has_the_benchmarks_size(dataset: str, row: str) -> None:
    arch, task = from_digits(row), nb201.TASKS[dataset]
    net = SPACE.build(arch, dataset).eval()
    assert parameters(net) == SPACE.params(arch, dataset)
    assert multiply_accumulates(net, torch.zeros(1, 3, task.side, task.side)) == SPACE.flops(arch, dataset)
    assert len(net.body) == 17
    assert [place for place, part in enumerate(net.body) if isinstance(part, Reduction)] == [5, 11]


@given(ROWS)
def test_formulas_equal_a_small_network(row: str) -> None:
    net = network(from_digits(row), channels=4, cells=1, classes=7, image_channels=1).eval()
    rows = rows_of([from_digits(row)])
    assert parameters(net) == params_of(rows, 7, channels=4, cells=1, image_channels=1)[0]
    flops = flops_of(rows, 7, 8, channels=4, cells=1, image_channels=1)[0]
    assert multiply_accumulates(net, torch.zeros(1, 1, 8, 8)) == flops


def test_forward_and_backward_also_in_channels_last() -> None:
    torch.manual_seed(0)
    net = network(EXAMPLE, channels=8, cells=1, classes=10)
    images = torch.randn(4, 3, 32, 32)
    usual = net.eval()(images)
    assert usual.shape == (4, 10)
    other = net.to(memory_format=torch.channels_last)(images.to(memory_format=torch.channels_last))
    torch.testing.assert_close(usual, other, rtol=1e-4, atol=1e-5)
    net.train()(images).sum().backward()
    assert all(parameter.grad is not None for parameter in net.parameters())


def test_batch_norm_flags_reach_the_searched_cells_only() -> None:
    net = network(EXAMPLE, channels=4, cells=1, affine=False, track=False, conv_bias=True)
    cells = [part for part in net.body if isinstance(part, Cell)]
    inside = {id(layer) for cell in cells for layer in cell.modules()}
    norms = [layer for layer in net.modules() if isinstance(layer, nn.BatchNorm2d)]
    assert {layer.affine for layer in norms if id(layer) in inside} == {False}
    assert {layer.running_mean is None for layer in norms if id(layer) in inside} == {True}
    assert {layer.affine for layer in norms if id(layer) not in inside} == {True}
    assert {layer.running_mean is None for layer in norms if id(layer) not in inside} == {False}
    convolutions = [layer for layer in net.modules() if isinstance(layer, nn.Conv2d)]
    assert {id(layer) in inside for layer in convolutions if layer.bias is not None} == {True}
    assert {id(layer) in inside for layer in convolutions if layer.bias is None} == {False}


def cell(row: str) -> Cell:
    return Cell(row, 2, affine=True, track=True, bias=False)


@pytest.mark.parametrize(
    ("row", "factor"),
    # the sum over paths from node 0 to node 3 of products of skips
    [("111111", 4), ("100010", 1), ("010001", 1), ("101001", 1), ("001010", 0), ("000100", 1), ("110011", 2)],
)
def test_edges_join_the_nodes_they_say(row: str, factor: int) -> None:
    x = torch.randn(1, 2, 4, 4)
    torch.testing.assert_close(cell(row)(x), factor * x)


def test_the_pool_leaves_padding_out() -> None:
    ones = torch.ones(1, 2, 5, 5)
    torch.testing.assert_close(cell("000400")(ones), ones)


def test_a_convolution_sees_only_positive_input() -> None:
    net = cell("000300").eval()
    negative = -torch.rand(1, 2, 4, 4)
    torch.testing.assert_close(net(negative), torch.zeros_like(negative))
    assert net(-negative).abs().sum() > 0


def test_what_only_feeds_none_gets_a_zero_gradient() -> None:
    net = cell("300001")
    net(torch.randn(2, 2, 4, 4)).sum().backward()
    assert all(not p.grad.any() for p in net.parameters() if p.grad is not None)
    dead = cell("300000")
    dead(torch.randn(2, 2, 4, 4)).sum().backward()
    assert [p.grad is not None and not p.grad.any() for p in dead.parameters()] == [True] * 3


def test_a_reduction_adds_a_pooled_shortcut() -> None:
    block = Reduction(2).eval()
    with torch.no_grad():
        block.second[1].weight.zero_()
        block.shortcut[1].weight.copy_(torch.eye(2).repeat(2, 1).reshape(4, 2, 1, 1))
    x = torch.randn(1, 2, 4, 4)
    pooled = x.reshape(1, 2, 2, 2, 2, 2).mean(dim=(3, 5))
    torch.testing.assert_close(block(x), torch.cat([pooled, pooled], dim=1))


def test_samples_are_distinct_and_uniform_over_ops() -> None:
    rng = np.random.default_rng(11)
    counts = np.zeros((6, 5))
    for _ in range(200):
        archs = SPACE.sample(50, rng)
        assert len(set(archs)) == 50
        rows = rows_of(archs)
        for op in range(5):
            counts[:, op] += (rows == op).sum(axis=0)
    assert all(chisquare(edge).pvalue > 1e-4 for edge in counts)
    assert sorted(SPACE.sample(SPACE.size, rng)) == sorted(SPACE.enumerate())
    assert SPACE.sample(5, np.random.default_rng(1)) == SPACE.sample(5, np.random.default_rng(1))
