"""What tests share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.expect import Measured


def real_data(relative: str) -> Path:
    """The path of a real data file, or a skip that says how to provide it."""
    from harness.files import find_data

    path = find_data(relative)
    if path is None:
        pytest.skip(f"needs {relative}: set NAS_DATA to a folder that holds it")
    return path


def alone(value: float, half: float) -> Measured:
    """A difference that is the only part of its claim."""
    return Measured(value, half, half)


def calling(function: Callable, *arguments: object) -> object:
    """An object that pickles as a call: whoever unpickles it carelessly makes that call."""

    class Hostile:
        def __reduce__(self) -> tuple:
            return function, arguments

    return Hostile()
