"""NAS-Bench-1Shot1's one-shot model for single paths: every choice block holds all three operations.

Zela et al. 2020, as their code has it (the thesis ran the same model). Channels do not depend on
the choice, so that weights can be shared: each block works on the cell's C channels, its input is the sum of
its parents, and the cell's input comes to each block through a 1x1 projection of its own. The output has one
place of C channels for every block, zero where the output did not choose the block; where it chose the cell's
input, a projection of that to all places is added. Behind the last cell a 1x1 convolution folds the places
into C channels.

Where NAS-Bench-101's networks differ: they share C channels out among the output's parents (and give a block
no more than its children have), and fold nothing. The sums, the projections and the operations are the same.

Where this differs from the published code: what is multiplied by zero is not computed, that is blocks that
lead nowhere, projections nobody chose, and the empty places of a cell's input within its projections. The
sums are the same; weights without influence have no gradient instead of a zero one, and batch norms that are
not on the path keep their running statistics.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import add

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.spaces.graph_hash import OPS
from harness.spaces.nb1shot1 import space
from harness.spaces.nb101_net import conv_bn_relu, norm, operation

Path = tuple[str, ...]  # for each cell an architecture: what `choice` makes of one
Places = tuple[int, ...]  # those of a cell's output that are not zero


@dataclass(frozen=True)
class Skeleton:
    """What can vary of the one-shot model; the defaults are the published ones."""

    channels: int = 16
    cells: int = 3  # per stage
    classes: int = 10
    affine: bool = True  # batch norm of the cells; that of the fold never is
    track: bool = True  # running statistics of the cells and of the fold
    # Published: TensorFlow's word for 0.003. In torch's it keeps hardly more than the last batch.
    momentum: float = 0.997
    padded_pools: bool = True  # published: 32 -> 17 -> 9; NAS-Bench-101 goes 32 -> 16 -> 8


def choice(arch: str, number: int) -> str:
    """What every cell of this architecture chooses; `number` is the space's."""
    return space(number).validate(arch)


def uniform(rng: np.random.Generator, number: int) -> str:
    """One of all encodings of the space, loose ends included."""
    return space(number).sample(1, rng)[0]


@dataclass(frozen=True)
class Wiring:
    """An architecture as a cell needs it; vertices are 0 (the cell's input), then the blocks."""

    ops: tuple[str, ...]  # of all blocks
    parents: Mapping[int, tuple[int, ...]]  # of the blocks that lead to the output
    output: tuple[int, ...]  # the output's parents


@lru_cache(maxsize=10_000)
def wiring(arch: str, number: int) -> Wiring:
    """The parents and operations that an architecture names, without its loose ends."""
    groups, ops = (part.split(sep) for part, sep in zip(choice(arch, number).split("|"), ";,", strict=True))
    *blocks, output = (tuple(map(int, group.split(","))) for group in groups)
    needed = set(output)
    for block in range(len(blocks), 0, -1):
        if block in needed:
            needed.update(blocks[block - 1])
    parents = {block: parents for block, parents in enumerate(blocks, start=1) if block in needed}
    return Wiring(tuple(ops), parents, output)


class PlacedConv(nn.Conv2d):
    """A 1x1 convolution of several places side by side, given only those that are not zero."""

    def __init__(self, places: int, width: int, outputs: int) -> None:
        super().__init__(places * width, outputs, 1, bias=False)
        self.places = places

    def forward(self, x: Tensor, there: Places) -> Tensor:
        if len(there) == self.places:
            return super().forward(x)
        columns = self.weight.chunk(self.places, dim=1)
        return functional.conv2d(x, torch.cat([columns[place] for place in there], dim=1))


class Projection(nn.Module):
    """What stands on an edge out of the cell's input."""

    def __init__(self, places: int, width: int, outputs: int, skeleton: Skeleton) -> None:
        super().__init__()
        self.conv = PlacedConv(places, width, outputs)
        self.norm = norm(outputs, **_flags(skeleton))

    def forward(self, x: Tensor, there: Places) -> Tensor:
        return functional.relu(self.norm(self.conv(x, there)), inplace=True)


