"""A super-network over NAS-Bench-201 cells: every operation on every edge, one of them used at a time."""

from collections import OrderedDict
from dataclasses import dataclass
from functools import cache, reduce
from operator import add

import numpy as np
from torch import Tensor, nn

from harness.base.errors import HarnessError
from harness.spaces.nb201 import EDGES, OPS, digits
from harness.spaces.nb201_net import Reduction, operation
from harness.supernet.quick_pool_net import MeanPool, QuickPool

SKIP, POOL = OPS.index("skip_connect"), OPS.index("avg_pool_3x3")
Path = tuple[
    str, ...
]  # for each searched cell six digits, one per edge: what `choice` makes of an architecture


@dataclass(frozen=True)
class Skeleton:
    """What the papers vary of NAS-Bench-201's network for their super-networks."""

    channels: int = 16
    cells: int = 5  # searched cells per stage
    classes: int = 10
    affine: bool = False  # batch norm of the searched cells
    track: bool = True  # running statistics of the searched cells
    conv_bias: bool = False
    skip_linear: bool = False  # skip as a bare 1x1 convolution (icw D1)
    pool_counts_padding: bool = False  # uninas does, the benchmark does not


def choice(arch: str) -> str:
    """What every cell of this architecture chooses."""
    return digits(arch)


def uniform(rng: np.random.Generator) -> str:
    """One of all 15,625 cells, those without any way to the output included."""
    return "".join(map(str, rng.integers(len(OPS), size=len(EDGES)).tolist()))


def connected(rng: np.random.Generator) -> str:
    """One operation per edge; a node whose edges all drew `none` draws again (xautodl's "urs", sotl D7)."""
    row = ""
    for node in (1, 2, 3):
        drawn = [0] * node
        while not any(drawn):
            drawn = rng.integers(len(OPS), size=node).tolist()
        row += "".join(map(str, drawn))
    return row


def fair(rng: np.random.Generator) -> list[str]:
    """FairNAS: five cells that use each operation of each edge once (strict fairness, Chu et al. 2019)."""
    return [
        "".join(map(str, cell)) for cell in rng.permuted(np.tile(np.arange(5), (6, 1)), axis=1).T.tolist()
    ]


@cache
def used(row: str, zeros_stay: bool = True) -> frozenset[int]:
    """The edges that matter: not `none`, with something from the cell's input, on a way to its output.

    What comes behind `none` alone matters too unless zeros stay zeros on their way: a batch norm with a shift
    or with running statistics turns them into something else.
    """
    there = [edge for edge, op in enumerate(row) if op != "0"]
    reached, needed = {0} if zeros_stay else {0, 1, 2, 3}, {3}
    for edge in there:  # EDGES are in an order in which sources come first
        if EDGES[edge][0] in reached:
            reached.add(EDGES[edge][1])
    for edge in reversed(there):
        if EDGES[edge][1] in needed:
            needed.add(EDGES[edge][0])
    return frozenset(e for e in there if EDGES[e][0] in reached and EDGES[e][1] in needed)


class MixedEdge(nn.ModuleList):
    """All candidate operations of an edge; `forward` runs the chosen one."""

    def forward(self, x: Tensor, chosen: int, begun: dict[type, Tensor] | None = None) -> Tensor:
        """`begun`: ReLU and pool of this very x, which all edges out of its node share."""
        op, begun = self[chosen], {} if begun is None else begun
        first, *rest = op if isinstance(op, nn.Sequential) else (op,)
        if not isinstance(first, nn.ReLU | nn.AvgPool2d):
            return op(x)
        if type(first) not in begun:
            begun[type(first)] = first(x)
        return reduce(lambda made, part: part(made), rest, begun[type(first)])


class SuperCell(nn.Module):
    """Four nodes, six mixed edges.

    What is multiplied by zero in the end is not computed at all. Sums are the same to the last bit; weights
    there get no gradient instead of a zero one, which only matters before their first gradient (sotl D14).
    """

    def __init__(self, channels: int, skeleton: Skeleton) -> None:
        super().__init__()
        self.zeros_stay = not (skeleton.affine or skeleton.track)
        self.edges = nn.ModuleList(
            MixedEdge(_candidate(op, channels, skeleton) for op in range(len(OPS))) for _ in EDGES
        )

    def forward(self, x: Tensor, row: str) -> Tensor:
        running, nodes, begun = self.used(row), [x], ({}, {}, {})
        for node in (1, 2, 3):
            incoming = [
                self.edges[edge](nodes[source], int(row[edge]), begun[source])
                for edge, (source, target) in enumerate(EDGES)
                if edge in running and target == node
            ]
            nodes.append(reduce(add, incoming) if incoming else x * 0.0)
        return nodes[3]

    def used(self, row: str) -> frozenset[int]:
        return used(row, self.zeros_stay)


def _candidate(op: int, channels: int, skeleton: Skeleton) -> nn.Module:
    if op == SKIP and skeleton.skip_linear:
        return nn.Conv2d(channels, channels, 1, bias=False)
    if op == POOL:
        return QuickPool(skeleton.pool_counts_padding)
    return operation(op, channels, affine=skeleton.affine, track=skeleton.track, bias=skeleton.conv_bias)


class SuperNetwork(nn.Module):
    """Stem, three stages of super-cells with fixed reductions between them, head."""

    def __init__(self, skeleton: Skeleton) -> None:
        super().__init__()
        c = skeleton.channels
        self.cells = 3 * skeleton.cells
        self.stem = nn.Sequential(nn.Conv2d(3, c, 3, padding=1, bias=False), nn.BatchNorm2d(c))
        body: list[nn.Module] = []
        for stage in range(3):
            if stage:
                body.append(Reduction(c << (stage - 1)))
            body += [SuperCell(c << stage, skeleton) for _ in range(skeleton.cells)]
        self.body = nn.ModuleList(body)
        self.head = nn.Sequential(
            nn.BatchNorm2d(4 * c),
            nn.ReLU(),
            MeanPool(),
            nn.Flatten(),
            nn.Linear(4 * c, skeleton.classes),
        )

    def forward(self, x: Tensor, path: Path) -> Tensor:
        """Each searched cell as its entry of the path says."""
        rows = iter(self._checked(path))
        x = self.stem(x)
        for part in self.body:
            x = part(x, next(rows)) if isinstance(part, SuperCell) else part(x)
        return self.head(x)

    def live(self, path: Path) -> list[nn.Parameter]:
        """The weights that this path uses."""
        rows, found = iter(self._checked(path)), list(self.stem.parameters())
        for part in self.body:
            if isinstance(part, SuperCell):
                row = next(rows)
                for edge in sorted(part.used(row)):
                    found += part.edges[edge][int(row[edge])].parameters()
            else:
                found += part.parameters()
        return found + list(self.head.parameters())

    def _checked(self, path: Path) -> Path:
        if len(path) != self.cells:
            raise HarnessError(f"a path through {self.cells} cells names {len(path)}: one choice per cell")
        return path

    def parts(self) -> "OrderedDict[str, nn.Module]":
        """stem, 0, 1, …, head: the rows of icw Table 3."""
        cells = ((str(i), part) for i, part in enumerate(self.body))
        return OrderedDict([("stem", self.stem), *cells, ("head", self.head)])


def build(channels: int, cells: int, classes: int) -> SuperNetwork:
    """Cells as in xautodl's searches: batch statistics only, no scale or shift, biased convolutions."""
    return SuperNetwork(Skeleton(channels, cells, classes, affine=False, track=False, conv_bias=True))
