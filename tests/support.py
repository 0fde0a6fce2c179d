"""What tests share."""

from pathlib import Path

import pytest


def real_data(relative: str) -> Path:
    """The path of a real data file, or a skip that says how to provide it."""
    from harness.files import find_data

    path = find_data(relative)
    if path is None:
        pytest.skip(f"needs {relative}: set NAS_DATA to a folder that holds it")
    return path
