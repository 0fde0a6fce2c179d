"""NAS-Bench-1Shot1: three parts of NAS-Bench-101 in which every choice block has a fixed number of parents.

Zela et al. 2020. An architecture is `parents;...|op,...`: for every choice block and then the output the
numbers of its parents (0 is the cell's input, blocks count from 1), and one op for every block. Blocks that
lead nowhere ("loose ends") are allowed. In NAS-Bench-101 the blocks become the vertices 1, 2, ... with the
same edges, and the output becomes vertex 6; in spaces 1 and 2, which have four blocks, vertex 5 is a dummy
without edges (a 1x1 convolution by name). NAS-Bench-101 then prunes the dummy and the loose ends, so that
neither the op of a loose end nor the dummy has any influence on the truth.

How many there are: the published sizes, 6,240 / 29,160 / 363,648, follow two rules (`count` has more).

* Space 2: the product of all choices, `encodings`. For spaces 1 and 3 this rule gives 14,580 and 1,312,200.
* Spaces 1 and 3: the op of a block counts only if an edge leaves the block, whether or not it leads to the
  output: `used_ops`, the sum of 3^(blocks with an edge out) over all wirings. For space 2 it gives 16,632.

A space has one more size that matters, `cells`: only so many different networks are behind its encodings.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from harness.base.errors import HarnessError
from harness.spaces import nb101
from harness.spaces.common import draw, unknown
from harness.spaces.graph_hash import (
    CONV1X1,
    CONV3X3,
    INPUT,
    MAX_VERTICES,
    OPS,
    OUTPUT,
    fingerprints,
    module_hash,
    prune,
)

if TYPE_CHECKING:
    import torch

PARENTS = {1: (1, 2, 2, 2, 2), 2: (1, 1, 2, 2, 3), 3: (1, 1, 1, 2, 2, 2)}  # of each block, then of the output
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Count:
    """How many architectures a space has under each rule (see the module's docstring)."""

    space: int
    wirings: int  # choices of parents alone
    encodings: int  # wirings x ops of all blocks
    used_ops: int  # ops of blocks without an edge out not counted
    reaching_ops: int  # ops of blocks without a path to the output not counted
    complete: int  # encodings in which every block reaches the output
    pruned: int  # distinct matrices and ops after pruning
    cells: int  # distinct up to isomorphism: NAS-Bench-101 cells

    @property
    def published(self) -> int:
        """The size that the paper prints with loose ends."""
        return self.encodings if self.space == 2 else self.used_ops


@dataclass(frozen=True)
class NB1Shot1:
    """The `Space` of one of the three; `number` is 1, 2 or 3."""

    number: int

    datasets = ("cifar10",)

    @property
    def name(self) -> str:
        return f"nb1shot1-{self.number}"

    @property
    def blocks(self) -> int:
        return len(PARENTS[self.number]) - 1

    @property
    def size(self) -> int:
        return prod(map(len, _choices(self.number))) * len(OPS) ** self.blocks

    def sample(self, n: int, rng: np.random.Generator) -> list[str]:
        return self.strings(np.array(draw(n, self.size, rng), np.int64))

    def enumerate(self) -> Iterator[str]:
        """By index: the first block's parents slowest, the last block's op fastest."""
        return iter(self.strings(np.arange(self.size)))

    def strings(self, indices: np.ndarray) -> list[str]:
        """The architectures with these indices."""
        wirings, labels = np.divmod(indices, len(OPS) ** self.blocks)
        left, right = _wiring_texts(self.number), _op_texts(self.number)
        return [f"{left[w]}|{right[o]}" for w, o in zip(wirings.tolist(), labels.tolist(), strict=True)]

    def indices(self, archs: Sequence[str]) -> np.ndarray:
        """The positions of architectures in `enumerate`."""
        known = _positions(self.number)
        found = np.empty(len(archs), np.int64)
        for row, arch in enumerate(archs):
            left, _, right = arch.partition("|") if isinstance(arch, str) else ("", "", "")
            if left not in known[0] or right not in known[1]:
                left, right = self.validate(arch).split("|")
            found[row] = known[0][left] * len(known[1]) + known[1][right]
        return found

    def validate(self, arch: str) -> str:
        """Without spaces and with the parents in ascending order."""
        if not isinstance(arch, str):
            raise HarnessError(f"an {self.name} architecture is a string, not {type(arch).__name__}")
        where = f"{self.name} architecture {arch!r}"
        left, bar, right = re.sub(r"\s", "", arch).partition("|")
        if not bar:
            raise HarnessError(f"{where} has no '|' between its parents and its ops")
        groups, ops = left.split(";"), right.split(",")
        if len(groups) != self.blocks + 1:
            need = f"{self.blocks + 1} ({self.blocks} blocks and the output)"
            raise HarnessError(f"{where} names parents for {len(groups)} vertices where {need} are needed")
        if len(ops) != self.blocks:
            raise HarnessError(f"{where} has {len(ops)} ops where {self.blocks} are needed, one per block")
        for op in ops:
            if op not in OPS:
                raise HarnessError(f"{where}: {unknown('op', op, OPS)}")
        normal = [self._parents(where, vertex, group) for vertex, group in enumerate(groups, start=1)]
        return f"{';'.join(normal)}|{right}"

    def _parents(self, where: str, vertex: int, group: str) -> str:
        who = "the output" if vertex > self.blocks else f"block {vertex}"
        numbers = group.split(",")
        if not all(re.fullmatch("0|[1-9]", number) for number in numbers):
            raise HarnessError(f"{where}: the parents of {who}, {group!r}, must be numbers joined by ','")
        chosen, need = sorted({int(number) for number in numbers}), PARENTS[self.number][vertex - 1]
        if len(numbers) != need:
            raise HarnessError(f"{where}: {who} has {len(numbers)} parents where {need} are needed")
        if len(chosen) != need:
            raise HarnessError(f"{where}: {who} names a parent twice")
        if chosen[-1] >= vertex:
            raise HarnessError(f"{where}: {who} has parent {chosen[-1]} where {vertex - 1} is the highest")
        return ",".join(map(str, chosen))

    def to_nb101_arrays(self, archs: Sequence[str] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """NAS-Bench-101 cells as (n, 7, 7) matrices and (n, 7) op codes: of these, or of the whole space."""
        indices = np.arange(self.size) if archs is None else self.indices(archs)
        wirings, labels = np.divmod(indices, len(OPS) ** self.blocks)
        matrices = _matrices(self.number)[wirings]
        ops = np.full((len(indices), MAX_VERTICES), CONV1X1, np.uint8)
        ops[:, 0], ops[:, -1] = INPUT, OUTPUT
        for block in range(self.blocks, 0, -1):
            labels, digit = np.divmod(labels, len(OPS))
            ops[:, block] = CONV3X3 + digit
        return matrices, ops

    def to_nb101(self, arch: str) -> str:
        """The NAS-Bench-101 architecture as it is queried: seven vertices, nothing pruned."""
        return nb101.strings(*self.to_nb101_arrays([arch]))[0]

    def fingerprints(self, archs: Sequence[str] | None = None) -> np.ndarray:
        """Of the NAS-Bench-101 cells of these, or of the whole space in the order of `enumerate`."""
        return fingerprints(*self.to_nb101_arrays(archs))

    def canonical(self, arch: str) -> str:
        """The module hash in NAS-Bench-101."""
        matrices, ops = self.to_nb101_arrays([arch])
        return module_hash(matrices[0], ops[0])

    def params(self, arch: str, dataset: str) -> int:
        return int(self.params_of([arch], dataset)[0])

    def flops(self, arch: str, dataset: str) -> int:
        nb101.on_cifar10(self.name, dataset)
        return int(nb101.counts(self.fingerprints([arch]))[1][0])

    def params_of(self, archs: Sequence[str] | None, dataset: str) -> np.ndarray:
        """Parameters of the networks that NAS-Bench-101 trained for these (None: for the whole space)."""
        nb101.on_cifar10(self.name, dataset)
        return nb101.counts(self.fingerprints(archs))[0]

    def build(self, arch: str, dataset: str) -> "torch.nn.Module":
        nb101.on_cifar10(self.name, dataset)
        return nb101.SPACE.build(self.to_nb101(arch), dataset)


def space(number: int) -> NB1Shot1:
    """Search space 1, 2 or 3."""
    if number not in PARENTS:
        raise unknown("NAS-Bench-1Shot1 space", number, [str(n) for n in PARENTS])
    return NB1Shot1(number)


def counts() -> tuple[Count, ...]:
    """The three spaces under every rule, counted."""
    return tuple(count(number) for number in PARENTS)


def count(number: int) -> Count:
    """One space under every rule, by going through all its wirings and cells."""
    here = space(number)
    matrices = _matrices(number)
    leaving = matrices[:, 1:-1].any(axis=2).sum(axis=1)
    every, ops = here.to_nb101_arrays()
    first = slice(None, None, len(OPS) ** here.blocks)  # one encoding per wiring
    reaching = prune(every[first], ops[first])[2] - 2
    prints = here.fingerprints()
    return Count(
        space=number,
        wirings=len(matrices),
        encodings=len(every),
        used_ops=int((len(OPS) ** leaving).sum()),
        reaching_ops=int((len(OPS) ** reaching).sum()),
        complete=int((reaching == here.blocks).sum()) * len(OPS) ** here.blocks,
        pruned=_distinct(every, ops),
        cells=len(np.unique(prints)),
    )


def _distinct(matrices: np.ndarray, ops: np.ndarray) -> int:
    """Distinct pairs after pruning, each packed into one integer (21 edges and five ops make 61 bits)."""
    keys = np.empty(len(ops), np.int64)
    for start in range(0, len(ops), _CHUNK):
        edges, codes, _ = prune(matrices[start : start + _CHUNK], ops[start : start + _CHUNK])
        upper = edges[(slice(None), *np.triu_indices(MAX_VERTICES, 1))]
        labels = codes[:, 1:-1].astype(np.int64) @ (1 << np.arange(0, 40, 8))
        keys[start : start + _CHUNK] = labels << 21 | upper @ (1 << np.arange(21))
    return len(np.unique(keys))


@lru_cache(maxsize=3)
def _wirings(number: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Every choice of parents, for the blocks and the output."""
    return tuple(product(*_choices(number)))


def _choices(number: int) -> list[list[tuple[int, ...]]]:
    return [list(combinations(range(v), n)) for v, n in enumerate(PARENTS[number], start=1)]


@lru_cache(maxsize=3)
def _matrices(number: int) -> np.ndarray:
    """The adjacency matrix of every wiring in NAS-Bench-101: the output is vertex 6 in all three spaces."""
    matrices = np.zeros((len(_wirings(number)), MAX_VERTICES, MAX_VERTICES), np.uint8)
    targets = [*range(1, len(PARENTS[number])), MAX_VERTICES - 1]
    for matrix, wiring in zip(matrices, _wirings(number), strict=True):
        for target, parents in zip(targets, wiring, strict=True):
            matrix[list(parents), target] = 1
    matrices.setflags(write=False)
    return matrices


@lru_cache(maxsize=3)
def _positions(number: int) -> tuple[dict[str, int], dict[str, int]]:
    """The numbers of the wirings and of the op lists by their text."""
    return (
        {text: position for position, text in enumerate(_wiring_texts(number))},
        {text: position for position, text in enumerate(_op_texts(number))},
    )


@lru_cache(maxsize=3)
def _wiring_texts(number: int) -> tuple[str, ...]:
    return tuple(";".join(",".join(map(str, parents)) for parents in wiring) for wiring in _wirings(number))


@lru_cache(maxsize=3)
def _op_texts(number: int) -> tuple[str, ...]:
    return tuple(",".join(ops) for ops in product(OPS, repeat=len(PARENTS[number]) - 1))
