"""NAS-Bench-101 cells to test with: the benchmark's own, random ones, and relabelled ones."""

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np
import pytest
from support import real_data

from harness.base.errors import HarnessError
from harness.spaces.nb101 import SPACE, decode, encode, sample_specs


def benchmark_cells() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hashes, matrices and ops of all cells in the benchmark's order."""
    with np.load(real_data("benchmarks/nb101/nb101_archs_by_hash.npz")) as file:
        return file["hash"], file["adjacency"], file["ops"]


def benchmark_costs() -> tuple[np.ndarray, np.ndarray]:
    """Parameters and FLOPs of the same cells."""
    with np.load(real_data("benchmarks/nb101/nb101_table.npz")) as file:
        return file["params"], file["flops_thop"]


def specs(seed: int, n: int = 1) -> list[str]:
    """Seven vertices as given, loose ends included."""
    return sample_specs(n, np.random.default_rng(seed))


def distinct(seed: int, n: int = 200) -> list[str]:
    """Pruned cells, all different."""
    return SPACE.sample(n, np.random.default_rng(seed))


def relabelled(arch: str, seed: int) -> str:
    """The same cell with its inner vertices in another order that keeps the matrix upper triangular."""
    matrix, ops = np.array(decode(arch)[0]), decode(arch)[1]
    orders = [(0, *inner, len(ops) - 1) for inner in permutations(range(1, len(ops) - 1))]
    for column in np.random.default_rng(seed).permutation(len(orders)):
        order = list(orders[column])
        if not np.tril(matrix[np.ix_(order, order)]).any():
            return encode(matrix[np.ix_(order, order)], [ops[v] for v in order])
    raise AssertionError("the given order is always possible")


def refused(questions: Sequence[Callable], arch: object, message: str) -> None:
    """Each question about this architecture ends with the same defect, in one sentence."""
    for question in questions:
        with pytest.raises(HarnessError, match=message) as error:
            question(arch)
        assert "\n" not in str(error.value)
