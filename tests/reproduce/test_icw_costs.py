"""Table 1's run: all methods in turns on the same steps, and what follows for a training that splits late."""

import icw_run
import numpy as np
import pandas as pd
import pytest
from icw_run import TINY, table
from small_runs import SmallRuns

from harness.base.errors import HarnessError
from harness.base.settings import build
from reproduce.icw import supernet_costs

MEASURED = {
    "variants": [
        {"name": "baseline"},
        {"name": "bias3", "dependence": {"kind": "bias", "depth": 3}},
        {"name": "split", "dependence": {"kind": "split"}},
    ],
    "splits": [{"name": "split125", "share": 0.5}, {"name": "split200", "share": 0.8}],
    "blocks": 4,
    "block_steps": 2,
    "warm_up": 3,
    "epochs": 5,
}


@pytest.fixture(autouse=True)
def noise(monkeypatch: pytest.MonkeyPatch) -> None:
    icw_run.made_up(monkeypatch)


done = SmallRuns(supernet_costs, {**TINY, **MEASURED}).done


def fake_clock(monkeypatch: pytest.MonkeyPatch, cost: dict[str, float]) -> list[tuple[str, int]]:
    """Every step takes what its kind costs; who stepped when."""
    seen: list[tuple[str, int]] = []

    def timed(trainer) -> float:
        step = trainer.step
        trainer.one()
        kind = trainer.config.dependence.kind
        seen.append((kind, step))
        return cost[kind]

    monkeypatch.setattr(supernet_costs, "timed", timed)
    return seen


def test_increases_are_over_the_baseline_and_a_late_split_pays_for_what_remains(tmp_path, monkeypatch):
    fake_clock(monkeypatch, {"none": 0.010, "bias": 0.012, "split": 0.011})
    found = table(done(tmp_path), "times")
    assert found.groupby("kind").size().eq(4).all()
    of = found.groupby("kind")[["milliseconds", "training", "increase"]].mean()
    assert of["increase"].to_dict() == pytest.approx(
        {"baseline": 0, "bias3": 20, "split": 10, "split125": 5, "split200": 2}
    )
    assert of["milliseconds"]["bias3"] == pytest.approx(12)
    assert of["training"]["bias3"] == pytest.approx(0.012 * 20)  # 5 epochs of 4 steps


def test_every_variant_takes_every_step_and_none_is_always_first(tmp_path, monkeypatch):
    seen = fake_clock(monkeypatch, {"none": 1.0, "bias": 1.0, "split": 1.0})
    done(tmp_path)
    rounds = [seen[i : i + 3] for i in range(0, len(seen), 3)]
    assert len(rounds) == 3 + 4 * 2
    for step, turn in enumerate(rounds):
        assert {kind for kind, _ in turn} == {"none", "bias", "split"} and {s for _, s in turn} == {step}
    assert {turn[0][0] for turn in rounds} == {"none", "bias", "split"}


def test_memory_counts_weights_copies_and_what_autograd_keeps(tmp_path):
    found = table(done(tmp_path), "memory").set_index("kind")
    assert found["additional"]["baseline"] == 0 < found["additional"]["bias3"]
    assert (
        found["parameters"]["split"] == found["parameters"]["baseline"] and found["additional"]["split"] > 0
    )
    assert found["parameters"]["bias3"] - found["parameters"]["baseline"] == found["additional"]["bias3"]
    grown = 1e6 * (found["megabytes"] - found["megabytes"]["baseline"])
    assert grown["split"] == pytest.approx(4 * found["additional"]["split"])
    assert grown["bias3"] >= 3 * 4 * found["additional"]["bias3"]
    assert found["megabytes"]["baseline"] * 1e6 > 3 * 4 * found["parameters"]["baseline"]
    assert found["over_baseline"]["baseline"] == 0


def test_processor_time_is_measured(tmp_path):
    found = pd.read_csv(done(tmp_path).folder / "times.csv")
    assert (found["milliseconds"] > 0).all() and np.isfinite(found["increase"]).all()


def test_more_steps_than_the_training_has_are_one_sentence(tmp_path):
    with pytest.raises(HarnessError, match="43 steps are to be measured of a training of 20"):
        done(tmp_path, blocks=20)


def test_the_costliest_architecture_is_of_the_largest_operations():
    config = build(supernet_costs.Config, {**TINY, **MEASURED}, "here")
    assert supernet_costs.costliest(config).count("nor_conv_3x3") == 6
    stages = [{"channels": 8, "stride": 1, "cells": 3}]
    space = {"stem": 8, "stem_stride": 1, "first": 8, "head": 16, "stages": stages}
    config = {**TINY, **MEASURED, "network": "sequential", "space": space}
    assert supernet_costs.costliest(build(supernet_costs.Config, config, "here")) == "5-5-5"
