"""NAS-Bench-1Shot1: the published sizes, the way into NAS-Bench-101, and defects by name."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from spaces.cells import refused
from spaces.counting import parameters
from support import real_data

from harness.base.errors import HarnessError
from harness.spaces import nb101
from harness.spaces.graph_hash import OPS, all_fingerprints, fingerprints, module_hash
from harness.spaces.nb1shot1 import PARENTS, count, counts, space

SPACES = [space(number) for number in (1, 2, 3)]
ONE, TWO, THREE = SPACES
C3, C1, POOL = OPS
KNOWN = f"0;0,1;1,2;0,2;3,4|{C3},{C1},{POOL},{C3}"  # of space 1
relaxed = settings(max_examples=50, deadline=None)  # the first example of a space fills its caches
every_space = pytest.mark.parametrize("here", SPACES, ids=lambda here: here.name)


def some(here, seed: int, n: int = 1) -> list[str]:
    return here.sample(n, np.random.default_rng(seed))


# --- how many -------------------------------------------------------------------------------------


def test_the_published_sizes_come_out_of_two_rules() -> None:
    one, two, three = counts()
    assert [each.published for each in (one, two, three)] == [6_240, 29_160, 363_648]
    assert [each.encodings for each in (one, two, three)] == [14_580, 29_160, 1_312_200]
    assert [each.used_ops for each in (one, two, three)] == [6_240, 16_632, 363_648]
    assert [each.encodings for each in (one, two, three)] == [here.size for here in SPACES]


@every_space
def test_every_rule_is_nested_in_the_next(here) -> None:
    found = count(here.number)
    assert found.wirings * 3**here.blocks == found.encodings == here.size
    assert found.cells <= found.pruned <= found.reaching_ops <= found.used_ops <= found.encodings
    assert found.complete <= found.pruned


@pytest.mark.parametrize("here", [ONE, TWO], ids=lambda here: here.name)
def test_the_rules_mean_what_they_say(here) -> None:
    """The same numbers by going through the strings, without matrices."""
    used, reaching, complete = set(), set(), 0
    for arch in here.enumerate():
        left, right = arch.split("|")
        parents = [[int(p) for p in group.split(",")] for group in left.split(";")]
        ops = right.split(",")
        leaving = {p for group in parents for p in group}
        led = set(parents[-1])
        for block in range(here.blocks, 0, -1):
            led |= set(parents[block - 1]) if block in led else set()
        used.add((left, *(op if b in leaving else "" for b, op in enumerate(ops, start=1))))
        reaching.add((left, *(op if b in led else "" for b, op in enumerate(ops, start=1))))
        complete += led >= set(range(1, here.blocks + 1))
    found = count(here.number)
    assert (len(used), len(reaching), complete) == (found.used_ops, found.reaching_ops, found.complete)


def test_cells_and_pruned_are_the_distinct_ones_in_nasbench() -> None:
    distinct, names = set(), set()
    for arch in ONE.enumerate():
        matrix, ops = nb101.decode(ONE.to_nb101(arch))
        kept = reach(matrix)
        key = (str([[matrix[i][j] for j in kept] for i in kept]), *(ops[v] for v in kept))
        if key not in distinct:
            distinct.add(key)
            names.add(ONE.canonical(arch))
    found = count(1)
    assert (len(distinct), len(names)) == (found.pruned, found.cells)


def reach(matrix: list[list[int]]) -> list[int]:
    """Vertices with a path to the last one; in these spaces all of them have one from the input too."""
    last = len(matrix) - 1
    led = {last}
    for vertex in range(last - 1, -1, -1):
        if any(matrix[vertex][target] for target in led):
            led.add(vertex)
    return sorted(led)


# --- NAS-Bench-101 --------------------------------------------------------------------------------


@every_space
def test_every_architecture_is_a_cell_of_nasbench(here) -> None:
    prints = here.fingerprints()
    assert len(prints) == here.size
    assert np.isin(prints, all_fingerprints()).all()


@every_space
def test_architectures_are_rows_of_the_benchmarks_table(here) -> None:
    with np.load(real_data("benchmarks/nb101/nb101_archs_by_hash.npz")) as file:
        names, table = file["hash"], fingerprints(file["adjacency"], file["ops"])
    archs = some(here, 3, 300)
    prints = here.fingerprints(archs)
    order = np.argsort(table)
    rows = order[np.searchsorted(table[order], prints)]
    assert [names[row].decode() for row in rows] == [here.canonical(arch) for arch in archs]


def test_an_architecture_of_space_1_becomes_seven_vertices_with_a_dummy() -> None:
    matrix, ops = nb101.decode(ONE.to_nb101(KNOWN))
    assert ops == ["input", C3, C1, POOL, C3, C1, "output"]
    edges = [(i, j) for i, j in product(range(7), repeat=2) if matrix[i][j]]
    assert edges == [(0, 1), (0, 2), (0, 4), (1, 2), (1, 3), (2, 3), (2, 4), (3, 6), (4, 6)]
    without = nb101.encode(np.delete(np.delete(matrix, 5, 0), 5, 1), [*ops[:5], "output"])
    assert ONE.canonical(KNOWN) == nb101.SPACE.canonical(without)


def test_an_architecture_of_space_3_needs_no_dummy() -> None:
    matrix, ops = nb101.decode(THREE.to_nb101(f"0;0;1;1,3;2,3;4,5|{C3},{C1},{POOL},{C3},{POOL}"))
    assert ops == ["input", C3, C1, POOL, C3, POOL, "output"]
    edges = [(i, j) for i, j in product(range(7), repeat=2) if matrix[i][j]]
    assert edges == [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (3, 4), (3, 5), (4, 6), (5, 6)]


@every_space
def test_no_cell_has_more_edges_than_nasbench_allows(here) -> None:
    matrices, _ = here.to_nb101_arrays()
    assert (
        matrices.sum(axis=(1, 2)).max() == matrices.sum(axis=(1, 2)).min() == sum(PARENTS[here.number]) == 9
    )


@relaxed
@given(st.sampled_from(SPACES), st.integers(0, 2**32), st.sampled_from(OPS))
def test_the_op_of_a_loose_end_changes_nothing(here, seed: int, op: str) -> None:
    arch = some(here, seed)[0]
    left, right = arch.split("|")
    kept, ops = reach(nb101.decode(here.to_nb101(arch))[0]), right.split(",")
    other = ",".join(given if block in kept else op for block, given in enumerate(ops, start=1))
    assert here.canonical(f"{left}|{other}") == here.canonical(arch)
    changed = {C3: C1, C1: POOL, POOL: C3}
    swapped = ",".join(changed[given] if block == kept[1] else given for block, given in enumerate(ops, 1))
    assert here.fingerprints([f"{left}|{swapped}"]) != here.fingerprints([arch])


@relaxed
@given(st.sampled_from(SPACES), st.integers(0, 2**32))
def test_string_and_array_ways_into_nasbench_agree(here, seed: int) -> None:
    archs = some(here, seed, 5)
    matrices, ops = here.to_nb101_arrays(archs)
    assert [here.to_nb101(arch) for arch in archs] == nb101.strings(matrices, ops)
    assert [here.canonical(arch) for arch in archs] == [
        module_hash(m, o) for m, o in zip(matrices, ops, strict=True)
    ]
    assert np.array_equal(here.fingerprints(archs), nb101.SPACE.fingerprints([*map(here.to_nb101, archs)]))


# --- costs and networks ---------------------------------------------------------------------------


@every_space
def test_costs_are_those_of_the_trained_cell(here) -> None:
    with np.load(real_data("benchmarks/nb101/nb101_archs_by_hash.npz")) as file:
        names = file["hash"].astype(str)
    with np.load(real_data("benchmarks/nb101/nb101_table.npz")) as file:
        params, flops = file["params"], file["flops_thop"]
    archs = some(here, 6, 200)
    rows = np.searchsorted(names, [here.canonical(arch) for arch in archs])
    assert np.array_equal(here.params_of(archs, "cifar10"), params[rows])
    assert here.params(archs[0], "cifar10") == params[rows[0]]
    assert here.flops(archs[0], "cifar10") == flops[rows[0]]


def test_costs_of_a_whole_space_are_in_the_order_of_enumeration() -> None:
    archs = list(TWO.enumerate())
    assert np.array_equal(TWO.params_of(None, "cifar10"), TWO.params_of(archs, "cifar10"))


def test_the_network_is_nasbenchs() -> None:
    arch = some(TWO, 12)[0]
    assert parameters(TWO.build(arch, "cifar10")) == TWO.params(arch, "cifar10")


# --- strings --------------------------------------------------------------------------------------


@every_space
def test_enumeration_and_indices_go_round(here) -> None:
    archs = list(here.enumerate())
    assert len(set(archs)) == len(archs) == here.size
    assert np.array_equal(here.indices(archs), np.arange(here.size))
    chosen = np.random.default_rng(0).choice(here.size, 200, replace=False)
    assert here.strings(chosen) == [archs[i] for i in chosen]
    assert [here.validate(archs[i]) for i in chosen] == [archs[i] for i in chosen]


@every_space
def test_samples_are_distinct_and_uniform_over_encodings(here) -> None:
    n = min(10_000, here.size)
    archs = some(here, 5, n)
    assert len(set(archs)) == n
    assert archs == some(here, 5, n)
    place = here.indices(archs[:5000])
    assert chisquare(np.histogram(place, bins=20, range=(0, here.size))[0]).pvalue > 1e-4
    with pytest.raises(HarnessError, match="distinct"):
        here.sample(here.size + 1, np.random.default_rng(0))


def test_spaces_and_parents_in_another_order_are_normalised() -> None:
    untidy = f" 0; 1,0;2,1 ;2,0;4,3 | {C3},{C1}, {POOL},{C3}\n"
    assert ONE.validate(untidy) == KNOWN
    assert ONE.indices([untidy]) == ONE.indices([KNOWN])
    assert ONE.canonical(untidy) == ONE.canonical(KNOWN)


OPS4 = f"{C3},{C1},{POOL},{C3}"


@pytest.mark.parametrize(
    ("arch", "message"),
    [
        (3, "is a string, not int"),
        ("0;0,1;0,1;0,1;0,1", r"no '\|' between"),
        (f"0;0,1;0,1;0,1|{OPS4}", r"parents for 4 vertices where 5 \(4 blocks and the output\) are needed"),
        (f"0;0,1;0,1;0,1;0,1|{C3},{C1}", "2 ops where 4 are needed"),
        (f"0;0,1;0,1;0,1;0,1|{C3},{C1},{POOL},conv", "unknown op 'conv'"),
        (f"0;0,1;0;0,1;0,1|{OPS4}", "block 3 has 1 parents where 2 are needed"),
        (f"0;0,1;1,1;0,1;0,1|{OPS4}", "block 3 names a parent twice"),
        (f"0;0,1;0,3;0,1;0,1|{OPS4}", "block 3 has parent 3 where 2 is the highest"),
        (f"0;0,1;0,1;0,1;0,5|{OPS4}", "the output has parent 5 where 4 is the highest"),
        (f"0;0,1;0,-1;0,1;0,1|{OPS4}", "the parents of block 3, '0,-1', must be numbers"),
        (f"0;0,1;0,01;0,1;0,1|{OPS4}", "must be numbers"),
        (f"0;0,1;;0,1;0,1|{OPS4}", "the parents of block 3, '', must be numbers"),
        (some(TWO, 0)[0], "are needed"),
        (some(THREE, 0)[0], "are needed"),
    ],
)
def test_a_defect_is_named_in_one_sentence(arch, message: str) -> None:
    refused((ONE.validate, ONE.to_nb101, lambda a: ONE.params_of([KNOWN, a], "cifar10")), arch, message)


def test_there_are_three_spaces() -> None:
    assert [here.name for here in SPACES] == ["nb1shot1-1", "nb1shot1-2", "nb1shot1-3"]
    with pytest.raises(HarnessError, match="unknown NAS-Bench-1Shot1 space '?4'?: valid are 1, 2, 3"):
        space(4)
