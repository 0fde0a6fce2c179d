"""DARTS: text of genotypes, node order, counts against published numbers and against built networks."""

import itertools
import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from spaces.counting import outputs, parameters
from support import real_data
from torch import nn

from harness.base.errors import HarnessError
from harness.spaces.darts import OPS, SPACE, Genotype, _decode, canonical, costs, from_pairs, parse
from harness.spaces.darts_net import network

# Liu et al. 2019, second order: the normal cell and the reduction cell they publish.
V2 = (
    "Genotype(normal=[('sep_conv_3x3', 0), ('sep_conv_3x3', 1), ('sep_conv_3x3', 0), ('sep_conv_3x3', 1), "
    "('sep_conv_3x3', 1), ('skip_connect', 0), ('skip_connect', 0), ('dil_conv_3x3', 2)], "
    "normal_concat=[2, 3, 4, 5], reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1), ('skip_connect', 2), "
    "('max_pool_3x3', 1), ('max_pool_3x3', 0), ('skip_connect', 2), ('skip_connect', 2), "
    "('max_pool_3x3', 1)], reduce_concat=[2, 3, 4, 5])"
)
SEEDS = st.integers(0, 2**32 - 1).map(lambda seed: SPACE.sample(1, np.random.default_rng(seed))[0])


def one(cell: tuple, genotype: Genotype) -> str:
    return str(Genotype(cell, genotype.reduce))


def test_the_size_is_counted() -> None:
    pairs = math.prod(math.comb(node, 2) for node in (2, 3, 4, 5))
    assert SPACE.size == (pairs * 7**8) ** 2 == 1_076_746_950_455_072_400
    assert f"{SPACE.size:.0e}" == "1e+18"
    with pytest.raises(HarnessError, match="1,076,746,950,455,072,400 architectures: sample it"):
        SPACE.enumerate()


@given(SEEDS)
def test_what_is_sampled_is_normal_and_reads_back(arch: str) -> None:
    assert str(parse(arch)) == SPACE.validate(arch) == arch
    assert set(parse(arch).__dict__) == {"normal", "reduce"}


def test_a_genotype_is_normalised() -> None:
    genotype = parse(V2)
    assert genotype.normal[4:6] == (("skip_connect", 0), ("sep_conv_3x3", 1))
    assert genotype.reduce[2:4] == (("max_pool_3x3", 1), ("skip_connect", 2))
    printed = V2.replace("[2, 3, 4, 5]", "range(2, 6)").replace(", ", ",\n ")
    assert parse(printed) == genotype
    assert SPACE.validate(SPACE.validate(V2)) == str(genotype)


@pytest.mark.parametrize(
    ("arch", "defect"),
    [
        (7, "a string, not int"),
        ("", "cannot be read"),
        ("Genotype(", "cannot be read"),
        ("\x00", "cannot be read"),
        ("[1]", "must have the form Genotype"),
        ("os.system('true')", "must have the form Genotype"),
        (V2.replace("Genotype", "Cell"), "must have the form Genotype"),
        (V2.replace(", reduce_concat=[2, 3, 4, 5]", ""), "needs exactly the fields .*, has normal,"),
        (V2[:-1] + ", extra=1)", "needs exactly the fields"),
        (V2[:-1] + ", **{})", "needs exactly the fields"),
        (
            V2.replace("normal_concat=[2, 3, 4, 5]", "normal_concat=[3, 4, 5]"),
            r"normal_concat must be \[2, 3",
        ),
        (V2.replace("[2, 3, 4, 5]", "__import__('os')", 1), "field normal_concat must be a plain list"),
        (V2.replace("('max_pool_3x3', 0), ", "", 1), "reduce cell must be a list of 8 edges, not 7"),
        (V2.replace("normal=[", "normal=([").replace("], normal_c", "],), normal_c"), "8 edges, not tuple"),
        (V2.replace("('sep_conv_3x3', 0)", "'sep_conv_3x3'", 1), "normal cell: edge 0 must be an op and an"),
        (V2.replace("('sep_conv_3x3', 0)", "('sep_conv_3x3', True)", 1), "edge 0 must be an op and an input"),
        (
            V2.replace("sep_conv_3x3", "sep_conv_3x4", 1),
            r"edge 0: unknown op 'sep_conv_3x4': did you mean 'sep",
        ),
        (V2.replace("skip_connect", "none", 1), "normal cell: edge 5: unknown op 'none'"),
        (
            V2.replace("('sep_conv_3x3', 1)", "('sep_conv_3x3', 2)", 1),
            "node 2 cannot read input 2: valid are 0 to 1",
        ),
        (V2.replace("('sep_conv_3x3', 1)", "('sep_conv_3x3', -1)", 1), "node 2 cannot read input -1"),
        (V2.replace("('sep_conv_3x3', 1)", "('sep_conv_3x3', 0)", 1), "node 2 reads input 0 twice"),
        ("Genotype(" + "-" * 4900 + "1)", "darts genotype"),
        ("x" * 6000, "6000 characters are too many"),
        (
            "Genotype(normal=" + "a." * 2000 + "a, normal_concat=1, reduce=1, reduce_concat=1)",
            "darts genotype",
        ),
    ],
)
def test_a_bad_genotype_is_refused_with_its_defect(arch: object, defect: str) -> None:
    with pytest.raises(HarnessError, match=defect):
        parse(arch)  # type: ignore[arg-type]


