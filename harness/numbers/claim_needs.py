"""What it would take to decide a claim that is open, if mean and scatter stayed as they are."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from harness.numbers.claim_record import Part

MOST = 1000  # more runs than this nobody will do, nor
SAMPLE = 100  # so many times the architectures
FEASIBLE = 20  # runs beside which more architectures are asked for, where neither helps alone

Word = Callable[[float, float], str]  # with so many times the runs and the architectures


def of(parts: Sequence[Part], word: Word) -> dict[str, Any]:
    """The least runs of each method, else architectures, else both, with the verdict that they would give.

    The claim is decided by the first part to refute it, or by the last to hold.
    """
    runs = min((part.runs for part in parts if part.runs), default=0)
    sample = max((part.architectures for part in parts), default=0)
    if runs and (m := first(runs, MOST, lambda m: word(m / runs, 1.0) != "unclear")):
        return {"needed_runs": m, "would_be": word(m / runs, 1.0)}
    if not sample:
        return {}
    for beside in dict.fromkeys((runs, max(runs, FEASIBLE))):
        times = beside / runs if runs else 1.0
        if a := first(sample, SAMPLE * sample, lambda a, times=times: word(times, a / sample) != "unclear"):
            more = {"needed_runs": beside} if beside > runs else {}
            return {"needed_architectures": a, "would_be": word(times, a / sample), **more}
    return {}


def first(n: int, most: int, enough: Callable[[int], bool]) -> int:
    """The smallest number above n that is enough, 0 where none is; more hardly ever hurts."""
    if not enough(most):
        return 0
    low, high = n, most
    while high - low > 1:
        middle = math.ceil((low + high) / 2)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
