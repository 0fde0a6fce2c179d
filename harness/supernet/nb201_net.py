"""A super-network over NAS-Bench-201 cells: every operation on every edge, one of them used at a time."""

from collections import OrderedDict
from dataclasses import dataclass
from functools import reduce
from operator import add

from torch import Tensor, nn

from harness.spaces.nb201 import EDGES, OPS, digits
from harness.spaces.nb201_net import Reduction, operation

SKIP, POOL = OPS.index("skip_connect"), OPS.index("avg_pool_3x3")


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


class MixedEdge(nn.ModuleList):
    """All candidate operations of an edge; `forward` runs the chosen one."""

    def forward(self, x: Tensor, choice: int) -> Tensor:
        return self[choice](x)


class SuperCell(nn.Module):
    """Four nodes, six mixed edges."""

    def __init__(self, channels: int, skeleton: Skeleton) -> None:
        super().__init__()
        self.edges = nn.ModuleList(
            MixedEdge(_candidate(op, channels, skeleton) for op in range(len(OPS))) for _ in EDGES
        )

    def forward(self, x: Tensor, choices: str) -> Tensor:
        nodes = [x]
        for node in (1, 2, 3):
            nodes.append(
                reduce(
                    add,
                    [
                        edge(nodes[source], int(choice))
                        for (source, target), edge, choice in zip(EDGES, self.edges, choices, strict=True)
                        if target == node
                    ],
                )
            )
        return nodes[-1]


def _candidate(op: int, channels: int, skeleton: Skeleton) -> nn.Module:
    if op == SKIP and skeleton.skip_linear:
        return nn.Conv2d(channels, channels, 1, bias=False)
    if op == POOL and skeleton.pool_counts_padding:
        return nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=True)
    return operation(op, channels, affine=skeleton.affine, track=skeleton.track, bias=skeleton.conv_bias)


class SuperNetwork(nn.Module):
    """Stem, three stages of super-cells with fixed reductions between them, head."""

    def __init__(self, skeleton: Skeleton) -> None:
        super().__init__()
        c = skeleton.channels
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
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(4 * c, skeleton.classes),
        )

    def forward(self, x: Tensor, arch: str) -> Tensor:
        """One architecture, the same in every cell."""
        choices = digits(arch)
        x = self.stem(x)
        for part in self.body:
            x = part(x, choices) if isinstance(part, SuperCell) else part(x)
        return self.head(x)

    def parts(self) -> "OrderedDict[str, nn.Module]":
        """stem, 0, 1, …, head: the rows of icw Table 3."""
        cells = ((str(i), part) for i, part in enumerate(self.body))
        return OrderedDict([("stem", self.stem), *cells, ("head", self.head)])
