"""Search spaces: what an architecture is, how many there are, what it costs and how it is built."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from harness.errors import HarnessError

if TYPE_CHECKING:
    import torch

NAMES = ("nb201", "nb101", "nb1shot1-1", "nb1shot1-2", "nb1shot1-3", "darts", "fairnas")


@runtime_checkable
class Space(Protocol):
    """What every search space answers; an architecture is a `str` everywhere."""

    @property
    def name(self) -> str: ...

    @property
    def datasets(self) -> tuple[str, ...]: ...

    @property
    def size(self) -> int:
        """Number of distinct encodings, exact."""
        ...

    def sample(self, n: int, rng: np.random.Generator) -> list[str]:
        """n distinct architectures, uniform over the encodings."""
        ...

    def enumerate(self) -> Iterator[str]:
        """All of them in a fixed order; a HarnessError where the space is too large."""
        ...

    def canonical(self, arch: str) -> str:
        """A name of the isomorphism class: same name, same function."""
        ...

    def validate(self, arch: str) -> str:
        """The normalised string, or a HarnessError that names the defect."""
        ...

    def params(self, arch: str, dataset: str) -> int:
        """Trainable parameters of the network that `build` returns, as the benchmark counts them."""
        ...

    def flops(self, arch: str, dataset: str) -> int:
        """What the benchmark calls FLOPs of one image: each module says which convention that is."""
        ...

    def params_of(self, archs: Sequence[str], dataset: str) -> np.ndarray:
        """`params` of many architectures at once, int64."""
        ...

    def build(self, arch: str, dataset: str) -> "torch.nn.Module":
        """The stand-alone network as its benchmark trained it, freshly initialised."""
        ...


def get(name: str) -> Space:
    """The search space of this name; only its own module is imported, and none imports torch."""
    match name:
        case "nb201":
            from harness.spaces import nb201

            return nb201.SPACE
        case "nb101":
            from harness.spaces import nb101

            return nb101.SPACE
        case "nb1shot1-1" | "nb1shot1-2" | "nb1shot1-3":
            from harness.spaces import nb1shot1

            return nb1shot1.space(int(name[-1]))
        case "darts":
            from harness.spaces import darts

            return darts.SPACE
        case "fairnas":
            from harness.spaces import fairnas

            return fairnas.SPACE
    raise unknown("search space", name, NAMES)


@dataclass(frozen=True)
class Task:
    """What of an image set decides a network's size."""

    classes: int
    side: int


def task(space: str, dataset: str, tasks: Mapping[str, Task]) -> Task:
    """The task of one of a space's data sets."""
    if dataset not in tasks:
        raise unknown(f"dataset of {space}", dataset, list(tasks))
    return tasks[dataset]


def unknown(what: str, given: object, valid: Sequence[str]) -> HarnessError:
    """The error for a name that does not exist: the nearest valid one, then all of them."""
    near = difflib.get_close_matches(str(given), valid, n=1)
    hint = f"did you mean {near[0]!r}? valid" if near else "valid"
    return HarnessError(f"unknown {what} {given!r}: {hint} are {', '.join(valid)}")


def draw(n: int, size: int, rng: np.random.Generator) -> list[int]:
    """n distinct numbers below size, every sequence of n equally likely."""
    if not 0 <= n <= size:
        raise HarnessError(
            f"cannot draw {n} distinct architectures from a space of {size}: ask for 0 to {size}"
        )
    if size <= 1_000_000:
        return rng.choice(size, n, replace=False).tolist()
    # Too many to permute: draw with repeats and keep the first of each, in the order drawn.
    chosen: dict[int, None] = {}
    while len(chosen) < n:
        chosen.update(dict.fromkeys(rng.integers(size, size=n - len(chosen)).tolist()))
    return list(chosen)
