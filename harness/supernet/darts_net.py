"""DARTS' search network for single paths: all seven operations on all fourteen edges of every cell.

Liu et al. 2019: 16 channels, 8 cells, those at one and two thirds of the depth reduce. Other than in the
stand-alone network a batch norm follows the pools, and no batch norm of a cell has scale and shift; there is
no auxiliary head and no drop path. `none` is no operation here: a genotype never has it.
"""

from dataclasses import dataclass
from operator import add

import numpy as np
from torch import Tensor, nn

from harness.base.errors import HarnessError
from harness.spaces.darts import OPS, SPACE, Edge, Genotype, parse
from harness.spaces.darts_net import Beside, Place, head, operation, places, stem
from harness.supernet.depthwise_net import Depthwise

Path = tuple[Genotype, ...]  # for each cell a genotype, of which it reads the part for its kind


@dataclass(frozen=True)
class Skeleton:
    """What can vary of the search network; the defaults are DARTS'."""

    channels: int = 16
    layers: int = 8
    classes: int = 10
    affine: bool = False  # batch norm of the cells
    track: bool = True  # running statistics of the cells
    pool_norm: bool = True  # a batch norm behind the pools


def choice(arch: str) -> Genotype:
    """What every cell of this architecture chooses."""
    return parse(arch)


def uniform(rng: np.random.Generator) -> Genotype:
    """One of all encodings of the space."""
    return parse(SPACE.sample(1, rng)[0])


def fair(rng: np.random.Generator) -> list[Genotype]:
    """FairNAS: seven genotypes with the same inputs that use each operation of each edge once."""
    inputs = uniform(rng)
    sources = [source for _, source in inputs.normal + inputs.reduce]
    orders = rng.permuted(np.tile(np.arange(len(OPS)), (len(sources), 1)), axis=1).T.tolist()
    edges = [tuple((OPS[op], source) for op, source in zip(row, sources, strict=True)) for row in orders]
    return [Genotype(normal=each[:8], reduce=each[8:]) for each in edges]


class SuperCell(nn.Module):
    """Four nodes; an edge from every earlier node, by name `source-node`, with all operations each."""

    def __init__(self, place: Place, skeleton: Skeleton) -> None:
        super().__init__()
        flags = {"affine": skeleton.affine, "track": skeleton.track}
        self.reduction = place.reduction
        self.before, self.last = place.inputs(**flags)
        self.edges = nn.ModuleDict(
            {
                f"{source}-{node}": nn.ModuleDict(
                    {
                        op: operation(
                            op,
                            place.channels,
                            place.stride(source),
                            pool_norm=skeleton.pool_norm,
                            depthwise=Depthwise,
                            **flags,
                        )
                        for op in OPS
                    }
                )
                for node in (2, 3, 4, 5)
                for source in range(node)
            }
        )

    def forward(self, before: Tensor, last: Tensor, genotype: Genotype) -> Tensor:
        nodes = [self.before(before), self.last(last)]
        chosen = self.chosen(genotype)
        for i in range(0, len(chosen), 2):
            nodes.append(add(*(op(nodes[source]) for source, op in chosen[i : i + 2])))
        return Beside.apply(*nodes[2:])

    def chosen(self, genotype: Genotype) -> list[tuple[int, nn.Module]]:
        """Two edges per node: the node that each reads, and its operation."""
        edges: tuple[Edge, ...] = genotype.reduce if self.reduction else genotype.normal
        return [(source, self.edges[f"{source}-{2 + i // 2}"][op]) for i, (op, source) in enumerate(edges)]


class SuperNetwork(nn.Module):
    """Stem, cells that read the two before them, head."""

    def __init__(self, skeleton: Skeleton) -> None:
        super().__init__()
        self.cells = skeleton.layers
        self.stem = stem(skeleton.channels)
        order = list(places(skeleton.channels, skeleton.layers))
        self.body = nn.ModuleList(SuperCell(place, skeleton) for place in order)
        self.head = head(4 * order[-1].channels, skeleton.classes)

    def forward(self, x: Tensor, path: Path) -> Tensor:
        """Each cell as its entry of the path says."""
        before = last = self.stem(x)
        for cell, genotype in zip(self.body, self._checked(path), strict=True):
            before, last = last, cell(before, last, genotype)
        return self.head(last)

    def live(self, path: Path) -> list[nn.Parameter]:
        """The weights that this path uses: in this space whatever is chosen reaches the output."""
        modules: list[nn.Module] = [self.stem, self.head]
        for cell, genotype in zip(self.body, self._checked(path), strict=True):
            modules += [cell.before, cell.last, *(op for _, op in cell.chosen(genotype))]
        return [parameter for module in modules for parameter in module.parameters()]

    def _checked(self, path: Path) -> Path:
        if len(path) != self.cells:
            raise HarnessError(f"a path through {self.cells} cells names {len(path)}: one choice per cell")
        return path