def renamed(cell: tuple, order: tuple[int, ...]) -> tuple | None:
    """The cell with its nodes 2..5 in another order; None where a node would read a later one."""
    new = {0: 0, 1: 1, **{old: 2 + place for place, old in enumerate(order)}}
    nodes = {new[old]: [(op, new[i]) for op, i in cell[2 * old - 4 : 2 * old - 2]] for old in (2, 3, 4, 5)}
    if any(i >= node for node, pair in nodes.items() for _, i in pair):
        return None
    return tuple(edge for node in (2, 3, 4, 5) for edge in sorted(nodes[node], key=lambda edge: edge[1]))


@given(SEEDS, st.permutations((2, 3, 4, 5)))
def test_node_order_does_not_change_the_name(arch: str, order: list[int]) -> None:
    genotype = parse(arch)
    name = canonical(arch)
    assert canonical(name) == name
    forms = [renamed(genotype.normal, way) for way in itertools.permutations((2, 3, 4, 5))]
    assert parse(name).normal in forms
    other = renamed(genotype.normal, tuple(order))
    if other is not None:
        assert canonical(one(other, genotype)) == name
    swapped = str(Genotype(genotype.reduce, genotype.normal))
    assert parse(canonical(swapped)).normal == parse(name).reduce


def test_different_cells_have_different_names() -> None:
    ways = [pair for pair in itertools.combinations(range(3), 2)]
    base = parse(V2)
    cells = [
        (("sep_conv_3x3", 0), ("sep_conv_5x5", 1), ("skip_connect", a), (op, b), *base.normal[4:])
        for a, b in ways
        for op in ("max_pool_3x3", "avg_pool_3x3")
    ]
    assert len({canonical(one(cell, base)) for cell in cells}) == len(cells) == 6


def test_params_of_the_published_cell() -> None:
    # DARTS reports 3.3M for this cell at 36 channels and 20 layers.
    params, _ = costs(36, 20).of([parse(V2)])[0]
    assert params == parameters(network(V2, 36, 20)) == 3_349_342


@pytest.fixture(scope="module")
def reference() -> dict[str, dict[str, float]]:
    path = real_data("benchmarks/nb301/reference_500_cells.json")
    return json.loads(path.read_text())["nasbench301"]["cifar10"]


def test_params_of_500_published_cells(reference: dict[str, dict[str, float]]) -> None:
    genotypes = [parse(from_pairs(text)) for text in reference]
    published = [round(values["params"] * 1e6) for values in reference.values()]
    assert costs(affine=False).of(genotypes)[:, 0].tolist() == published
    assert not (costs().of(genotypes)[:, 0] == published).any()


