"""The sequential MobileNetV2-like space of FairNAS as the icw paper uses it: 19 cells, six ops each.

icw Sec. 3.1.2 and Table 4. An op is an inverted residual block of kernel k and expansion e. No benchmark
publishes FLOPs for this space; they follow NAS-Bench-201: one per multiply-accumulate of convolutions and
classifier, its bias one more each, nothing else.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.base.errors import HarnessError
from harness.spaces.common import Task, draw, task

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Op:
    """An inverted residual block."""

    kernel: int
    expansion: int


@dataclass(frozen=True)
class Cell:
    """One choice: channels in and out and the stride that all six ops have there."""

    inputs: int
    outputs: int
    stride: int


OPS = tuple(Op(kernel, expansion) for expansion in (3, 6) for kernel in (3, 5, 7))
STEM_CHANNELS, FIRST_CHANNELS, HEAD_CHANNELS = 32, 16, 1280
_STAGES = (
    (32, 2, 2),
    (40, 2, 4),
    (80, 2, 4),
    (96, 1, 4),
    (192, 2, 4),
    (320, 1, 1),
)  # channels, stride, cells
TASKS = {"subimagenet": Task(100, 224)}  # 100 of ImageNet's classes


def _cells() -> tuple[Cell, ...]:
    cells, last = [], FIRST_CHANNELS
    for channels, stride, count in _STAGES:
        for place in range(count):
            cells.append(Cell(last, channels, stride if place == 0 else 1))
            last = channels
    return tuple(cells)


CELLS = _cells()


def ops_of(arch: str) -> tuple[int, ...]:
    """The 19 indices into OPS."""
    if not isinstance(arch, str):
        raise HarnessError(f"a fairnas architecture is a string, not {type(arch).__name__}")
    parts = arch.split("-")
    if len(parts) != len(CELLS):
        raise HarnessError(
            f"fairnas architecture {arch!r} has {len(parts)} ops where {len(CELLS)} are needed"
        )
    for cell, part in enumerate(parts):
        if not re.fullmatch("[0-5]", part):
            raise HarnessError(
                f"fairnas architecture {arch!r}: cell {cell}: op {part!r} is not one of 0 to 5"
            )
    return tuple(int(part) for part in parts)


def from_ops(ops: Sequence[int]) -> str:
    arch = "-".join(str(int(op)) for op in ops)
    ops_of(arch)
    return arch


def params_table(classes: int = 100) -> tuple[int, np.ndarray]:
    """Parameters of stem and head together, and of each op in each cell (19 x 6)."""
    c, d, h = STEM_CHANNELS, FIRST_CHANNELS, HEAD_CHANNELS
    stem = 27 * c + 2 * c + 9 * c + 2 * c + c * d + 2 * d
    head = CELLS[-1].outputs * h + 2 * h + (h + 1) * classes
    table = np.zeros((len(CELLS), len(OPS)), dtype=np.int64)
    for row, cell in enumerate(CELLS):
        for column, op in enumerate(OPS):
            hidden = op.expansion * cell.inputs
            convolutions = hidden * (cell.inputs + op.kernel**2 + cell.outputs)
            table[row, column] = convolutions + 4 * hidden + 2 * cell.outputs
    return stem + head, table


def flops_table(classes: int = 100, side: int = 224) -> tuple[int, np.ndarray]:
    """Multiply-accumulates, laid out like `params_table`; a stride rounds an odd side up."""
    side = -(-side // 2)
    stem = (27 + 9 + FIRST_CHANNELS) * STEM_CHANNELS * side**2
    table = np.zeros((len(CELLS), len(OPS)), dtype=np.int64)
    for row, cell in enumerate(CELLS):
        out = -(-side // cell.stride)
        for column, op in enumerate(OPS):
            hidden = op.expansion * cell.inputs
            table[row, column] = hidden * (cell.inputs * side**2 + (op.kernel**2 + cell.outputs) * out**2)
        side = out
    head = CELLS[-1].outputs * HEAD_CHANNELS * side**2 + (HEAD_CHANNELS + 1) * classes
    return stem + head, table


def _total(fixed: int, table: np.ndarray, archs: Sequence[str]) -> np.ndarray:
    rows = np.array([ops_of(arch) for arch in archs], dtype=np.intp).reshape(-1, len(CELLS))
    return fixed + table[np.arange(len(CELLS)), rows].sum(axis=1)


class FairNAS:
    """The `Space` of FairNAS."""

    name = "fairnas"
    datasets = tuple(TASKS)
    size = len(OPS) ** len(CELLS)

    def sample(self, n: int, rng: np.random.Generator) -> list[str]:
        return ["-".join(np.base_repr(i, 6).zfill(len(CELLS))) for i in draw(n, self.size, rng)]

    def enumerate(self) -> Iterator[str]:
        raise HarnessError(f"the fairnas space has {self.size:,} architectures: sample it instead")

    def canonical(self, arch: str) -> str:
        """A chain has no isomorphic twin: the architecture itself."""
        return self.validate(arch)

    def validate(self, arch: str) -> str:
        return from_ops(ops_of(arch))

    def params(self, arch: str, dataset: str) -> int:
        return int(self.params_of([arch], dataset)[0])

    def flops(self, arch: str, dataset: str) -> int:
        here = task(self.name, dataset, TASKS)
        return int(_total(*flops_table(here.classes, here.side), [arch])[0])

    def params_of(self, archs: Sequence[str], dataset: str) -> np.ndarray:
        return _total(*params_table(task(self.name, dataset, TASKS).classes), archs)

    def build(self, arch: str, dataset: str) -> "torch.nn.Module":
        """The evaluation network of icw Table 5: dropout 0.2 before the classifier."""
        from harness.spaces.fairnas_net import network

        return network(arch, task(self.name, dataset, TASKS).classes, dropout=0.2)


SPACE = FairNAS()
