"""The DARTS space: a normal and a reduction cell of four nodes, each the sum of two ops on earlier nodes.

Counting rule (Liu et al. 2019; thesis Table 3.1 prints 10^18): node i of a cell picks an unordered pair of
distinct earlier nodes, C(2,2)·C(3,2)·C(4,2)·C(5,2) = 180 ways, and one of the 7 non-zero ops for each of its
eight edges: 180·7^8 cells, squared for the two kinds = 1,076,746,950,455,072,400 = 1.08·10^18.

Costs are those of NAS-Bench-301's training network (32 channels, 8 layers) unless said otherwise. Its
auxiliary head is trained but not counted, as in DARTS' own counts. NAS-Bench-301 publishes no FLOPs; they
follow NAS-Bench-201: one per multiply-accumulate of convolutions and classifier, its bias one more each.
"""

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from harness.base.errors import HarnessError
from harness.spaces.common import Task, draw, task, unknown

if TYPE_CHECKING:
    import torch

OPS = (
    "max_pool_3x3",
    "avg_pool_3x3",
    "skip_connect",
    "sep_conv_3x3",
    "sep_conv_5x5",
    "dil_conv_3x3",
    "dil_conv_5x5",
)
CHANNELS, LAYERS = 32, 8  # NAS-Bench-301; DARTS itself trains 36 channels and 20 layers on CIFAR-10
TASKS = {"cifar10": Task(10, 32)}
_PAIRS = tuple(tuple(itertools.combinations(range(node), 2)) for node in (2, 3, 4, 5))
_CELLS = 180 * len(OPS) ** 8

Edge = tuple[str, int]  # op, the node it reads: 0 and 1 are the two cells before, 2 to 5 the cell's own nodes


@dataclass(frozen=True)
class Genotype:
    """Two cells of eight edges, two per node; the two edges of a node are in the order of their inputs."""

    normal: tuple[Edge, ...]
    reduce: tuple[Edge, ...]

    def __str__(self) -> str:
        concat = "[2, 3, 4, 5]"
        return (
            f"Genotype(normal={list(self.normal)}, normal_concat={concat}, "
            f"reduce={list(self.reduce)}, reduce_concat={concat})"
        )


def parse(arch: str) -> Genotype:
    """Read the text of a DARTS Genotype; nothing in it is executed."""
    fields = _fields(arch)
    for name in ("normal_concat", "reduce_concat"):
        if fields[name] != [2, 3, 4, 5]:
            raise HarnessError(f"darts genotype: {name} must be [2, 3, 4, 5], not {fields[name]!r}")
    return Genotype(_cell("normal", fields["normal"]), _cell("reduce", fields["reduce"]))


