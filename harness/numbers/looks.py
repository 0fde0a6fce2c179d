"""How sure a sentence must be where it may be looked at twice: once, and again with runs that were added.

Whoever adds runs to what is open, and only to that, gets a second chance of a false alarm. So the first look
spends nine tenths of the 5 %, and the second what is left (a group-sequential test). It is the harder to pass
the fewer runs were there before.
"""

from functools import cache

import numpy as np
from scipy import special

ALL = 0.025  # on each side, over both looks
FIRST = 0.9 * ALL


@cache
def side(had: float = 1.0) -> float:
    """The largest p value that is significant, on each side; `had`: the share of runs of the first look."""
    if had >= 1:
        return FIRST
    first, low, high = -special.ndtri(FIRST), FIRST / 1000, ALL
    between = had**0.5  # the correlation of the two looks

    def spent(second: float) -> float:
        """What a second look finds that the first did not."""
        found = np.linspace(-special.ndtri(second), 10, 20_001)
        missed = special.ndtr((first - between * found) / (1 - had) ** 0.5)
        return float(np.trapezoid(np.exp(-(found**2) / 2) / (2 * np.pi) ** 0.5 * missed, found))

    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) < ALL - FIRST else (low, middle)
    return low
