"""What search spaces share: the size of a task, a draw without repeats, the error for an unknown name."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.base.errors import HarnessError


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
