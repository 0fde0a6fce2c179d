"""What tests of killed runs share."""

import pytest

from harness.runs.record import Run


@pytest.fixture(scope="module")
def wholes() -> dict[str, Run]:
    """A file's undisturbed runs by kind, each done by the first test that asks for it."""
    return {}
