"""A super-network over NAS-Bench-201 cells whose weights depend on previous choices (icw)."""

from collections import OrderedDict
from functools import reduce
from operator import add

from torch import Tensor, nn

from harness.spaces.nb201 import EDGES
from harness.supernet import nb201_net
from harness.supernet.dependent import Dependence, Dependent
from harness.supernet.nb201_net import Path, Skeleton, SuperCell

# Of each edge, the edges of its cell that lead to where it starts.
LEADING = tuple(
    tuple(other for other in range(len(EDGES)) if EDGES[other][1] <= source and other < edge)
    for edge, (source, _) in enumerate(EDGES)
)


def before(cells: int, dependence: Dependence) -> list[tuple[int, ...]]:
    """Of each edge of each cell, counted through, those whose choices count; D or, at the start, fewer."""
    found = []
    for position in range(cells * len(EDGES)):
        cell, edge = divmod(position, len(EDGES))
        here = range(edge) if dependence.order == "construction" else LEADING[edge]
        earlier = [*range(cell * len(EDGES)), *(cell * len(EDGES) + other for other in here)]
        found.append(tuple(earlier[-dependence.depth :]))
    return found


class SuperNetwork(Dependent, nb201_net.SuperNetwork):
    """`nb201_net.SuperNetwork`, with all its weights, and with its forward pass unless vectors are added."""

    def __init__(self, skeleton: Skeleton, dependence: Dependence) -> None:
        super().__init__(skeleton)
        cells = [part for part in self.body if isinstance(part, SuperCell)]
        edges = [edge for cell in cells for edge in cell.edges]
        channels = [skeleton.channels << (i // len(EDGES) // skeleton.cells) for i in range(len(edges))]
        self.depend(dependence, edges, channels, before(self.cells, dependence))
        if self.additional is not None and self.additional.adds:
            for cell in cells:  # a bias makes something of nothing
                cell.zeros_stay = False

    def forward(self, x: Tensor, path: Path) -> Tensor:
        """Each searched cell as its entry of the path says."""
        chosen = [int(digit) for row in self._checked(path) for digit in row]
        self.turn(chosen)
        if self.additional is None:
            return super().forward(x, path)
        rows, vectors, shift = iter(path), iter(self.additional(chosen)), None
        x = self.stem(x)
        for part in self.body:
            if not isinstance(part, SuperCell):
                x, shift = part(_sum(x, shift)), None
            elif self.additional.adds:
                x, shift = _biased(part, x, shift, next(rows), [next(vectors) for _ in EDGES])
            else:
                x = _gated(part, x, next(rows), [next(vectors) for _ in EDGES])
        return self.head(_sum(x, shift))

    def live(self, path: Path) -> list[nn.Parameter]:
        """The weights that this path uses; of bias vectors all."""
        own = [] if self.additional is None else list(self.additional.parameters())
        return super().live(path) + own

    def parts(self) -> "OrderedDict[str, nn.Module]":
        found = super().parts()
        if self.additional is not None:
            found["additional"] = self.additional
        return found


def _gated(cell: SuperCell, x: Tensor, row: str, gates: list[Tensor]) -> Tensor:
    running, nodes = cell.used(row), [x]
    for node in (1, 2, 3):
        incoming = [
            cell.edges[edge][int(row[edge])](nodes[source] * gates[edge])
            for edge, (source, target) in enumerate(EDGES)
            if edge in running and target == node
        ]
        nodes.append(reduce(add, incoming) if incoming else x * 0.0)
    return nodes[3]


def _biased(
    cell: SuperCell, x: Tensor, shift: Tensor | None, row: str, biases: list[Tensor | None]
) -> tuple[Tensor, Tensor | None]:
    """The cell's output as a tensor and a vector that has yet to be added to it.

    A vector that is added before a skip connection or a pool may as well be added behind it: it is handed on
    until a convolution needs the sum, so that no image is read and written for it.
    """
    running, nodes = cell.used(row), [(x, shift)]
    for node in (1, 2, 3):
        values, shifts = [], []
        for edge, (source, target) in enumerate(EDGES):
            if edge in running and target == node:
                value, carried = nodes[source]
                value, left = _through(cell.edges[edge][int(row[edge])], value, _sum(biases[edge], carried))
                values.append(value)
                if left is not None:
                    shifts.append(left)
        nodes.append((reduce(add, values) if values else x * 0.0, reduce(add, shifts) if shifts else None))
    return nodes[3]


def _through(op: nn.Module, x: Tensor, shift: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """What an operation makes of x + shift: a tensor, and a vector to be added."""
    if shift is None:
        return op(x), None
    if isinstance(op, nn.Identity) or (isinstance(op, nn.AvgPool2d) and not op.count_include_pad):
        return op(x), shift
    if isinstance(op, nn.Sequential):
        _, conv, norm = op  # the ReLU in place: the sum is nobody else's
        return norm(conv((x + shift).relu_())), None
    return op(x + shift), None


def _sum(x: Tensor | None, shift: Tensor | None) -> Tensor | None:
    return x if shift is None else shift if x is None else x + shift
