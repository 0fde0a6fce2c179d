"""Cells up to isomorphism: fingerprints and module hashes against the benchmark's own."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spaces.cells import benchmark_cells, distinct, relabelled, specs

from harness.base.errors import HarnessError
from harness.spaces.graph_hash import (
    CONV1X1,
    CONV3X3,
    INPUT,
    MAXPOOL3X3,
    NO_VERTEX,
    OPS,
    OUTPUT,
    all_fingerprints,
    cells,
    fingerprints,
    module_hash,
    prune,
)
from harness.spaces.nb101 import SPACE, arrays, decode, encode, trained

relaxed = settings(max_examples=50, deadline=None)


def test_every_cell_of_the_benchmark_has_its_own_fingerprint_and_comes_back_from_it() -> None:
    _, matrices, ops = benchmark_cells()
    prints = fingerprints(matrices, ops)
    assert prints.dtype == np.uint64
    assert np.array_equal(np.sort(prints), all_fingerprints())
    again, codes = cells(prints)
    assert np.array_equal(again, matrices)
    assert np.array_equal(codes, ops)


def test_the_size_of_the_space_is_counted_from_nothing() -> None:
    every = all_fingerprints()
    assert len(np.unique(every)) == len(every) == SPACE.size == 423_624
    _, ops = cells(every)
    assert np.bincount((ops != NO_VERTEX).sum(axis=1)).tolist() == [0, 0, 1, 6, 84, 2441, 62010, 359082]
    with pytest.raises(ValueError, match="read-only"):
        every[0] = 0


def test_module_hashes_are_the_benchmarks() -> None:
    names, matrices, ops = benchmark_cells()
    chosen = np.random.default_rng(101).choice(len(names), 2000, replace=False)
    if os.environ.get("NAS_FULL_TESTS"):  # two minutes: every cell
        chosen = np.arange(len(names))
    wrong = [row for row in chosen.tolist() if module_hash(matrices[row], ops[row]).encode() != names[row]]
    assert wrong == []


@relaxed
@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_relabelling_changes_no_name_and_no_cost(seed: int, order: int) -> None:
    arch = specs(seed)[0]
    other = relabelled(arch, order)
    assert SPACE.fingerprints([arch]) == SPACE.fingerprints([other])
    assert SPACE.canonical(arch) == SPACE.canonical(other)
    assert trained(arch) == trained(other)
    assert SPACE.params(arch, "cifar10") == SPACE.params(other, "cifar10")


def test_fingerprint_and_module_hash_part_cells_alike() -> None:
    archs = specs(5, 3000)
    prints, names = SPACE.fingerprints(archs).tolist(), [SPACE.canonical(arch) for arch in archs]
    assert len(set(prints)) == len(set(names)) == len(set(zip(prints, names, strict=True))) > 1000


@relaxed
@given(st.integers(0, 2**32), st.sampled_from(OPS))
def test_vertices_that_lead_nowhere_change_no_name(seed: int, op: str) -> None:
    matrix, ops = decode(next(arch for arch in distinct(seed) if len(decode(arch)[1]) < 7))
    name = SPACE.canonical(encode(matrix, ops))
    wide = np.insert(np.insert(np.array(matrix), 1, 0, axis=0), 1, 0, axis=1)
    loose = wide.copy()
    loose[0, 1] = 1  # has a way in, none out
    orphan = wide.copy()
    orphan[1, -1] = 1  # has a way out, none in
    for variant in (wide, loose, orphan):
        arch = encode(variant, ["input", op, *ops[1:]])
        assert SPACE.canonical(arch) == name
        assert SPACE.fingerprints([arch]) == SPACE.fingerprints([encode(matrix, ops)])
        assert trained(arch) == trained(encode(matrix, ops))


def test_another_op_or_edge_is_another_cell() -> None:
    assert SPACE.canonical("101:conv3x3-bn-relu") != SPACE.canonical("101:conv1x1-bn-relu")
    assert SPACE.canonical("101:conv3x3-bn-relu") != SPACE.canonical("111:conv3x3-bn-relu")
    assert (
        len(np.unique(SPACE.fingerprints(["101:conv3x3-bn-relu", "101:maxpool3x3", "111:maxpool3x3"]))) == 3
    )


def test_pruning_keeps_the_order_and_names_the_unconnected() -> None:
    matrix = np.zeros((2, 5, 5), np.uint8)
    matrix[0][[0, 0, 2, 3], [1, 2, 3, 4]] = 1  # 0-2-3-4, and vertex 1 is loose
    matrix[1][[0, 2], [1, 4]] = 1
    ops = np.array([[INPUT, CONV3X3, CONV1X1, MAXPOOL3X3, OUTPUT]] * 2, np.uint8)
    kept, codes, sizes = prune(matrix, ops)
    assert sizes.tolist() == [4, 0]
    assert codes[0].tolist() == [INPUT, CONV1X1, MAXPOOL3X3, OUTPUT] + [NO_VERTEX] * 3
    assert np.argwhere(kept[0]).tolist() == [[0, 1], [1, 2], [2, 3]]
    assert not kept[1].any()
    with pytest.raises(HarnessError, match="cell 1 has no path from input to output"):
        fingerprints(matrix, ops)
    with pytest.raises(HarnessError, match="no path"):
        module_hash(matrix[1], ops[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m, o: (m.transpose(0, 2, 1), o), "cell 0 is not strictly upper triangular"),
        (lambda m, o: (m, o[:, :-1]), "need matrices"),
        (lambda m, o: (m, np.where(o == OUTPUT, CONV3X3, o)), "one output"),
        (lambda m, o: (m, np.where(o == CONV3X3, 9, o)), "known ops"),
        (lambda m, o: (m, np.where(o == CONV3X3, INPUT, o)), "second input"),
        (lambda m, o: (m, np.where(o == CONV3X3, NO_VERTEX, o)), "vertex that is not there"),
    ],
)
def test_arrays_that_are_no_cells_are_refused(change, message: str) -> None:
    matrices, ops = arrays(["101:conv3x3-bn-relu"])
    with pytest.raises(HarnessError, match=message):
        fingerprints(*change(matrices, ops))
