"""Sections 3.1.2 and 4.1: a purely sequential space, of the size that a scale can train stand-alone.

With the published numbers it is FairNAS' space on SubImageNet (`harness.spaces.fairnas`), weight by weight.
"""

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import nn

from harness.base.errors import HarnessError
from harness.base.seeds import stream
from harness.spaces import fairnas_net
from harness.spaces.common import draw
from harness.spaces.fairnas import OPS, Cell, Op
from harness.supernet.quick_depthwise_net import QuickDepthwise

RANKED_SEED = 0  # of the list of architectures that are trained stand-alone (D6)


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Cells of equal width; the first of them has the stride."""

    channels: int
    stride: int
    cells: int


@dataclass(frozen=True, kw_only=True)
class Space:
    """A chain of cells, in each of which one of six inverted residual blocks is chosen (Table 4)."""

    stem: int  # channels of the first convolution
    stem_stride: int
    first: int  # channels of the block that follows it, which is no choice
    stages: tuple[Stage, ...]
    head: int  # channels of the last convolution


def cells(space: Space) -> tuple[Cell, ...]:
    """Channels and stride of every choice."""
    found, last = [], space.first
    for stage in space.stages:
        for place in range(stage.cells):
            found.append(Cell(last, stage.channels, stage.stride if place == 0 else 1))
            last = stage.channels
    return tuple(found)


def ops_of(space: Space, arch: str) -> tuple[int, ...]:
    """Indices into OPS, one per cell; an architecture is written as those of FairNAS are."""
    wanted, parts = len(cells(space)), arch.split("-")
    if len(parts) != wanted or not all(re.fullmatch("[0-5]", part) for part in parts):
        raise HarnessError(f"{arch!r} is no architecture here: write {wanted} ops 0 to 5 joined by '-'")
    return tuple(map(int, parts))


def sample(space: Space, n: int, rng: np.random.Generator) -> list[str]:
    """Different architectures, uniformly."""
    length = len(cells(space))
    return ["-".join(np.base_repr(i, 6).zfill(length)) for i in draw(n, 6**length, rng)]


def ranked(space: Space, n: int) -> list[str]:
    """The first n of the list that is trained stand-alone: the same for every run that needs them."""
    rng, length = stream(RANKED_SEED, "architectures of icw's sequential space"), len(cells(space))
    if n > len(OPS) ** length:
        raise HarnessError(f"a space of {length} cells has no {n} architectures: ask for fewer")
    found: dict[str, None] = {}
    while len(found) < n:
        found["-".join(map(str, rng.integers(len(OPS), size=length).tolist()))] = None
    return list(found)


def stem(space: Space) -> nn.Sequential:
    return fairnas_net.stem(3, space.stem_stride, space.stem, space.first, QuickDepthwise)


def block(cell: Cell, op: Op) -> nn.Module:
    return fairnas_net.Block(cell, op, QuickDepthwise)


def layers(space: Space) -> list[list[nn.Module]]:
    """All six blocks of every cell, in the order of OPS: what a super-network holds."""
    return [[block(cell, op) for op in OPS] for cell in cells(space)]


def channels(space: Space) -> list[int]:
    """Of each cell's input."""
    return [cell.inputs for cell in cells(space)]


def head(space: Space, classes: int, dropout: float = 0.0) -> nn.Sequential:
    return fairnas_net.head(classes, dropout, space.stages[-1].channels, space.head)


def standalone(space: Space, arch: str, classes: int, dropout: float) -> nn.Sequential:
    """The evaluation network of an architecture (Table 5: with dropout before the classifier)."""
    chosen = zip(cells(space), ops_of(space, arch), strict=True)
    return nn.Sequential(
        OrderedDict(
            stem=stem(space),
            body=nn.Sequential(*(block(cell, OPS[op]) for cell, op in chosen)),
            head=head(space, classes, dropout),
        )
    )


def params_of(space: Space, archs: Sequence[str], classes: int) -> np.ndarray:
    """Parameters of the stand-alone networks."""
    table = [[sum(p.numel() for p in block.parameters()) for block in layer] for layer in layers(space)]
    fixed = sum(p.numel() for part in (stem(space), head(space, classes)) for p in part.parameters())
    rows = np.array([ops_of(space, arch) for arch in archs], int).reshape(-1, len(table))
    return fixed + np.array(table)[np.arange(len(table)), rows].sum(axis=1)
