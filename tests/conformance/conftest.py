"""The world that every file here sees: small images in CIFAR-10's layout, carried truths, nothing else."""

import numpy as np
import pytest

IMAGES = 128  # of each split, of 32x32 pixels


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """NAS_DATA and NAS_CACHE, the same for all tests of a process: truths are converted once."""
    root = tmp_path_factory.mktemp("world")
    batches = root / "data" / "cifar-10-batches-bin"
    batches.mkdir(parents=True)
    for seed, name in enumerate(("data_batch_1.bin", "test_batch.bin")):
        rng = np.random.default_rng(seed)
        rows = rng.integers(0, 256, (IMAGES, 1 + 3 * 32 * 32), np.uint8)
        rows[:, 0] %= 10
        (batches / name).write_bytes(rows.tobytes())
    return root


@pytest.fixture(autouse=True)
def world(folders, monkeypatch, one_thread):
    monkeypatch.setenv("NAS_DATA", str(folders / "data"))
    monkeypatch.setenv("NAS_CACHE", str(folders / "cache"))


@pytest.fixture
def nothing(folders, world, monkeypatch):
    """Nobody's data, and an empty cache; what travels with the project is still there."""
    monkeypatch.delenv("NAS_DATA")
    monkeypatch.setenv("NAS_CACHE", str(folders / "empty"))
