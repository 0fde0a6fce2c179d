"""Weights of mixed networks: how they come of parameters, and which architecture they stand for.

A *parameter* is any real number; `softmax` (DARTS) and `dirichlet` (DrNAS, Chen et al. 2021) make weights of
a row of them. Architectures are read off weights, not parameters: DARTS compares them across rows.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.spaces import darts, nb1shot1, nb201
from harness.spaces.graph_hash import OPS as BLOCK_OPS
from harness.supernet.nb1shot1_net import wiring
from harness.supernet.nb201_net import used

DARTS_OPS = ("none", *darts.OPS)  # the columns of weights in the DARTS space
S2 = ("skip_connect", "sep_conv_3x3")  # those of its smaller space S2 (Zela et al. 2019)
PARAMETER_FREE = ("none", "skip_connect", "avg_pool_3x3", "max_pool_3x3", "maxpool3x3")
SPREAD = 1e-3  # of parameters at the start


class CellWeights(NamedTuple):
    """DARTS: for each kind of cell fourteen edges, ordered by the node they end at, then by their input."""

    normal: Tensor
    reduce: Tensor


class BlockWeights(NamedTuple):
    """NAS-Bench-1Shot1: of blocks' operations, the output's parts, the inputs of blocks that choose."""

    ops: Tensor  # blocks x 3
    output: Tensor  # the cell's input, then the blocks
    inputs: tuple[Tensor, ...]  # the cell's input, then the blocks before


Weights = Tensor | CellWeights | BlockWeights


def nb201_shape() -> tuple[int, int]:
    return len(nb201.EDGES), len(nb201.OPS)


def choosing(number: int) -> tuple[int, ...]:
    """Of each block of the space that chooses among inputs, how many there are; the first read all."""
    nb1shot1.space(number)
    return tuple(v for v, parents in enumerate(nb1shot1.PARENTS[number][:-1], start=1) if parents < v)


def start(space: str, rng: np.random.Generator, ops: Sequence[str] = DARTS_OPS) -> Weights:
    """Parameters near zero, of nb201, darts or nb1shot1-1 to -3; `ops`: of darts."""

    def drawn(*shape: int) -> Tensor:
        return torch.from_numpy(SPREAD * rng.standard_normal(shape))

    if space == "nb201":
        return drawn(*nb201_shape())
    if space == "darts":
        return CellWeights(drawn(14, len(ops)), drawn(14, len(ops)))
    if space not in (names := [f"nb1shot1-{n}" for n in nb1shot1.PARENTS]):
        raise HarnessError(f"no mixed network of space {space!r}: nb201, darts, {', '.join(names)} have one")
    here = nb1shot1.space(int(space[-1]))
    inputs = tuple(drawn(n) for n in choosing(here.number))
    return BlockWeights(drawn(here.blocks, len(BLOCK_OPS)), drawn(here.blocks + 1), inputs)


def over(parameters: Weights, relax: Callable[[Tensor], Tensor]) -> Weights:
    """A function of rows, such as `softmax`, on every tensor of the parameters."""
    if isinstance(parameters, Tensor):
        return relax(parameters)
    return type(parameters)(
        *(tuple(map(relax, part)) if isinstance(part, tuple) else relax(part) for part in parameters)
    )


def softmax(parameters: Tensor) -> Tensor:
    """The weights of DARTS: each row sums to 1."""
    return _finite(parameters).softmax(dim=-1)


def concentration(parameters: Tensor) -> Tensor:
    """DrNAS': positive, 1 where the parameter is 0."""
    return functional.elu(_finite(parameters)) + 1


def dirichlet(parameters: Tensor, rng: np.random.Generator) -> Tensor:
    """A draw of each row from DrNAS' distribution, with a gradient; torch's own stream stays as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**62)))
        return torch.distributions.Dirichlet(concentration(parameters)).rsample()


def dirichlet_mean(parameters: Tensor) -> Tensor:
    """What draws are on average: the weights by which DrNAS chooses in the end."""
    found = concentration(parameters)
    return found / found.sum(dim=-1, keepdim=True)


def nb201_architecture(weights: Tensor) -> str:
    """Each edge's heaviest operation, `none` included; of equals the first."""
    rows = _heaviest(checked(weights, nb201_shape(), "NAS-Bench-201"))
    return nb201.from_digits("".join(map(str, rows)))


def darts_genotype(weights: CellWeights, ops: Sequence[str] = DARTS_OPS) -> str:
    """Each node's two edges with the heaviest operations, `none` left out; of equals the first."""
    kept = [column for column, op in enumerate(ops) if op != "none"]
    cells = []
    for own in checked_cells(weights, ops):
        rows, first = _numbers(own)[:, kept], 0
        cell: list[darts.Edge] = []
        for node in (2, 3, 4, 5):
            here, first = rows[first : first + node], first + node
            strongest = sorted(np.argsort(-here.max(axis=1), kind="stable")[:2].tolist())
            cell += [(ops[kept[int(here[source].argmax())]], source) for source in strongest]
        cells.append(tuple(cell))
    return str(darts.Genotype(*cells))


def nb1shot1_architecture(weights: BlockWeights, number: int) -> str:
    """Each block's heaviest operation and its heaviest parents, as many as it has; of equals the first."""
    weights, wanted = checked_blocks(weights, number), nb1shot1.PARENTS[number]
    fixed = [torch.ones(v) for v in range(1, len(wanted) - len(weights.inputs))]
    parents = []
    for row, count in zip([*fixed, *weights.inputs, weights.output], wanted, strict=True):
        strongest = np.argsort(-_numbers(row), kind="stable")[:count]
        parents.append(",".join(map(str, sorted(strongest.tolist()))))
    ops = (BLOCK_OPS[op] for op in _heaviest(weights.ops))
    return f"{';'.join(parents)}|{','.join(ops)}"


