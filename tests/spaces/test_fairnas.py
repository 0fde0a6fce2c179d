"""FairNAS: icw Table 4 by counting built modules, formulas against networks, strings and samples."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from spaces.counting import multiply_accumulates, parameters
from torch import nn

from harness.base.errors import HarnessError
from harness.spaces.fairnas import CELLS, OPS, SPACE, Cell, Op, flops_table, from_ops, ops_of, params_table
from harness.spaces.fairnas_net import Block, choices, head, network, parts, stem

# icw Table 4, "params": stem, cells 0 to 18, head.
TABLE_4 = [
    1_824, 34_800, 83_040, 90_048, 121_080, 121_080, 121_080, 164_760, 414_960, 414_960, 414_960, 449_712,
    580_896, 580_896, 580_896, 830_880, 2_157_120, 2_157_120, 2_157_120, 2_822_208, 540_260,
]  # fmt: skip
# icw Table 4, "input size": channels and side of cells 0 to 18.
INPUTS = [
    *[(16, 112)], *[(32, 56)] * 2, *[(40, 28)] * 4, *[(80, 14)] * 4, *[(96, 14)] * 4, *[(192, 7)] * 4,
]  # fmt: skip
ARCHS = st.lists(st.integers(0, 5), min_size=19, max_size=19)


def test_table_4_by_counting_modules() -> None:
    counted = {name: parameters(part) for name, part in parts(classes=100).items()}
    assert list(counted) == ["stem", *map(str, range(19)), "head"]
    assert list(counted.values()) == TABLE_4
    assert sum(counted.values()) == 14_839_700


def test_table_4_by_formula() -> None:
    fixed, table = params_table(classes=100)
    assert fixed == TABLE_4[0] + TABLE_4[-1]
    assert table.sum(axis=1).tolist() == TABLE_4[1:-1]


def test_input_sizes_are_those_of_table_4() -> None:
    assert [cell.inputs for cell in CELLS] == [channels for channels, _ in INPUTS]
    assert CELLS[-1].outputs == 320
    x = stem()(torch.zeros(2, 3, 224, 224))
    for cell, (channels, side) in zip(CELLS, INPUTS, strict=True):
        assert x.shape[1:] == (channels, side, side)
        x = Block(cell, Op(3, 3)).eval()(x)
    assert x.shape[1:] == (320, 7, 7)
    assert head(classes=100)(x).shape == (2, 100)


def test_the_order_of_ops() -> None:
    names = [f"k{op.kernel}e{op.expansion}" for op in OPS]
    assert names == ["k3e3", "k5e3", "k7e3", "k3e6", "k5e6", "k7e6"]
    kernels = [block.layers[3].kernel_size[0] for block in choices(CELLS[1])]
    widths = [block.layers[3].out_channels // 32 for block in choices(CELLS[1])]
    assert list(zip(kernels, widths, strict=True)) == [(op.kernel, op.expansion) for op in OPS]


def test_a_sum_only_where_shapes_allow_it() -> None:
    assert [Block(cell, OPS[0]).residual for cell in CELLS].count(True) == 13
    for cell in (Cell(8, 8, 1), Cell(8, 8, 2), Cell(8, 16, 1)):
        block = Block(cell, OPS[0]).eval()
        with torch.no_grad():
            block.layers[-1].weight.zero_()
        x = torch.randn(1, 8, 4, 4)
        expected = x if cell == Cell(8, 8, 1) else torch.zeros_like(block(x))
        torch.testing.assert_close(block(x), expected)
        assert [type(layer) for layer in block.layers if isinstance(layer, nn.ReLU6)] == [nn.ReLU6] * 2
        assert isinstance(block.layers[-1], nn.BatchNorm2d)


@pytest.mark.parametrize("ops", [[0] * 19, [5] * 19, [0, 1, 2, 3, 4, 5] * 3 + [2]])
def test_costs_equal_the_built_network(ops: list[int]) -> None:
    arch = from_ops(ops)
    net = SPACE.build(arch, "subimagenet").eval()
    assert parameters(net) == SPACE.params(arch, "subimagenet")
    assert multiply_accumulates(net, torch.zeros(1, 3, 224, 224)) == SPACE.flops(arch, "subimagenet")


@pytest.mark.parametrize("side", [64, 51])
def test_flops_follow_the_image_also_with_odd_sides(side: int) -> None:
    ops = [3, 1, 2, 0, 4, 5] * 3 + [1]
    fixed, table = flops_table(classes=7, side=side)
    net = network(from_ops(ops), classes=7).eval()
    counted = multiply_accumulates(net, torch.zeros(1, 3, side, side))
    assert fixed + sum(int(table[cell, op]) for cell, op in enumerate(ops)) == counted
    assert params_table(7)[0] == parameters(net.stem) + parameters(net.head)


def test_the_evaluation_network_is_icws() -> None:
    arch = "-".join("0" * 19)
    net = SPACE.build(arch, "subimagenet")
    assert [layer.p for layer in net.modules() if isinstance(layer, nn.Dropout)] == [0.2]
    assert [layer.p for layer in network(arch).modules() if isinstance(layer, nn.Dropout)] == [0.0]
    net.train()(torch.randn(2, 3, 64, 64)).sum().backward()
    assert all(parameter.grad is not None for parameter in net.parameters())


def test_random_architectures_have_the_size_that_icw_says() -> None:
    # Sec. 3.1.2: typically 2.5M to 3.5M
    params = SPACE.params_of(SPACE.sample(1000, np.random.default_rng(0)), "subimagenet")
    assert 0.9 < np.mean((params > 2.5e6) & (params < 3.5e6)) < 1


@given(ARCHS)
def test_ops_and_strings_are_one_to_one(ops: list[int]) -> None:
    arch = from_ops(ops)
    assert list(ops_of(arch)) == ops
    assert SPACE.validate(arch) == SPACE.canonical(arch) == arch
    fixed, table = params_table(100)
    assert SPACE.params(arch, "subimagenet") == fixed + sum(table[cell, op] for cell, op in enumerate(ops))


@pytest.mark.parametrize(
    ("arch", "defect"),
    [
        (3, "a string, not int"),
        ("", "has 1 ops where 19"),
        ("-".join("0" * 20), "has 20 ops where 19"),
        ("-".join("0" * 18 + "6"), "cell 18: op '6' is not one of 0 to 5"),
        ("-".join(["00", *"0" * 18]), "cell 0: op '00'"),
        ("-".join(["0", " 1", *"0" * 17]), "cell 1: op ' 1'"),
        ("-".join(["0", "", *"0" * 17]), "cell 1: op ''"),
    ],
)
def test_a_bad_string_is_refused_with_its_defect(arch: object, defect: str) -> None:
    with pytest.raises(HarnessError, match=defect):
        SPACE.validate(arch)  # type: ignore[arg-type]


def test_ops_out_of_range_make_no_string() -> None:
    with pytest.raises(HarnessError, match="cell 0: op '6'"):
        from_ops([6] * 19)


def test_samples_are_distinct_and_uniform() -> None:
    archs = SPACE.sample(3000, np.random.default_rng(2))
    assert len(set(archs)) == 3000
    assert archs == SPACE.sample(3000, np.random.default_rng(2))
    rows = np.array([ops_of(arch) for arch in archs])
    for column in rows.T:
        assert chisquare(np.bincount(column, minlength=6)).pvalue > 1e-4


def test_the_size_and_no_enumeration() -> None:
    assert SPACE.size == 6**19 == 609_359_740_010_496
    with pytest.raises(HarnessError, match="609,359,740,010,496 architectures: sample it"):
        SPACE.enumerate()
