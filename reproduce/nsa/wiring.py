"""Section 2: wirings, drawn by id as the authors draw them: a set of 5 is a part of that of 500."""

from functools import cache

import numpy as np

from harness.base.errors import HarnessError

STAGES = 3
NODES = 8
PROBABILITY = 0.3  # of a skip connection
LAST_ID = 2**32 - 1  # ids are seeds of numpy's RandomState


def wiring(number: int, nodes: int = NODES) -> np.ndarray:
    """[stage, row, column]: row r < nodes tells the inputs of node r + 1, the last one those of the output.

    Column j is the stage's input (0) or node j. The diagonal is the chain, which is always there.
    """
    if not 0 <= number <= LAST_ID:
        raise HarnessError(f"there is no architecture {number}: ids go from 0 to {LAST_ID}")
    draws = np.random.RandomState(number).rand(STAGES, nodes + 1, nodes + 1)
    skips = np.tril(draws > 1 - PROBABILITY, -1)
    return skips | np.eye(nodes + 1, dtype=bool)


@cache
def wirings(first: int, count: int, nodes: int = NODES) -> np.ndarray:
    """[architecture, stage, row, column]: so many by successive ids."""
    if count < 1 or first + count - 1 > LAST_ID:
        raise HarnessError(
            f"{count} architectures from id {first} on: there are 1 to {LAST_ID - first + 1}, choose fewer"
        )
    return np.stack([wiring(number, nodes) for number in range(first, first + count)])


def residual(nodes: int = NODES) -> np.ndarray:
    """The one wiring of WRN-28-10†: the sums of residual blocks of two nodes, unrolled (Figure 1c)."""
    even = np.arange(nodes + 1) % 2 == 0
    one = np.tril(even[:, None] & even[None, :]) | np.eye(nodes + 1, dtype=bool)
    return np.repeat(one[None, None], STAGES, axis=1)


def checked(wired: np.ndarray, nodes: int = NODES) -> np.ndarray:
    """The same, or a sentence: each node needs an input, and none may come from behind."""
    if wired.shape[-3:] != (STAGES, nodes + 1, nodes + 1):
        raise HarnessError(
            f"a wiring of shape {wired.shape} is none of {STAGES} stages of {nodes} nodes, which has"
            f" {(STAGES, nodes + 1, nodes + 1)}"
        )
    if np.triu(wired, 1).any():
        raise HarnessError("a node takes an input from behind it: keep to the lower triangle of the wiring")
    if not wired.any(-1).all():
        stage, row = np.argwhere(~wired.any(-1))[0][-2:]
        raise HarnessError(f"stage {stage + 1}: row {row + 1} of the wiring is empty: give it an input")
    return wired
