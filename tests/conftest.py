"""What every test may ask for: real data where it is, one thread."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("OMP_NUM_THREADS", "1")
settings.register_profile("here", deadline=None)  # on a busy machine an example may take its time
settings.load_profile("here")
if "NAS_DATA" not in os.environ and (ROOT.parent / "shared" / "data").is_dir():
    os.environ["NAS_DATA"] = str(ROOT.parent / "shared" / "data")


@pytest.fixture
def nothing_carried(tmp_path, monkeypatch):
    """The tables that travel with the project are not found: others are looked for, or none."""
    monkeypatch.setattr("harness.bench.carried.TABLES", tmp_path / "no tables")


@pytest.fixture
def one_thread():
    """Sums of another number of threads differ in their last digit."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
