"""The super-networks with weights instead of a path: every edge is a weighted sum of all its operations.

Liu et al. 2019 (DARTS), on NAS-Bench-201 also Dong and Yang 2020, on NAS-Bench-1Shot1 Zela et al. 2020. A
mixed network holds a one-shot network and nothing else, so that both train the same weights; with weights
that are 1 on one path and 0 elsewhere it gives what the path gives. What the weights are, and how they come
of parameters, says `harness.supernet.relaxed`.

What costs time is done once: ReLU, pools and norms of pools once per node, parallel convolutions of a node as
one convolution with one norm, a weight as the norm's scale. Sums are the plain way's up to rounding.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import reduce

from torch import Tensor, nn
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.spaces.common import unknown
from harness.spaces.darts_net import Beside, FactorizedReduce
from harness.spaces.graph_hash import OPS as BLOCK_OPS
from harness.spaces.nb201 import EDGES
from harness.supernet import darts_net, nb1shot1_net, nb201_net
from harness.supernet.nb201_net import POOL, SKIP
from harness.supernet.relaxed import (
    DARTS_OPS,
    BlockWeights,
    CellWeights,
    checked,
    checked_blocks,
    checked_cells,
    nb201_shape,
    over,
)
from harness.supernet.side_by_side import convolved, norm_of_all, normed, total

CONV_OPS = (2, 3)  # NAS-Bench-201's: 1x1 and 3x3
Terms = defaultdict[int, list]  # of each node, what is summed there


class NB201(nn.Module):
    """Weights: six edges by five operations, the same in every cell."""

    def __init__(self, network: nb201_net.SuperNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor, weights: Tensor) -> Tensor:
        weights = checked(weights, nb201_shape(), "NAS-Bench-201").to(x.dtype)
        x = self.network.stem(x)
        for part in self.network.body:
            x = _nb201_cell(part, x, weights) if isinstance(part, nb201_net.SuperCell) else part(x)
        return self.network.head(x)


def _nb201_cell(cell: nb201_net.SuperCell, x: Tensor, weights: Tensor) -> Tensor:
    terms: Terms = defaultdict(list)  # (weight, map), or (None, map) where it has its weight already
    for source in (0, 1, 2):
        leaving = [edge for edge, (start, _) in enumerate(EDGES) if start == source]
        pooled, positive = cell.edges[leaving[0]][POOL](x), functional.relu(x)
        for op in CONV_OPS:
            parts = [cell.edges[edge][op] for edge in leaving]
            convs, norms = [part[1] for part in parts], [part[2] for part in parts]
            maps = convolved(positive, convs, norms, weights[leaving, op])
            for edge, each in zip(leaving, maps, strict=True):
                terms[EDGES[edge][1]].append((None, each))
        for edge in leaving:
            target = EDGES[edge][1]
            terms[target].append((weights[edge, SKIP], cell.edges[edge][SKIP](x)))
            terms[target].append((weights[edge, POOL], pooled))
        x = total(terms[source + 1])
    return x


class Darts(nn.Module):
    """Weights: for both kinds of cells fourteen edges by the operations `ops`; see `CellWeights`."""

    def __init__(self, network: darts_net.SuperNetwork, ops: Sequence[str] = DARTS_OPS) -> None:
        super().__init__()
        for op in ops:
            if op not in DARTS_OPS:
                raise unknown("DARTS operation", op, DARTS_OPS)
        if set(ops) <= {"none"} or len(set(ops)) != len(ops):
            raise HarnessError(
                f"operations of a mixed DARTS network: {list(ops)}: name one or more beside none, once each"
            )
        edge = network.body[0].edges["0-2"]
        if missing := [op for op in ops if op != "none" and op not in edge]:
            raise HarnessError(f"mixed DARTS network: its network has no {', '.join(missing)}: name others")
        self.network, self.ops = network, tuple(ops)

    def forward(self, x: Tensor, weights: CellWeights) -> Tensor:
        normal, reducing = over(checked_cells(weights, self.ops), lambda part: part.to(x.dtype))
        before = last = self.network.stem(x)
        for cell in self.network.body:
            own = reducing if cell.reduction else normal
            before, last = last, self._cell(cell, cell.before(before), cell.last(last), own)
        return self.network.head(last)

    def _cell(self, cell: darts_net.SuperCell, before: Tensor, last: Tensor, weights: Tensor) -> Tensor:
        nodes, terms = [before, last], defaultdict(list)
        rows = {edge: row for row, edge in enumerate(cell.edges)}
        for source in range(5):
            if source > 1:
                nodes.append(total(terms[source]))
            x, targets = nodes[source], range(max(2, source + 1), 6)
            positive = functional.relu(x)
            for column, op in enumerate(self.ops):
                if op == "none":
                    continue
                edges = [f"{source}-{target}" for target in targets]
                own = weights[[rows[edge] for edge in edges], column]
                parts = [cell.edges[edge][op] for edge in edges]
                found = _convolved(parts, positive, own) if "conv" in op else _others(parts, x, own)
                for target, term in zip(targets, found, strict=True):
                    terms[target].append(term)
        return Beside.apply(*nodes[2:], total(terms[5]))


def _convolved(parts: list[nn.Sequential], positive: Tensor, weights: Tensor) -> list:
    """What one convolution makes of a node behind its ReLU, for each edge that leaves it."""
    found = []
    for part, weight in zip(parts, weights, strict=True):
        *inner, norm = part[1:]  # without its ReLU
        made = reduce(lambda made, module: module(made), inner, positive)
        found.append((None, normed(made, [norm], weight[None])))
    return found


def _others(parts: list[nn.Module], x: Tensor, weights: Tensor) -> list:
    """What a pool or skip makes of a node; a pool is the same for all edges."""
    if isinstance(parts[0], nn.Sequential):
        pooled, norms = parts[0][0](x), [part[1] for part in parts]
        shared = norm_of_all(pooled, norms)
        maps = [norm(pooled) for norm in norms] if shared is None else [shared] * len(norms)
    elif isinstance(parts[0], FactorizedReduce):
        maps = [part(x) for part in parts]
    else:
        maps = [parts[0](x)] * len(parts)
    return list(zip(weights, maps, strict=True))


def only(network: darts_net.SuperNetwork, ops: Sequence[str]) -> darts_net.SuperNetwork:
    """The network without the weights of all other operations; then it has no paths through those."""
    for cell in network.body:
        for edge in cell.edges.values():
            for op in set(edge) - set(ops):
                del edge[op]
    return network


class NB1Shot1(nn.Module):
    """Weights of operations, of the output's parts, and of the inputs of those blocks that choose any."""

    def __init__(self, network: nb1shot1_net.SuperNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor, weights: BlockWeights) -> Tensor:
        network = self.network
        weights = over(checked_blocks(weights, network.number), lambda part: part.to(x.dtype))
        x, there = network.stem(x), (0,)
        for part in network.body:
            if isinstance(part, nb1shot1_net.SuperCell):
                x = _block_cell(part, x, weights)
                there = tuple(range(len(part.blocks)))
            else:
                x = part(x)
        x = network.fold_norm(network.fold(x, there))
        return network.classifier(x.mean(dim=(2, 3)))


def _block_cell(cell: nb1shot1_net.SuperCell, x: Tensor, weights: BlockWeights) -> Tensor:
    convs, norms = ([getattr(p, name) for p in cell.projections] for name in ("conv", "norm"))
    *projected, beside = (functional.relu(each) for each in convolved(x, convs, norms))
    fixed = len(cell.blocks) - len(weights.inputs)  # the first blocks read all there is
    values: list[Tensor] = []
    for number, (block, ops) in enumerate(zip(cell.blocks, weights.ops, strict=True)):
        given = [projected[number], *values]
        own = weights.inputs[number - fixed] if number >= fixed else [None] * len(given)
        read = total(list(zip(own, given, strict=True)))
        values.append(total([(w, block[op](read)) for w, op in zip(ops, BLOCK_OPS, strict=True)]))
    parts = [weight * value for weight, value in zip(weights.output[1:], values, strict=True)]
    return weights.output[0] * beside + Beside.apply(*parts)
