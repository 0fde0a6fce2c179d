"""Mixed networks as one writes them down: torch's own modules, each operation times its weight, summed."""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from harness.spaces.graph_hash import OPS as BLOCK_OPS
from harness.spaces.nb201 import EDGES
from harness.supernet import nb1shot1_net, nb201_net
from harness.supernet.depthwise_net import Depthwise
from harness.supernet.quick_pool_net import MeanPool, QuickPool
from harness.supernet.relaxed import DARTS_OPS


def with_torch_s_modules(network: nn.Module) -> nn.Module:
    """A copy without the modules that are quick on a processor."""
    network = copy.deepcopy(network)
    for parent in list(network.modules()):
        for name, child in parent.named_children():
            if isinstance(child, QuickPool):
                setattr(parent, name, nn.AvgPool2d(3, 1, 1, count_include_pad=child.count_include_pad))
            if isinstance(child, MeanPool):
                setattr(parent, name, nn.AdaptiveAvgPool2d(1))
            if isinstance(child, Depthwise):
                child.__class__ = nn.Conv2d
    return network


def plain_nb201(network: nn.Module, x: Tensor, weights: Tensor) -> Tensor:
    x = network.stem(x)
    for part in network.body:
        if not isinstance(part, nb201_net.SuperCell):
            x = part(x)
            continue
        nodes = [x]
        for node in (1, 2, 3):
            incoming = [edge for edge, (_, target) in enumerate(EDGES) if target == node]
            nodes.append(
                sum(
                    sum(w * op(nodes[EDGES[e][0]]) for w, op in zip(weights[e], part.edges[e], strict=True))
                    for e in incoming
                )
            )
        x = nodes[-1]
    return network.head(x)


def plain_darts(
    network: nn.Module, x: Tensor, weights: tuple[Tensor, Tensor], ops: Sequence[str] = DARTS_OPS
) -> Tensor:
    before = last = network.stem(x)
    for cell in network.body:
        nodes = [cell.before(before), cell.last(last)]
        rows = iter(weights[1] if cell.reduction else weights[0])
        for node in (2, 3, 4, 5):
            summed = 0.0
            for source in range(node):
                edge, row = cell.edges[f"{source}-{node}"], next(rows)
                summed = summed + sum(
                    w * edge[op](nodes[source]) for w, op in zip(row, ops, strict=True) if op != "none"
                )
            nodes.append(summed)
        before, last = last, torch.cat(nodes[2:], dim=1)
    return network.head(last)


def plain_nb1shot1(network: nn.Module, x: Tensor, weights: tuple) -> Tensor:
    (ops, output, inputs), there = weights, (0,)
    x = network.stem(x)
    for part in network.body:
        if not isinstance(part, nb1shot1_net.SuperCell):
            x = part(x)
            continue
        values: list[Tensor] = []
        for number, block in enumerate(part.blocks):
            given = [part.projections[number](x, there), *values]
            place = number - len(part.blocks) + len(inputs)
            own = inputs[place] if place >= 0 else [1.0] * len(given)
            read = sum(w * value for w, value in zip(own, given, strict=True))
            values.append(sum(w * block[op](read) for w, op in zip(ops[number], BLOCK_OPS, strict=True)))
        parts = torch.cat([w * value for w, value in zip(output[1:], values, strict=True)], dim=1)
        x = output[0] * part.projections[-1](x, there) + parts
        there = tuple(range(len(part.blocks)))
    return network.classifier(network.fold_norm(network.fold(x, there)).mean(dim=(2, 3)))
