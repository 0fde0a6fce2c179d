"""Names of NAS-Bench-101 cells up to isomorphism: its md5 module hash, and an exact 64-bit fingerprint.

Many cells at once are two arrays, as in the benchmark's own tables: `matrices` (n, V, V) with V <= 7,
strictly upper triangular, and `ops` (n, V) of the codes below; vertex 0 is the input, the one coded OUTPUT
the output.

The fingerprint is the position of a cell in the order in which the benchmark generated its cells: number of
vertices, then the edge bits read column by column, then the ops as base-3 digits; the smallest over all
relabellings. So it is invariant and free of collisions, and `cells` gives back the very cell that the
benchmark trained. That matters: isomorphic cells can differ by 1 % of their parameters, because what is
left over of an uneven split of channels goes to the vertices with the lowest numbers.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations

import numpy as np

from harness.base.errors import HarnessError

INPUT, OUTPUT, CONV3X3, CONV1X1, MAXPOOL3X3, NO_VERTEX = 0, 1, 2, 3, 4, 255
OPS = ("conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3")
MAX_VERTICES, MAX_EDGES = 7, 9

_EDGES = [(i, j) for j in range(MAX_VERTICES) for i in range(j)]  # column by column, whatever the size
_LABEL_BITS, _EDGE_BITS = 8, len(_EDGES)
_BACKWARD = 2.0**45  # above every key, and sums of keys stay exact in float64
_CHUNK = 1 << 15  # cells at a time: the matrix of all relabellings stays below 32 MB


def prune(matrices: np.ndarray, ops: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Only the vertices on a path from input to output, moved to the front: matrices, ops, vertices.

    A cell without such a path has 0 vertices.
    """
    matrices, ops = _padded(np.asarray(matrices), np.asarray(ops))
    rows = np.arange(len(ops))
    forward = np.zeros(ops.shape, bool)
    forward[:, 0] = True
    for vertex in range(1, MAX_VERTICES):
        forward[:, vertex] = (forward & matrices[:, :, vertex]).any(axis=1)
    keep = ops == OUTPUT
    for vertex in range(MAX_VERTICES - 2, -1, -1):
        keep[:, vertex] |= (keep & matrices[:, vertex, :]).any(axis=1)
    keep &= forward & keep[:, :1]
    order = np.argsort(~keep, axis=1, kind="stable")
    keep = np.take_along_axis(keep, order, axis=1)
    matrices = matrices[rows[:, None, None], order[:, :, None], order[:, None, :]]
    matrices &= keep[:, :, None] & keep[:, None, :]
    ops = np.where(keep, np.take_along_axis(ops, order, axis=1), NO_VERTEX).astype(np.uint8)
    return matrices.astype(np.uint8), ops, keep.sum(axis=1)


def fingerprints(matrices: np.ndarray, ops: np.ndarray) -> np.ndarray:
    """One uint64 per cell (pruned first): equal exactly for isomorphic cells."""
    matrices, ops = np.asarray(matrices), np.asarray(ops)
    found = np.empty(len(ops), np.uint64)
    for start in range(0, len(ops), _CHUNK):
        part = slice(start, start + _CHUNK)
        edges, codes, sizes = prune(matrices[part], ops[part])
        if (sizes == 0).any():
            row = start + int(np.argmin(sizes))
            raise HarnessError(f"cell {row} has no path from input to output: give connected cells only")
        for size in np.unique(sizes).tolist():
            mine = np.flatnonzero(sizes == size)
            keys = _smallest_keys(edges[mine], codes[mine], size) | size << (_EDGE_BITS + _LABEL_BITS)
            found[start + mine] = keys.astype(np.uint64)
    return found


def _smallest_keys(matrices: np.ndarray, ops: np.ndarray, size: int) -> np.ndarray:
    """The smallest key among all relabellings of pruned cells of one size, tried once for equal cells."""
    edges = np.stack([matrices[:, i, j] for i, j in _edges(size)], axis=1).astype(float)
    labels = ops[:, 1 : size - 1].astype(float) - CONV3X3
    weights, digits = _relabellings(size)
    given = edges @ weights[:, 0] + labels @ digits[:, 0]
    _, first, inverse = np.unique(given, return_index=True, return_inverse=True)
    return (edges[first] @ weights + labels[first] @ digits).min(axis=1).astype(np.int64)[inverse]