def of_nb201(arch: str) -> Tensor:
    """The weights, 0 and 1, with which a mixed network is this architecture; so the next two."""
    return torch.eye(len(nb201.OPS), dtype=torch.float64)[[int(digit) for digit in nb201.digits(arch)]]


def of_darts(arch: str, ops: Sequence[str] = DARTS_OPS) -> CellWeights:
    """See `of_nb201`."""
    genotype, cells = darts.parse(arch), []
    for edges in (genotype.normal, genotype.reduce):
        rows = torch.zeros(14, len(ops), dtype=torch.float64)
        for i, (op, source) in enumerate(edges):
            node = i // 2  # the nodes before have 2 + 3 + ... edges
            rows[node * (node + 3) // 2 + source, ops.index(op)] = 1
        cells.append(rows)
    return CellWeights(*cells)


def of_nb1shot1(arch: str, number: int) -> BlockWeights:
    """See `of_nb201`; a block's parents have weight 1 each."""
    groups, ops = nb1shot1.space(number).validate(arch).split("|")
    rows = []
    for vertex, group in enumerate(groups.split(";"), start=1):
        rows.append(torch.zeros(vertex, dtype=torch.float64))
        rows[-1][list(map(int, group.split(",")))] = 1
    chosen = torch.eye(len(BLOCK_OPS), dtype=torch.float64)[[BLOCK_OPS.index(op) for op in ops.split(",")]]
    return BlockWeights(chosen, rows[-1], tuple(rows[len(rows) - 1 - len(choosing(number)) : -1]))


def skips(ops: Sequence[str]) -> int:
    """How many of these operations are skip connections."""
    return sum(op == "skip_connect" for op in ops)


def parameter_free(ops: Sequence[str]) -> int:
    """How many have no weights; a skip over a stride counts too, though it has some."""
    return sum(op in PARAMETER_FREE for op in ops)


def nb201_depth(arch: str) -> int:
    """Edges on the longest way from the cell's input to its output; 0 if there is none. Skips count."""
    reached = [0] * 4
    for edge in sorted(used(nb201.digits(arch))):
        origin, target = nb201.EDGES[edge]
        reached[target] = max(reached[target], reached[origin] + 1)
    return reached[3]


def darts_depth(cell: Sequence[darts.Edge]) -> int:
    """Of one cell, with the edge to its output: 2 to 5 (Shu et al. 2020)."""
    reached = [0, 0]
    for i in range(0, len(cell), 2):
        reached.append(1 + max(reached[origin] for _, origin in cell[i : i + 2]))
    return 1 + max(reached)


def nb1shot1_depth(arch: str, number: int) -> int:
    """Edges on the longest way from the cell's input to its output; loose ends do not count."""
    wired, reached = wiring(arch, number), {0: 0}
    for block, parents in wired.parents.items():
        reached[block] = 1 + max(reached[parent] for parent in parents)
    return 1 + max(reached[parent] for parent in wired.output)


def checked(weights: Tensor, shape: tuple[int, ...], where: str) -> Tensor:
    """The weights if a mixed network can use them."""
    if not isinstance(weights, Tensor) or tuple(weights.shape) != shape:
        given = tuple(weights.shape) if isinstance(weights, Tensor) else type(weights).__name__
        raise HarnessError(
            f"mixed network, weights of {where}: {given} given, give a tensor of shape {shape}"
        )
    if not weights.dtype.is_floating_point:
        raise HarnessError(f"mixed network, weights of {where}: {weights.dtype} given, give floating point")
    return _finite(weights, f"mixed network, weights of {where}")


def checked_cells(weights: CellWeights, ops: Sequence[str]) -> CellWeights:
    """`checked` for both kinds of DARTS' cells."""
    if not isinstance(weights, CellWeights):
        given = type(weights).__name__
        raise HarnessError(f"mixed network, weights of DARTS: {given} given, give CellWeights")
    return CellWeights(
        *(
            checked(own, (14, len(ops)), f"DARTS' {kind} cell")
            for own, kind in zip(weights, CellWeights._fields, strict=True)
        )
    )


def checked_blocks(weights: BlockWeights, number: int) -> BlockWeights:
    """`checked` for all of a NAS-Bench-1Shot1 space's."""
    where, blocks = f"NAS-Bench-1Shot1 space {number}", nb1shot1.space(number).blocks
    if not isinstance(weights, BlockWeights) or len(weights.inputs) != len(choosing(number)):
        given = (
            f"{len(weights.inputs)} inputs" if isinstance(weights, BlockWeights) else type(weights).__name__
        )
        need = f"BlockWeights with those of {len(choosing(number))} blocks' inputs"
        raise HarnessError(f"mixed network, weights of {where}: {given} given, give {need}")
    return BlockWeights(
        checked(weights.ops, (blocks, len(BLOCK_OPS)), f"{where}, operations"),
        checked(weights.output, (blocks + 1,), f"{where}, output"),
        tuple(
            checked(row, (size,), f"{where}, inputs of block {size}")
            for row, size in zip(weights.inputs, choosing(number), strict=True)
        ),
    )


def _finite(values: Tensor, where: str = "architecture parameters") -> Tensor:
    if not bool(values.isfinite().all()):
        place = (~values.isfinite()).nonzero()[0].tolist()
        raise HarnessError(
            f"{where}: {values[tuple(place)].item()} at {place}: "
            "the search diverged there, lower its learning rate or look at the loss before"
        )
    return values


def _numbers(weights: Tensor) -> np.ndarray:
    return weights.detach().numpy()


def _heaviest(rows: Tensor) -> list[int]:
    return _numbers(rows).argmax(axis=1).tolist()