class SuperCell(nn.Module):
    """Blocks with all operations each; its input has `places` of `width` channels."""

    def __init__(self, blocks: int, places: int, width: int, channels: int, skeleton: Skeleton) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.ModuleDict({op: operation(op, channels, **_flags(skeleton)) for op in OPS})
            for _ in range(blocks)
        )
        self.projections = nn.ModuleList(
            Projection(places, width, outputs, skeleton)
            for outputs in [*[channels] * blocks, blocks * channels]
        )

    def forward(self, x: Tensor, there: Places, chosen: Wiring) -> tuple[Tensor, Places]:
        """The places of the output that are not zero, side by side, and which they are."""
        values: dict[int, Tensor] = {}
        for block, parents in chosen.parents.items():
            terms = [values[p] if p else self.projections[block - 1](x, there) for p in parents]
            values[block] = self.blocks[block - 1][chosen.ops[block - 1]](reduce(add, terms))
        if 0 not in chosen.output:
            return torch.cat([values[b] for b in chosen.output], dim=1), tuple(b - 1 for b in chosen.output)
        parts = self.projections[-1](x, there).chunk(len(self.blocks), dim=1)
        parts = [part + values[b] if b in chosen.output else part for b, part in enumerate(parts, start=1)]
        return torch.cat(parts, dim=1), tuple(range(len(parts)))

    def used(self, chosen: Wiring) -> list[nn.Module]:
        """What `forward` runs."""
        readers = [block for block, parents in chosen.parents.items() if 0 in parents]
        modules = [self.projections[block - 1] for block in readers]
        modules += [self.projections[-1]] if 0 in chosen.output else []
        return modules + [self.blocks[block - 1][chosen.ops[block - 1]] for block in chosen.parents]


def _flags(skeleton: Skeleton) -> dict[str, bool | float]:
    return {"affine": skeleton.affine, "track": skeleton.track, "momentum": skeleton.momentum}


class SuperNetwork(nn.Module):
    """Stem, three stages of super-cells with 2x2 max pools between them, fold, average, classifier."""

    def __init__(self, number: int, skeleton: Skeleton) -> None:
        super().__init__()
        blocks, places, width = space(number).blocks, 1, skeleton.channels
        self.number, self.cells = number, 3 * skeleton.cells
        self.stem = conv_bn_relu(3, width, 3, momentum=skeleton.momentum)
        body: list[nn.Module] = []
        for stage in range(3):
            if stage:
                body.append(nn.MaxPool2d(2, padding=int(skeleton.padded_pools)))
            for _ in range(skeleton.cells):
                channels = skeleton.channels << stage
                body.append(SuperCell(blocks, places, width, channels, skeleton))
                places, width = blocks, channels
        self.body = nn.ModuleList(body)
        self.fold = PlacedConv(places, width, width)
        self.fold_norm = nn.BatchNorm2d(width, affine=False, track_running_stats=skeleton.track)
        self.classifier = nn.Linear(width, skeleton.classes)

    def forward(self, x: Tensor, path: Path) -> Tensor:
        """Each cell as its entry of the path says."""
        wirings = iter(self._wirings(path))
        x, there = self.stem(x), (0,)
        for part in self.body:
            # What is not there is zero behind a max pool too.
            x, there = part(x, there, next(wirings)) if isinstance(part, SuperCell) else (part(x), there)
        # The published code puts a ReLU here; nothing is negative behind ReLUs, sums and max pools.
        x = self.fold_norm(self.fold(x, there))
        return self.classifier(x.mean(dim=(2, 3)))

    def live(self, path: Path) -> list[nn.Parameter]:
        """The weights that this path uses."""
        cells = [part for part in self.body if isinstance(part, SuperCell)]
        used = [cell.used(chosen) for cell, chosen in zip(cells, self._wirings(path), strict=True)]
        modules = [self.stem, *(module for each in used for module in each), self.fold, self.classifier]
        return [parameter for module in modules for parameter in module.parameters()]

    def _wirings(self, path: Path) -> list[Wiring]:
        if len(path) != self.cells:
            raise HarnessError(f"a path through {self.cells} cells names {len(path)}: one choice per cell")
        return [wiring(arch, self.number) for arch in path]


@dataclass(frozen=True)
class Choices:
    """`choice` and `uniform` of one of the three spaces."""

    number: int

    def choice(self, arch: str) -> str:
        return choice(arch, self.number)

    def uniform(self, rng: np.random.Generator) -> str:
        return uniform(rng, self.number)