def cells(prints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cells that the benchmark trained for these fingerprints, as (n, 7, 7) matrices and (n, 7) ops."""
    prints = np.asarray(prints, np.uint64).astype(np.int64)
    sizes = prints >> (_EDGE_BITS + _LABEL_BITS)
    matrices = np.zeros((len(prints), MAX_VERTICES, MAX_VERTICES), np.uint8)
    for bit, (i, j) in enumerate(_EDGES):
        matrices[:, i, j] = prints >> (bit + _LABEL_BITS) & 1
    ops = np.full((len(prints), MAX_VERTICES), NO_VERTEX, np.uint8)
    ops[:, 0] = INPUT
    ops[np.arange(len(prints)), sizes - 1] = OUTPUT
    labels = prints & ((1 << _LABEL_BITS) - 1)
    for vertex in range(1, MAX_VERTICES - 1):
        inner = vertex < sizes - 1
        digit = labels // 3 ** np.maximum(sizes - 2 - vertex, 0) % 3
        ops[inner, vertex] = CONV3X3 + digit[inner]
    return matrices, ops


@lru_cache(maxsize=1)
def all_fingerprints() -> np.ndarray:
    """Every distinct cell of at most 7 vertices and 9 edges, ascending and read-only; made from nothing."""
    found = []
    for size in range(2, MAX_VERTICES + 1):
        bits = np.arange(1 << len(_edges(size)))
        bits = bits[np.bitwise_count(bits) <= MAX_EDGES]
        for vertex in range(size):  # no vertex without a way in (but the input) or a way out (but the output)
            for side, other in ((0, 0), (1, size - 1)):
                mask = sum(1 << bit for bit, edge in enumerate(_edges(size)) if edge[1 - side] == vertex)
                bits = bits if vertex == other else bits[bits & mask != 0]
        plain = size << (_EDGE_BITS + _LABEL_BITS) | bits << _LABEL_BITS
        wirings = np.unique(fingerprints(*cells(plain)))
        labelled = wirings[:, None] | np.arange(3 ** (size - 2), dtype=np.uint64)
        found.append(np.unique(fingerprints(*cells(labelled.ravel()))))
    every = np.concatenate(found)
    every.setflags(write=False)
    return every


def module_hash(matrix: np.ndarray, ops: Sequence[int]) -> str:
    """The benchmark's key of a cell: 32 hexadecimal digits of md5, iterated over its vertices' neighbours."""
    matrices, codes, sizes = prune(np.asarray(matrix)[None], np.asarray(ops)[None])
    size = int(sizes[0])
    if size == 0:
        raise HarnessError("the cell has no path from input to output: it has no module hash")
    edges = matrices[0, :size, :size].astype(bool)
    labels = [-1, *(int(code) - CONV3X3 for code in codes[0, 1 : size - 1]), -2]
    names = [_md5(str((int(edges[v].sum()), int(edges[:, v].sum()), labels[v]))) for v in range(size)]
    for _ in range(size):
        names = [
            _md5("|".join([_sorted(names, edges[:, v]), _sorted(names, edges[v]), names[v]]))
            for v in range(size)
        ]
    return _md5(str(sorted(names)))


def _sorted(names: list[str], chosen: np.ndarray) -> str:
    return "".join(sorted(names[w] for w in np.flatnonzero(chosen)))


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _edges(size: int) -> list[tuple[int, int]]:
    return _EDGES[: size * (size - 1) // 2]


@lru_cache(maxsize=MAX_VERTICES)
def _relabellings(size: int) -> tuple[np.ndarray, np.ndarray]:
    """What each edge and each op adds to the key in every order of inner vertices, the given one first."""
    orders = [(0, *inner, size - 1) for inner in permutations(range(1, size - 1))]
    weights = np.full((len(_edges(size)), len(orders)), _BACKWARD)
    digits = np.zeros((size - 2, len(orders)))
    for column, order in enumerate(orders):
        for row, (i, j) in enumerate(_edges(size)):
            source, target = order[i], order[j]
            if source < target:
                weights[row, column] = 2.0 ** (_LABEL_BITS + source + target * (target - 1) // 2)
        for vertex in range(1, size - 1):
            digits[vertex - 1, column] = 3.0 ** (size - 2 - order[vertex])
    return weights, digits


def _padded(matrices: np.ndarray, ops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Boolean (n, 7, 7) and codes (n, 7), or an error for what is no strictly upper triangular cell."""
    if matrices.ndim != 3 or matrices.shape != (*ops.shape, ops.shape[-1]) or ops.shape[-1] > MAX_VERTICES:
        raise HarnessError(
            f"cells need matrices (n, V, V) and ops (n, V) with V <= 7, not {matrices.shape} and {ops.shape}"
        )
    if np.tril(matrices).any():
        row = int(np.argmax(np.tril(matrices).any(axis=(1, 2))))
        raise HarnessError(
            f"cell {row} is not strictly upper triangular: number its vertices along its edges"
        )
    unknown = (ops > MAXPOOL3X3) & (ops != NO_VERTEX)
    if (ops[:, 0] != INPUT).any() or ((ops == OUTPUT).sum(axis=1) != 1).any() or unknown.any():
        raise HarnessError(
            "each cell needs the input as vertex 0, one output, and known ops: correct its codes"
        )
    if (ops[:, 1:] == INPUT).any() or (
        (ops == NO_VERTEX) & (matrices.any(axis=1) | matrices.any(axis=2))
    ).any():
        raise HarnessError(
            "a cell has a second input, or edges at a vertex that is not there: correct its codes"
        )
    spare = MAX_VERTICES - ops.shape[-1]
    edges = np.pad(matrices != 0, ((0, 0), (0, spare), (0, spare)))
    return edges, np.pad(ops, ((0, 0), (0, spare)), constant_values=NO_VERTEX)