def _fields(arch: str) -> dict[str, object]:
    if not isinstance(arch, str):
        raise HarnessError(f"a darts architecture is a string, not {type(arch).__name__}")
    if len(arch) > 5000:  # a thousand at most are needed; deep nesting would exhaust the parser
        raise HarnessError(f"darts genotype: {len(arch)} characters are too many for a Genotype")
    try:
        call = ast.parse(arch.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise HarnessError(f"darts genotype {arch[:60]!r} cannot be read: {error}") from None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Genotype"):
        raise HarnessError(f"darts genotype {arch[:60]!r} must have the form Genotype(normal=…, …)")
    needed = ["normal", "normal_concat", "reduce", "reduce_concat"]
    given = sorted(str(word.arg) for word in call.keywords)
    if call.args or given != needed:
        raise HarnessError(
            f"darts genotype: needs exactly the fields {', '.join(needed)}, has {', '.join(given)}"
        )
    return {str(word.arg): _literal(str(word.arg), word.value) for word in call.keywords}


def _literal(name: str, node: ast.expr) -> object:
    try:
        # The DARTS code prints its concat as range(2, 6).
        return [2, 3, 4, 5] if ast.unparse(node) == "range(2, 6)" else ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        raise HarnessError(f"darts genotype: field {name} must be a plain list") from None


def _cell(name: str, edges: object) -> tuple[Edge, ...]:
    where = f"darts genotype: {name} cell"
    if not isinstance(edges, list) or len(edges) != 8:
        count = len(edges) if isinstance(edges, list) else type(edges).__name__
        raise HarnessError(f"{where} must be a list of 8 edges, not {count}")
    for index, edge in enumerate(edges):
        node = 2 + index // 2
        if not (
            isinstance(edge, tuple) and len(edge) == 2 and isinstance(edge[0], str) and type(edge[1]) is int
        ):
            raise HarnessError(f"{where}: edge {index} must be an op and an input, not {edge!r}")
        if edge[0] not in OPS:
            raise HarnessError(f"{where}: edge {index}: {unknown('op', edge[0], OPS)}")
        if not 0 <= edge[1] < node:
            raise HarnessError(f"{where}: node {node} cannot read input {edge[1]}: valid are 0 to {node - 1}")
    pairs = [tuple(sorted(edges[i : i + 2], key=lambda edge: edge[1])) for i in range(0, 8, 2)]
    for node, (first, second) in enumerate(pairs, start=2):
        if first[1] == second[1]:
            raise HarnessError(
                f"{where}: node {node} reads input {first[1]} twice: two different inputs are needed"
            )
    return tuple(edge for pair in pairs for edge in pair)


def from_pairs(text: str) -> str:
    """The Genotype of a list-of-pairs encoding: two lists (normal, reduction) of (input, index into OPS)."""
    try:
        normal, reduction = (
            [(OPS[op] if op >= 0 else op, source) for source, op in cell] for cell in ast.literal_eval(text)
        )
    except (ValueError, TypeError, SyntaxError, IndexError, RecursionError, MemoryError) as error:
        raise HarnessError(f"{str(text)[:60]!r} is no pair of lists of (input, op index): {error}") from None
    return str(Genotype(_cell("normal", normal), _cell("reduce", reduction)))


def canonical(arch: str) -> str:
    """The smallest of the genotypes that differ only in the order of a cell's nodes.

    Such networks are equal up to the order of channels in a cell's output.
    """
    genotype = parse(arch)
    return str(Genotype(_smallest(genotype.normal), _smallest(genotype.reduce)))


def _smallest(cell: tuple[Edge, ...]) -> tuple[Edge, ...]:
    found = []
    for order in itertools.permutations((2, 3, 4, 5)):
        new = {0: 0, 1: 1, **{old: 2 + place for place, old in enumerate(order)}}
        edges: list[Edge] = []
        for old in order:
            pair = [(op, new[source]) for op, source in cell[2 * old - 4 : 2 * old - 2]]
            if all(source < new[old] for _, source in pair):
                edges += sorted(pair, key=lambda edge: edge[1])
        if len(edges) == 8:
            found.append(tuple(edges))
    return min(found)


@dataclass(frozen=True)
class Costs:
    """Parameters and multiply-accumulates: the fixed part, and one row per kind of edge (see `_slots`)."""

    fixed: np.ndarray
    edges: np.ndarray

    def of(self, genotypes: Sequence[Genotype]) -> np.ndarray:
        """One row (parameters, multiply-accumulates) per genotype."""
        slots = np.array([_slots(genotype) for genotype in genotypes], dtype=np.intp).reshape(-1, 16)
        return self.fixed + self.edges.reshape(-1, 2)[slots].sum(axis=1)


def _slots(genotype: Genotype) -> list[int]:
    """Each edge's row in a table of (normal or reduction) x (stride 1 or 2) x op."""
    normal = [OPS.index(op) for op, _ in genotype.normal]
    return normal + [len(OPS) * (2 + (source < 2)) + OPS.index(op) for op, source in genotype.reduce]


@cache
def costs(
    channels: int = CHANNELS,
    layers: int = LAYERS,
    classes: int = 10,
    auxiliary: bool = False,
    affine: bool = True,
) -> Costs:
    """Costs for CIFAR images (32 x 32); the arguments are those of `darts_net.network`.

    The `params` that the zero-cost benchmarks publish for this space belong to 32 channels, 8 layers,
    without auxiliary head and with ops whose batch norms have no scale and shift: `affine=False`.
    """
    c, side, edges = channels, TASKS["cifar10"].side, np.zeros((2, 2, len(OPS), 2), dtype=np.int64)
    before = last = 3 * c
    fixed = np.array([27 * last + 2 * last, 27 * last * side**2], dtype=np.int64)
    for layer in range(layers):
        reduction = layer in (layers // 3, 2 * layers // 3)
        c = 2 * c if reduction else c
        # 1x1 convolutions from the two cells before to c channels, at the side of the last one
        fixed += [before * c + last * c + 4 * c, (before + last) * c * side**2]
        side = side // 2 if reduction else side
        for strided in (False, True):
            for op, name in enumerate(OPS):
                edges[int(reduction), int(strided), op] += _edge(name, c, side, strided, affine)
        before, last = last, 4 * c
        if auxiliary and layer == 2 * layers // 3:
            # pooling takes the 8 x 8 to 2 x 2, the 2 x 2 convolution that to 1 x 1
            fixed += [128 * last + 256 + 768 * 128 * 4 + 1536, 128 * last * 4 + 768 * 128 * 4]
            fixed += (768 + 1) * classes
    return Costs(fixed + (last + 1) * classes, edges)


def _edge(op: str, c: int, side: int, strided: bool, affine: bool) -> np.ndarray:
    """Parameters and multiply-accumulates of one op on c channels with an output of `side` x `side`."""
    kind, kernel = op[:3], int(op[-1]) if op[-1].isdigit() else 0
    if kind == "ski":  # a skip over a stride is two 1x1 convolutions of c/2 channels each, side by side
        convolution, norms = (c * c, 1) if strided else (0, 0)
    elif kind == "sep":  # depthwise and 1x1, twice; only the first depthwise has the stride
        convolution, norms = 2 * (kernel**2 * c + c * c), 2
    elif kind == "dil":
        convolution, norms = kernel**2 * c + c * c, 1
    else:
        convolution, norms = 0, 0
    return np.array([convolution + 2 * c * norms * affine, convolution * side**2])


class Darts:
    """The `Space` of DARTS."""

    name = "darts"
    datasets = tuple(TASKS)
    size = _CELLS**2

    def sample(self, n: int, rng: np.random.Generator) -> list[str]:
        drawn = (divmod(i, _CELLS) for i in draw(n, self.size, rng))
        return [str(Genotype(_decode(normal), _decode(reduction))) for normal, reduction in drawn]

    def enumerate(self) -> Iterator[str]:
        raise HarnessError(f"the darts space has {self.size:,} architectures: sample it instead")

    def canonical(self, arch: str) -> str:
        return canonical(arch)

    def validate(self, arch: str) -> str:
        return str(parse(arch))

    def params(self, arch: str, dataset: str) -> int:
        return int(self.params_of([arch], dataset)[0])

    def flops(self, arch: str, dataset: str) -> int:
        return int(costs(classes=task(self.name, dataset, TASKS).classes).of([parse(arch)])[0, 1])

    def params_of(self, archs: Sequence[str], dataset: str) -> np.ndarray:
        here = task(self.name, dataset, TASKS)
        return costs(classes=here.classes).of([parse(arch) for arch in archs])[:, 0]

    def build(self, arch: str, dataset: str) -> "torch.nn.Module":
        from harness.spaces.darts_net import network

        return network(arch, CHANNELS, LAYERS, task(self.name, dataset, TASKS).classes, auxiliary=True)


def _decode(index: int) -> tuple[Edge, ...]:
    """The cell of a number below 180·7^8."""
    edges: list[Edge] = []
    for pairs in _PAIRS:
        index, pair = divmod(index, len(pairs))
        for source in pairs[pair]:
            index, op = divmod(index, len(OPS))
            edges.append((OPS[op], source))
    return tuple(edges)


SPACE = Darts()
