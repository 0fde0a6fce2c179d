"""NAS-Bench-101: every cell of at most 7 vertices and 9 edges with three ops, nine times in a fixed skeleton.

Ying et al. 2019. An architecture is `bits:ops`: the upper triangle of the adjacency matrix row by row, then
one op for each vertex between input and output, as in `101:conv3x3-bn-relu`. Vertices that are on no path
from input to output are allowed and do nothing. What is counted and built belongs to the isomorphic cell
that the benchmark trained (`trained`), so that relabelling a cell changes neither its parameters nor its
network.
FLOPs are those of the table's `flops_thop`: one per multiply-accumulate of the convolutions and of the
classifier (without its bias) and two per output of a batch norm; ReLU, pooling and sums count nothing.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from harness.base.errors import HarnessError
from harness.spaces.common import draw, unknown
from harness.spaces.graph_hash import (
    CONV1X1,
    CONV3X3,
    INPUT,
    MAX_EDGES,
    MAX_VERTICES,
    NO_VERTEX,
    OPS,
    OUTPUT,
    all_fingerprints,
    cells,
    fingerprints,
    module_hash,
    prune,
)

if TYPE_CHECKING:
    import torch

STEM, STACKS, MODULES, CLASSES, SIDE = 128, 3, 3, 10, 32
SIZE = 423_624  # cells in the benchmark; a test counts them from nothing

_TRIANGLES = {size * (size - 1) // 2: size for size in range(2, MAX_VERTICES + 1)}
_CODES = {
    ",".join(OPS[label] for label in labels): [INPUT, *(CONV3X3 + label for label in labels), OUTPUT]
    for inner in range(MAX_VERTICES - 1)
    for labels in product(range(len(OPS)), repeat=inner)
}


def arrays(archs: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The cells as given, as (n, 7, 7) matrices and (n, 7) op codes (see graph_hash); a bad one is named."""
    ops = np.full((len(archs), MAX_VERTICES), NO_VERTEX, np.uint8)
    padded, sizes = [], np.empty(len(archs), np.int64)
    for row, arch in enumerate(archs):
        bits, colon, names = arch.partition(":") if isinstance(arch, str) else ("", "", "")
        codes = _CODES.get(names) if colon else None
        if codes is None or _TRIANGLES.get(len(bits)) != len(codes) or bits.strip("01"):
            raise _defect(arch)
        sizes[row], ops[row, : len(codes)] = len(codes), codes
        padded.append(bits.ljust(21))
    bits = np.frombuffer("".join(padded).encode(), np.uint8).reshape(-1, 21) == ord("1")
    matrices = np.zeros((len(archs), MAX_VERTICES, MAX_VERTICES), np.uint8)
    for size in np.unique(sizes):
        mine = np.flatnonzero(sizes == size)
        upper = np.triu_indices(size, 1)
        matrices[mine[:, None], upper[0], upper[1]] = bits[mine, : len(upper[0])]
    kept, _, vertices = prune(matrices, ops)
    bad = (vertices == 0) | (kept.sum(axis=(1, 2)) > MAX_EDGES)
    if bad.any():
        raise _defect(archs[int(np.argmax(bad))])
    return matrices, ops


def strings(matrices: np.ndarray, ops: np.ndarray) -> list[str]:
    """The architecture strings of cells given as arrays."""
    matrices, ops = np.asarray(matrices), np.asarray(ops)
    names: list[str] = [""] * len(ops)
    sizes = (ops != NO_VERTEX).sum(axis=1)
    for size in np.unique(sizes):
        mine = np.flatnonzero(sizes == size)
        upper = np.triu_indices(size, 1)
        bits = (matrices[mine[:, None], upper[0], upper[1]] + ord("0")).astype(np.uint8).tobytes().decode()
        for n, (row, codes) in enumerate(zip(mine.tolist(), ops[mine, 1 : size - 1].tolist(), strict=True)):
            edges = bits[n * len(upper[0]) : (n + 1) * len(upper[0])]
            names[row] = f"{edges}:{','.join([OPS[code - CONV3X3] for code in codes])}"
    return names


