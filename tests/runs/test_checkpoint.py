"""The state of a long run: kept whole, found again, and never taken for another run's."""

import dataclasses
import hashlib
import io
import re
from pathlib import Path

import pytest
import torch
from support import calling

from harness.runs.checkpoint import Checkpoint
from harness.runs.record import Run
from harness.spec.experiments import RunSpec

SPEC = RunSpec("ldn", "e", "m", "s", 0, "smoke", {"epochs": 3}, {"threads": 1}, "harness.numbers.stats")


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
    assert said.count("\n") == 1 and said.endswith(": this run begins anew\n")
    assert "as it is of another run" in said or re.search("as its (config|code) has changed", said)


def test_another_number_of_threads_does_not_take_it(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        checkpoint(tmp_path).save({"epoch": 2})
        torch.set_num_threads(2)
        assert checkpoint(tmp_path).load() is None
    finally:
        torch.set_num_threads(before)


def sealed(content: object) -> bytes:
    """A file with the seal of ours, whatever is in it."""
    memory = io.BytesIO()
    torch.save(content, memory)
    return hashlib.sha256(memory.getvalue()).digest() + memory.getvalue()


def flipped(whole: bytes) -> bytes:
    """One bit of the state's numbers: torch alone takes such a file."""
    at = whole.index(torch.arange(100, 164).numpy().tobytes())
    return whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda whole: b"",
        lambda whole: b"half a file",
        lambda whole: whole[:-100],
        flipped,
        lambda whole: sealed([1, 2]),
        lambda whole: sealed(torch.zeros(3)),
        lambda whole: sealed({"state": {}}),
        lambda whole: sealed({"identity": "{}", "epoch": 1}),
    ],
)
def test_a_checkpoint_that_is_not_ours_is_set_aside_and_the_run_begins_anew(tmp_path, spoil, capsys) -> None:
    kept = checkpoint(tmp_path)
    kept.save({"order": torch.arange(100, 164)})
    kept.path.write_bytes(spoil(kept.path.read_bytes()))
    assert kept.load() is None and not kept.path.exists()
    told = capsys.readouterr().err
    assert told.startswith(f"{kept.path} is no whole checkpoint of this project (")
    assert told.endswith("): it is set aside as checkpoint.refused, this run begins anew\n")
    assert told.count("\n") == 1 and kept.path.with_name("checkpoint.refused").is_file()
    kept.save({})
    assert kept.load() == {}
    kept.remove()
    assert not list(tmp_path.iterdir())


def test_a_hostile_pickle_is_refused(tmp_path: Path, capsys) -> None:
    evil = calling(Path.touch, tmp_path / "executed")
    (tmp_path / "checkpoint").write_bytes(sealed({"identity": "{}", "state": evil}))
    assert checkpoint(tmp_path).load() is None
    assert "no whole checkpoint" in capsys.readouterr().err
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


def test_a_phase_that_ended_is_not_run_again_and_leaves_its_record_again(tmp_path: Path) -> None:
    weights = torch.zeros(2)

    def first(phase):
        run.table("data", {"a": [1]})
        run.metric("steps", 3, "steps")
        run.truth({"source": "here"})
        return {"weights": weights, "rows": [(1.0, float("-inf"))]}

    for _ in range(2):
        run = Run(SPEC, tmp_path)
        found = Checkpoint(run).phase("first", first)
        assert torch.equal(found["weights"], torch.zeros(2)) and found["rows"] == [(1.0, float("-inf"))]
        assert [vars(metric) for metric in run.metrics] == [{"name": "steps", "value": 3.0, "unit": "steps"}]
        assert list(run.tables) == ["data.csv"] and run.truths == [{"source": "here"}]
        first = None  # it must not be called
    (tmp_path / "data.csv").write_text("another")
    with pytest.raises(TypeError):
        checkpoint(tmp_path).phase("first", first)


def test_a_phase_goes_on_from_its_own_state_and_keeps_what_was_there(tmp_path: Path) -> None:
    seen = []

    def second(phase):
        inner = phase.phase("inner", lambda part: "inner" if part.state is None else "again")
        seen.append((phase.state, inner))
        if phase.state is None:
            phase.save({"step": 1})
            raise KeyboardInterrupt
        return "second"

    for time in range(2):
        kept = checkpoint(tmp_path)
        assert kept.phase("first", lambda _, time=time: time) == 0
        with pytest.raises((KeyboardInterrupt, StopIteration)):
            assert kept.phase("second", second) == "second"
            raise StopIteration
    assert seen == [(None, "inner"), ({"step": 1}, "inner")]


def test_what_a_phase_returned_does_not_change_with_what_is_trained_on(tmp_path: Path) -> None:
    weights, kept = torch.zeros(2), checkpoint(tmp_path)
    kept.phase("first", lambda _: {"weights": weights})
    weights += 1
    kept.phase("second", lambda phase: phase.save("something"))
    assert torch.equal(checkpoint(tmp_path).phase("first", None)["weights"], torch.zeros(2))
