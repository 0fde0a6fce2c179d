"""Search spaces: what an architecture is, how many there are, what it costs and how it is built."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from harness.spaces.common import unknown

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
