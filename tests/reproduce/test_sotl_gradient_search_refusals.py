"""What a search by gradient refuses, in a sentence, and what is not lost then."""

from pathlib import Path

import pytest
from gradient_searches import SEARCHES, SOTL, begun, known, made_up_searches  # noqa: F401
from torch import Tensor

from harness.base.errors import HarnessError
from harness.runs import checkpoint, ground_truth
from reproduce.sotl import gradient_search
from reproduce.sotl.gradient_steps import SearchLoop

pytestmark = pytest.mark.usefixtures("one_thread", "made_up_searches")


def test_unroll_longer_than_an_epoch(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="unroll is 5 minibatches, an epoch has 4: lower it"):
        begun(tmp_path, **{**SOTL, "unroll": 5})


def test_a_parameter_that_becomes_nan_stops_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a sentence; what was kept before it stays, and it goes on from there."""
    run, config = SEARCHES.begun(tmp_path, **SOTL)
    monkeypatch.setattr(checkpoint.Checkpoint, "due", property(lambda self: True))
    moved = SearchLoop._move

    def broken(loop: SearchLoop, slopes: list[Tensor]) -> None:
        moved(loop, [slope * float("nan") if loop.step == 2 else slope for slope in slopes])

    monkeypatch.setattr(SearchLoop, "_move", broken)
    with pytest.raises(HarnessError, match="architecture parameter became nan at update 3 of 4: lower"):
        gradient_search.run(run, config)
    monkeypatch.setattr(SearchLoop, "_move", moved)
    begun_at = []
    one = SearchLoop._one
    monkeypatch.setattr(SearchLoop, "_one", lambda loop: (begun_at.append(loop.step), one(loop))[1])
    gradient_search.run(SEARCHES.begun(tmp_path, **SOTL)[0], config)
    assert begun_at == [2, 3]


def test_a_truth_that_lacks_the_found_cell_loses_no_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told in a sentence, and asked again without training anew."""
    run, config = SEARCHES.begun(tmp_path, **SOTL, truth_source="lacking")
    with pytest.raises(HarnessError, match="the source has no"):
        gradient_search.run(run, config)
    monkeypatch.setattr(ground_truth, "truths", lambda *asked, source: known(*asked, source="all"))
    monkeypatch.setattr(SearchLoop, "_one", lambda loop: pytest.fail("trained again"))
    gradient_search.run(SEARCHES.begun(tmp_path, **SOTL, truth_source="lacking")[0], config)


def test_a_checkpoint_of_another_search_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says so and begins anew."""
    run, config = SEARCHES.begun(tmp_path, **SOTL, truth_source="lacking")
    with pytest.raises(HarnessError):
        gradient_search.run(run, config)
    other = {**SOTL, "mean": True}
    run, config = SEARCHES.begun(tmp_path, **other)
    steps, one = [], SearchLoop._one
    monkeypatch.setattr(SearchLoop, "_one", lambda loop: (steps.append(loop.step), one(loop))[1])
    gradient_search.run(run, config)
    assert steps == [0, 1, 2, 3] and "does not count" in capsys.readouterr().err


PAIRS = {
    "darts with T": {"unroll": 3},
    "second order with T": {"algorithm": "darts_second_order", "unroll": 2},
    "a mean of noise": {"algorithm": "noise", "mean": True},
    "a mean of parameters": {"algorithm": "sovl_slip", "mean": True},
    "momentum of no rollout": {"algorithm": "sotl_exact", "momentum_restored": False},
    "validation images that are trained on": {"algorithm": "sovl", "merged": True},
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_an_algorithm_has_no_use_for(tmp_path: Path, name: str) -> None:
    """Bug of its name: such a pair ran as another algorithm, and nothing told it."""
    given = PAIRS[name]
    field, value = next((f, v) for f, v in given.items() if f != "algorithm")
    words = f"algorithm {given.get('algorithm', 'darts')} has no use for {field}: {value}: leave it out, or"
    with pytest.raises(HarnessError, match=words):
        SEARCHES.begun(tmp_path, **given)


def test_no_minibatch_per_update(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="algorithm sotl: unroll is 0 minibatches: take 1 or more"):
        SEARCHES.begun(tmp_path, **{**SOTL, "unroll": 0})
