"""Folders of its own for every test that looks for image sets."""

import pytest


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """The parent of an empty NAS_DATA and an empty cache."""
    for name in ("NAS_DATA", "NAS_CACHE"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    return tmp_path
