"""The state of a long run: kept whole, found again, and never taken for another run's."""

import dataclasses
from pathlib import Path

import pytest
import torch

from harness.checkpoint import Checkpoint
from harness.errors import HarnessError
from harness.experiments import RunSpec
from harness.record import Run

SPEC = RunSpec("ldn", "e", "m", "s", 0, "smoke", {"epochs": 3}, {"threads": 1}, "harness.stats")


def checkpoint(folder: Path, **changed) -> Checkpoint:
    return Checkpoint(Run(dataclasses.replace(SPEC, **changed), folder))


def test_a_state_comes_back_as_it_was(tmp_path: Path) -> None:
    assert checkpoint(tmp_path).load() is None
    state = {
        "weights": torch.randn(3),
        "epoch": 2,
        "best": -float("inf"),
        "order": torch.Generator().get_state(),
    }
    checkpoint(tmp_path).save(state)
    found = checkpoint(tmp_path).load()
    assert torch.equal(found["weights"], state["weights"]) and torch.equal(found["order"], state["order"])
    assert (found["epoch"], found["best"]) == (2, -float("inf"))
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint"]  # no half-written file beside it


@pytest.mark.parametrize(
    "changed",
    [{"seed": 1}, {"config": {"epochs": 4}}, {"scale": "cpu"}, {"module": "harness.metrics.ranking"}],
)
def test_another_run_config_scale_or_code_does_not_take_it(tmp_path: Path, changed: dict, capsys) -> None:
    checkpoint(tmp_path).save({"epoch": 2})
    assert checkpoint(tmp_path, **changed).load() is None
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "another configuration" in said and "begins anew" in said


def test_another_number_of_threads_does_not_take_it(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        checkpoint(tmp_path).save({"epoch": 2})
        torch.set_num_threads(2)
        assert checkpoint(tmp_path).load() is None
    finally:
        torch.set_num_threads(before)


def test_a_file_that_is_no_checkpoint_is_told(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_bytes(b"half a file")
    with pytest.raises(HarnessError, match="checkpoint cannot be read .* delete it"):
        checkpoint(tmp_path).load()


def test_a_hostile_pickle_is_refused(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "executed",))

    torch.save({"key": "", "state": Evil()}, tmp_path / "checkpoint")
    with pytest.raises(HarnessError):
        checkpoint(tmp_path).load()
    assert not (tmp_path / "executed").exists()


def test_it_is_due_after_its_time_and_not_again_at_once(tmp_path: Path) -> None:
    kept = Checkpoint(Run(SPEC, tmp_path), every=3600)
    assert not kept.due
    kept.every = 0
    assert kept.due
    kept.every = 0.5
    kept.save({})
    assert not kept.due
    kept.remove()
    kept.remove()
    assert kept.load() is None
