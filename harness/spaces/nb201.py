"""NAS-Bench-201: a cell of four nodes, six edges and five operations, repeated in a fixed skeleton.

Dong and Yang 2020. As in the thesis (Sec. 3.2.1), every cell of a network is the same.
FLOPs are the benchmark's: one per multiply-accumulate of every convolution and of the classifier, whose bias
counts as one more each; batch norm, ReLU, pooling, sums and copies count nothing.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.base.errors import HarnessError
from harness.spaces.common import Task, draw, task, unknown

if TYPE_CHECKING:
    import torch

OPS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
EDGES = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
CHANNELS, CELLS = 16, 5  # the benchmark's networks: stages of 16, 32 and 64 channels, five cells in each
_KERNEL_AREA = (0, 0, 1, 9, 0)  # of each op's convolution; the others have no parameters


TASKS = {"cifar10": Task(10, 32), "cifar100": Task(100, 32), "imagenet16-120": Task(120, 16)}

_DIGIT = {op: str(digit) for digit, op in enumerate(OPS)}
_NODES = tuple(tuple(source for source, target in EDGES if target == node) for node in (1, 2, 3))
_PATTERN = re.compile(
    r"\+".join(r"\|" + "".join(rf"({'|'.join(OPS)})~{s}\|" for s in node) for node in _NODES)
)


def digits(arch: str) -> str:
    """Six characters 0..4, one op per edge in the order of EDGES."""
    match = _PATTERN.fullmatch(arch) if isinstance(arch, str) else None
    if match is None:
        raise _defect(arch)
    return "".join([_DIGIT[op] for op in match.groups()])


def from_digits(row: str) -> str:
    """The benchmark's string of six digits."""
    if not (isinstance(row, str) and re.fullmatch("[0-4]{6}", row)):
        raise HarnessError(f"{row!r} is no nb201 cell: six digits are needed, one per edge, each 0 to 4")
    ops = [OPS[int(digit)] for digit in row]
    labels = [f"{op}~{source}|" for op, (source, _) in zip(ops, EDGES, strict=True)]
    return f"|{labels[0]}+|{''.join(labels[1:3])}+|{''.join(labels[3:])}"


def rows_of(archs: Sequence[str]) -> np.ndarray:
    """One row of six ops (0..4) per architecture."""
    text = bytearray("".join(map(digits, archs)).encode())
    return np.frombuffer(text, dtype=np.uint8).reshape(-1, len(EDGES)) - np.uint8(ord("0"))


def canonical(arch: str) -> str:
    """The benchmark's own name of a cell's class (`unique_str`): 6,466 of them.

    `0` is the cell's input, `#` zero, `(x)@op` an op; a skip connection is the value itself. The rule is the
    benchmark's to the letter: it orders sums but does not flatten them, and a sum of zeros is not a zero.
    So some equal functions keep different names: flattening sums and dropping zeros leaves 4,930.
    """
    row, values = digits(arch), ["0"]
    for node in (1, 2, 3):
        incoming = [(values[a], OPS[int(d)]) for (a, b), d in zip(EDGES, row, strict=True) if b == node]
        values.append("+".join(sorted(_term(value, op) for value, op in incoming)))
    return values[-1]


def _term(value: str, op: str) -> str:
    if op == "none" or value == "#":
        return "#"
    return value if op == "skip_connect" else f"({value})@{op}"


def params_of(
    rows: np.ndarray, classes: int, *, channels: int = CHANNELS, cells: int = CELLS, image_channels: int = 3
) -> np.ndarray:
    """Parameters of the networks of these rows of ops (0..4)."""
    widths = [channels, 2 * channels, 4 * channels]
    fixed = 9 * image_channels * channels + 2 * channels + 2 * widths[2] + (widths[2] + 1) * classes
    # a reduction: 3x3 convolutions c -> 2c -> 2c, each with its batch norm, and a 1x1 shortcut c -> 2c
    fixed += sum(9 * c * 2 * c + 9 * 4 * c * c + 2 * c * c + 2 * 4 * c for c in widths[:2])
    each = [sum(cells * (k * c * c + 2 * c) for c in widths) if k else 0 for k in _KERNEL_AREA]
    return fixed + np.array(each, dtype=np.int64)[_checked(rows)].sum(axis=1)


