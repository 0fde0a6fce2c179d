"""Which paths through a super-network a training step uses."""

from collections.abc import Callable
from typing import Any, Literal, Protocol

import numpy as np

from harness.base.errors import HarnessError

Path = tuple[Any, ...]  # one choice per searched cell; what a choice is, the space's module says
Draw = Callable[[np.random.Generator], list[Path]]
How = Literal["per_cell", "shared", "fair"]


class Choices(Protocol):
    """What a super-network's module knows of its space; strict fairness also needs `fair`."""

    def choice(self, arch: str) -> Any:
        """What every cell of this architecture chooses."""
        ...

    def uniform(self, rng: np.random.Generator) -> Any:
        """One of all the space's cells."""
        ...


def whole(chosen: Any, cells: int) -> Path:
    """The path of one architecture: the same choice in every cell."""
    return (chosen,) * cells


def drawing(space: Choices, how: How, paths: int, cells: int) -> Draw:
    """A function that draws the paths of one gradient.

    per_cell: every cell for itself, so that no architecture is ever trained as a whole (sotl D7).
    shared: one cell for the whole network, uniform over the space.
    fair: as many networks as there are operations, which together use each of them once on every edge.
    """
    if how == "fair":
        if not hasattr(space, "fair"):
            raise HarnessError(
                "strict fairness needs operations on edges, here they are on nodes: use sampling: shared"
            )
        return lambda rng: [whole(chosen, cells) for chosen in space.fair(rng)]
    if how == "per_cell":
        one = getattr(space, "connected", space.uniform)
        return lambda rng: [tuple(one(rng) for _ in range(cells)) for _ in range(paths)]
    return lambda rng: [whole(space.uniform(rng), cells) for _ in range(paths)]
