"""What tests share."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from scipy.stats import binomtest

from harness.numbers.cells import Filled
from harness.numbers.claim_test import Ask
from harness.numbers.contrast import contrast
from harness.numbers.judge import Verdict
from harness.numbers.stats import Estimate, exact


def real_data(relative: str) -> Path:
    """The path of a real data file, or a skip that says how to provide it."""
    from harness.bench.carried import find_data

    path = find_data(relative)
    if path is None:
        pytest.skip(f"needs {relative}: set NAS_DATA to a folder that holds it")
    return path


def verdict(
    weights: Sequence[float], numbers: Sequence[Estimate], relation: str = ">", asked: float = 0.0
) -> str:
    """On a sum of weighted numbers that is all that a claim says."""
    sign = -1 if relation in ("<", "falling") else 1
    holds, fails = Ask(relation, asked).of(contrast([sign * w for w in weights], numbers))
    return "agrees" if holds <= 0.025 else "contradicts" if fails <= 0.025 else "unclear"


def cells(**values: float | Estimate | None) -> list[Filled]:
    """`low_strong=3` fills the cell low / strong."""
    filled = []
    for name, value in values.items():
        estimate = exact(value) if isinstance(value, int | float) else value
        filled.append(Filled(*name.split("_"), estimate, "", None, Verdict(""), ()))
    return filled


def within(hits: int, repeats: int, low: float, high: float) -> bool:
    """No rate between low and high would be a surprise of one in a thousand."""
    above = binomtest(hits, repeats, high, "greater").pvalue
    below = binomtest(hits, repeats, low, "less").pvalue if low else 1.0
    return above > 1e-3 and below > 1e-3


def calling(function: Callable, *arguments: object) -> object:
    """An object that pickles as a call: whoever unpickles it carelessly makes that call."""

    class Hostile:
        def __reduce__(self) -> tuple:
            return function, arguments

    return Hostile()