def flops_of(
    rows: np.ndarray,
    classes: int,
    side: int,
    *,
    channels: int = CHANNELS,
    cells: int = CELLS,
    image_channels: int = 3,
) -> np.ndarray:
    """Multiply-accumulates per image of `side` x `side`, counted as the benchmark does (module docstring)."""
    stages = [(channels << i, (side >> i) ** 2) for i in range(3)]
    fixed = 9 * image_channels * channels * side**2 + (4 * channels + 1) * classes
    fixed += sum((9 * c * 2 * c + 9 * 4 * c * c + 2 * c * c) * area // 4 for c, area in stages[:2])
    each = [sum(cells * k * c * c * area for c, area in stages) for k in _KERNEL_AREA]
    return fixed + np.array(each, dtype=np.int64)[_checked(rows)].sum(axis=1)


def _checked(rows: np.ndarray) -> np.ndarray:
    rows = np.asarray(rows)
    if rows.ndim != 2 or rows.shape[1] != len(EDGES) or rows.dtype.kind not in "iu":
        raise HarnessError(f"rows of nb201 ops must be n x 6 whole numbers, not {rows.shape} of {rows.dtype}")
    if rows.size and not 0 <= rows.min() <= rows.max() < len(OPS):
        raise HarnessError(f"rows of nb201 ops must be 0 to 4, not {rows.min()} to {rows.max()}")
    return rows


def _defect(arch: object) -> HarnessError:
    """Why this is no architecture; called only when the whole pattern failed."""
    if not isinstance(arch, str):
        return HarnessError(f"an nb201 architecture is a string, not {type(arch).__name__}")
    where = f"nb201 architecture {arch!r}"
    nodes = arch.split("+")
    if len(nodes) != 3:
        return HarnessError(f"{where} has {len(nodes)} nodes where 3, joined by '+', are needed")
    for number, (node, sources) in enumerate(zip(nodes, _NODES, strict=True), start=1):
        if len(node) < 2 or node[0] != "|" or node[-1] != "|":
            return HarnessError(f"{where}: node {number}, {node!r}, must begin and end with '|'")
        edges = node[1:-1].split("|")
        if len(edges) != len(sources):
            return HarnessError(
                f"{where}: node {number} has {len(edges)} edges where {len(sources)} are needed"
            )
        for edge, source in zip(edges, sources, strict=True):
            op, _, given = edge.partition("~")
            if op not in OPS:
                return HarnessError(f"{where}: node {number}: {unknown('op', op, OPS)}")
            if given != str(source):
                return HarnessError(f"{where}: node {number}: {edge!r} must read '{op}~{source}'")
    return HarnessError(f"{where} is malformed")


class NB201:
    """The `Space` of NAS-Bench-201."""

    name = "nb201"
    datasets = tuple(TASKS)
    size = len(OPS) ** len(EDGES)

    def sample(self, n: int, rng: np.random.Generator) -> list[str]:
        return [from_digits(np.base_repr(i, 5).zfill(6)) for i in draw(n, self.size, rng)]

    def enumerate(self) -> Iterator[str]:
        """In the order of the digits, the last edge fastest (not the benchmark's own index)."""
        return (from_digits("".join(row)) for row in itertools.product("01234", repeat=len(EDGES)))

    def canonical(self, arch: str) -> str:
        return canonical(arch)

    def validate(self, arch: str) -> str:
        return from_digits(digits(arch))

    def params(self, arch: str, dataset: str) -> int:
        return int(self.params_of([arch], dataset)[0])

    def flops(self, arch: str, dataset: str) -> int:
        here = task(self.name, dataset, TASKS)
        return int(flops_of(rows_of([arch]), here.classes, here.side)[0])

    def params_of(self, archs: Sequence[str], dataset: str) -> np.ndarray:
        return params_of(rows_of(archs), task(self.name, dataset, TASKS).classes)

    def build(self, arch: str, dataset: str) -> "torch.nn.Module":
        from harness.spaces.nb201_net import network

        return network(arch, CHANNELS, CELLS, task(self.name, dataset, TASKS).classes)


SPACE = NB201()