def test_flops_of_published_cells_differ_by_what_they_count_besides(
    reference: dict[str, dict[str, float]],
) -> None:
    """They add one per ReLU output and per op's batch norm output, ten per pool (nine and its batch norm)."""
    extra = {nn.ReLU: 1, nn.BatchNorm2d: 1, nn.MaxPool2d: 10, nn.AvgPool2d: 10}
    rest = set()
    for text in list(reference)[:12]:
        arch = from_pairs(text)
        counted = outputs(network(arch, affine=False).eval(), torch.zeros(1, 3, 32, 32))
        flops = int(costs(affine=False).of([parse(arch)])[0, 1])
        rest.add(
            round(reference[text]["flops"] * 1e6)
            - flops
            - sum(extra.get(type(layer), 0) * numbers for layer, numbers in counted)
        )
    assert len(rest) == 1  # stem, classifier and fixed batch norms: the same for every cell


def test_pairs_decode_by_input_then_op() -> None:
    cell = "[(0, 4), (1, 3), (0, 2), (2, 0), (1, 1), (3, 5), (4, 6), (2, 2)]"
    genotype = parse(from_pairs(f"[{cell}, {cell}]"))
    assert genotype.normal == genotype.reduce
    assert genotype.normal[:4] == (
        ("sep_conv_5x5", 0),
        ("sep_conv_3x3", 1),
        ("skip_connect", 0),
        ("max_pool_3x3", 2),
    )
    assert genotype.normal[6:] == (("skip_connect", 2), ("dil_conv_5x5", 4))


@pytest.mark.parametrize("text", ["", "[]", "[[(0, 1)]]", "[[(0, 9)], []]", "[[0], [1]]", None])
def test_bad_pairs_are_refused(text: object) -> None:
    with pytest.raises(HarnessError, match="no pair of lists"):
        from_pairs(text)  # type: ignore[arg-type]


def test_negative_ops_of_pairs_are_not_counted_from_the_end() -> None:
    cell = "[(0, -1), (1, 3), (0, 2), (2, 0), (1, 1), (3, 5), (4, 6), (2, 2)]"
    with pytest.raises(HarnessError, match="normal cell: edge 0 must be an op and an input"):
        from_pairs(f"[{cell}, {cell}]")


@given(st.integers(0, 180 * 7**8 - 1))
def test_a_number_and_a_cell_are_one_to_one(index: int) -> None:
    cell, number, unit = _decode(index), 0, 1
    for node in range(4):
        pairs = list(itertools.combinations(range(node + 2), 2))
        (first, a), (second, b) = cell[2 * node : 2 * node + 2]
        for digit, radix in (
            (pairs.index((a, b)), len(pairs)),
            (OPS.index(first), 7),
            (OPS.index(second), 7),
        ):
            number, unit = number + digit * unit, unit * radix
    assert number == index


def test_samples_are_distinct_and_uniform() -> None:
    archs = SPACE.sample(3000, np.random.default_rng(5))
    assert len(set(archs)) == 3000
    assert archs == SPACE.sample(3000, np.random.default_rng(5))
    genotypes = [parse(arch) for arch in archs]
    for kind in ("normal", "reduce"):
        cells = [getattr(genotype, kind) for genotype in genotypes]
        for edge in range(8):
            ops = Counter(cell[edge][0] for cell in cells)
            assert set(ops) == set(OPS)
            assert chisquare(list(ops.values())).pvalue > 1e-4
        for node in range(4):
            pairs = Counter((cell[2 * node][1], cell[2 * node + 1][1]) for cell in cells)
            assert set(pairs) == set(itertools.combinations(range(node + 2), 2))
            if node:
                assert chisquare(list(pairs.values())).pvalue > 1e-4


@settings(max_examples=25)
@given(st.lists(SEEDS, min_size=1, max_size=5))
def test_many_are_counted_as_one_by_one(archs: list[str]) -> None:
    assert SPACE.params_of(archs, "cifar10").tolist() == [SPACE.params(arch, "cifar10") for arch in archs]


def test_reading_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for hostile in ("open('made', 'w')", "[open('made', 'w')]"):
        for text in (V2.replace("[2, 3, 4, 5]", hostile), hostile, f"Genotype({hostile})"):
            with pytest.raises(HarnessError):
                parse(text)
            with pytest.raises(HarnessError):
                from_pairs(text)
    assert not list(tmp_path.iterdir())