def encode(matrix: Sequence[Sequence[int]] | np.ndarray, ops: Sequence[str]) -> str:
    """The architecture string of what the benchmark's ModelSpec takes: matrix and `input`, ops, `output`."""
    edges, named = np.asarray(matrix), list(ops)
    if edges.ndim != 2 or edges.shape != (len(named), len(named)):
        raise HarnessError(
            f"the matrix is {edges.shape} with {len(named)} ops: give one row and column per op"
        )
    if np.tril(edges).any():
        raise HarnessError("the matrix is not strictly upper triangular: number the vertices along the edges")
    if not np.isin(edges, (0, 1)).all():
        raise HarnessError("the matrix holds other values than 0 and 1: give 1 for an edge and 0 for none")
    if len(named) < 2 or named[0] != "input" or named[-1] != "output":
        raise HarnessError("the ops of a cell begin with 'input' and end with 'output': add them")
    bits = "".join(str(int(bit)) for bit in edges[np.triu_indices(len(named), 1)])
    return validate(f"{bits}:{','.join(named[1:-1])}")


def decode(arch: str) -> tuple[list[list[int]], list[str]]:
    """Matrix and ops in the benchmark's own form, the cell as given."""
    matrices, ops = arrays([arch])
    size = int((ops[0] != NO_VERTEX).sum())
    names = [OPS[code - CONV3X3] for code in ops[0, 1 : size - 1]]
    return matrices[0, :size, :size].tolist(), ["input", *names, "output"]


def validate(arch: str) -> str:
    """The string itself, without spaces."""
    arch = re.sub(r"\s", "", arch) if isinstance(arch, str) else arch
    arrays([arch])
    return arch


def trained(arch: str) -> str:
    """The isomorphic cell that the benchmark trained, pruned."""
    return strings(*cells(fingerprints(*arrays([arch]))))[0]


def sample_specs(n: int, rng: np.random.Generator) -> list[str]:
    """n draws of the benchmark's own random search: seven vertices, fair edges and ops, again until valid.

    Not uniform over cells (those with many labellings come more often), and repeats are possible.
    """
    drawn: list[str] = []
    while len(drawn) < n:
        matrices = np.triu(rng.integers(2, size=(4 * n, MAX_VERTICES, MAX_VERTICES)), 1).astype(np.uint8)
        ops = rng.integers(CONV3X3, CONV3X3 + len(OPS), size=(4 * n, MAX_VERTICES)).astype(np.uint8)
        ops[:, 0], ops[:, -1] = INPUT, OUTPUT
        kept, _, vertices = prune(matrices, ops)
        valid = (vertices > 0) & (kept.sum(axis=(1, 2)) <= MAX_EDGES)
        drawn += strings(matrices[valid], ops[valid])
    return drawn[:n]


def vertex_channels(matrices: np.ndarray, width: int) -> np.ndarray:
    """Channels of the inner vertices of pruned cells whose output has `width`: (n, 7), zero for all others.

    What is concatenated shares the width, the first ones taking what is left over; every other vertex takes
    the most that any of its successors has.
    """
    rows, output = np.arange(len(matrices)), matrices.any(axis=1).sum(axis=1)
    joined = matrices[rows, :, output] != 0
    joined[:, 0] = False
    parts = np.maximum(joined.sum(axis=1), 1)[:, None]
    spare = np.cumsum(joined, axis=1) <= width % parts
    channels = np.where(joined, width // parts + spare, 0)
    for vertex in range(MAX_VERTICES - 2, 0, -1):
        most = (channels * matrices[:, vertex, :]).max(axis=1)
        channels[:, vertex] = np.where(joined[:, vertex], channels[:, vertex], most)
    return channels


def counts(prints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parameters and FLOPs of the networks of the cells with these fingerprints."""
    prints, inverse = np.unique(prints, return_inverse=True)
    matrices, ops = cells(prints)
    rows, output = np.arange(len(ops)), (ops != NO_VERTEX).sum(axis=1) - 1
    area = np.select([ops == CONV3X3, ops == CONV1X1], [9, 1], 0)
    direct = matrices[rows, 0, output].astype(np.int64)
    inputs, pixels = STEM, SIDE * SIDE
    params = np.full(len(ops), 3 * 9 * STEM + 2 * STEM)
    flops = np.full(len(ops), (3 * 9 * STEM + 2 * STEM) * pixels)
    for stack in range(STACKS):
        width = STEM << stack
        channels = vertex_channels(matrices, width)
        projected = (matrices[:, 0] * channels).sum(axis=1) + direct * width
        inner = (area * channels**2).sum(axis=1)
        norms = projected + (channels * (area > 0)).sum(axis=1)
        for _ in range(MODULES):
            weights = inner + inputs * projected + 2 * norms  # gamma and beta; in FLOPs, two per output
            params += weights
            flops += weights * pixels
            inputs = width
        pixels //= 4
    params, flops = params + (inputs + 1) * CLASSES, flops + inputs * CLASSES
    return params[inverse], flops[inverse]


def on_cifar10(space: str, dataset: str) -> None:
    """Refuse every other data set."""
    if dataset != "cifar10":
        raise unknown(f"dataset of {space}", dataset, ["cifar10"])


def _defect(arch: object) -> HarnessError:
    """Why this is no architecture; called only when something is wrong with it."""
    if not isinstance(arch, str):
        return HarnessError(f"an nb101 architecture is a string, not {type(arch).__name__}")
    where = f"nb101 architecture {arch!r}"
    bits, colon, names = arch.partition(":")
    ops = names.split(",") if names else []
    if not colon:
        return HarnessError(f"{where} has no ':' between its edges and its ops")
    if re.search("[^01]", bits):
        return HarnessError(f"{where}: the edges before ':' must be written with 0 and 1 only")
    if len(ops) > MAX_VERTICES - 2:
        return HarnessError(f"{where} has {len(ops) + 2} vertices where {MAX_VERTICES} are the most")
    for op in ops:
        if op not in OPS:
            return HarnessError(f"{where}: {unknown('op', op, OPS)}")
    size = len(ops) + 2
    if len(bits) != size * (size - 1) // 2:
        need = f"{size} vertices ({len(ops)} ops) need {size * (size - 1) // 2}"
        return HarnessError(f"{where} has {len(bits)} edge bits where {need}")
    matrix = np.zeros((1, size, size), np.uint8)
    matrix[0][np.triu_indices(size, 1)] = [int(bit) for bit in bits]
    kept, _, vertices = prune(matrix, np.array([_CODES[names]], np.uint8))
    if not vertices[0]:
        return HarnessError(f"{where} has no path from input to output")
    return HarnessError(
        f"{where} has {kept.sum()} edges between input and output where {MAX_EDGES} are the most"
    )


class NB101:
    """The `Space` of NAS-Bench-101."""

    name = "nb101"
    datasets = ("cifar10",)
    size = SIZE

    def sample(self, n: int, rng: np.random.Generator) -> list[str]:
        """Uniform over the 423,624 distinct cells (`sample_specs` is the benchmark's own random search)."""
        return strings(*cells(all_fingerprints()[draw(n, self.size, rng)]))

    def enumerate(self) -> Iterator[str]:
        """The distinct cells in the order in which the benchmark generated them."""
        return iter(strings(*cells(all_fingerprints())))

    def canonical(self, arch: str) -> str:
        """The benchmark's module hash."""
        matrices, ops = arrays([arch])
        return module_hash(matrices[0], ops[0])

    def validate(self, arch: str) -> str:
        return validate(arch)

    def fingerprints(self, archs: Sequence[str]) -> np.ndarray:
        return fingerprints(*arrays(archs))

    def params(self, arch: str, dataset: str) -> int:
        return int(self.params_of([arch], dataset)[0])

    def flops(self, arch: str, dataset: str) -> int:
        return int(self.flops_of([arch], dataset)[0])

    def params_of(self, archs: Sequence[str], dataset: str) -> np.ndarray:
        on_cifar10(self.name, dataset)
        return counts(self.fingerprints(archs))[0]

    def flops_of(self, archs: Sequence[str], dataset: str) -> np.ndarray:
        on_cifar10(self.name, dataset)
        return counts(self.fingerprints(archs))[1]

    def build(self, arch: str, dataset: str) -> "torch.nn.Module":
        from harness.spaces.nb101_net import network

        on_cifar10(self.name, dataset)
        return network(trained(arch))


SPACE = NB101()
