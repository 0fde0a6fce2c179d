"""Figure 3's runs: which architectures, which prediction, which truth; on an invented table."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from harness.runs.record import Run
from harness.spaces import nb201
from harness.spec.experiments import RunSpec
from reproduce.icw import pruning

ASKED = {"dataset": "cifar10", "epochs": 200, "split": "test", "trials": "mean", "source": "a-table"}


@pytest.fixture
def bench(monkeypatch):
    """Accuracies that tell which architecture and which schedule they belong to."""
    asked: list[tuple] = []

    def truths(space, archs, dataset, epochs, split, trials, *, source):
        asked.append((epochs, split, trials, source))
        values = np.array([int(nb201.digits(arch)) + epochs / 1000 for arch in archs])
        return SimpleNamespace(values=values, identity=SimpleNamespace(epochs=epochs, split=split))

    monkeypatch.setattr("harness.runs.ground_truth.truths", truths)
    return asked


def table(tmp_path, **changed) -> tuple[Run, pd.DataFrame]:
    config = pruning.Config(
        **{"sub_space": "only-conv", "predictor": "params", "architectures": 64} | ASKED | changed
    )
    run = Run(RunSpec("icw", "pruning", "m", "s", 0, "smoke", {}, {}, ""), tmp_path)
    pruning.run(run, config)
    return run, pd.read_csv(tmp_path / "architectures.csv")


@pytest.mark.parametrize(("name", "size"), [("full", 15_625), ("no-zero", 4_096), ("only-conv", 64)])
def test_sizes_of_the_sub_spaces(bench, tmp_path, name, size):
    run, frame = table(tmp_path, sub_space=name, predictor="none", architectures=20_000)
    assert len(frame) == size and run.metrics[0].value == size
    assert list(frame) == ["truth"] and frame["truth"].is_unique
    cells = [str(int(v)).zfill(6) for v in frame["truth"]]
    assert set("".join(cells)) == set(pruning.SUB_SPACES[name])


def test_the_parameter_count_as_a_prediction(bench, tmp_path):
    run, frame = table(tmp_path)
    for _, line in frame.iterrows():
        arch = nb201.from_digits(str(int(line["truth"])).zfill(6))
        assert line["prediction"] == nb201.SPACE.params(arch, "cifar10")
    assert bench == [(200, "test", "mean", "a-table")] and len(run.truths) == 1


def test_a_short_training_as_a_prediction(bench, tmp_path):
    run, frame = table(
        tmp_path, predictor="short_training", short_epochs=12, short_split="val", short_trials="mean"
    )
    assert np.allclose(frame["truth"] - frame["prediction"], 0.2 - 0.012)
    assert bench == [(200, "test", "mean", "a-table"), (12, "val", "mean", "a-table")]
    assert [t["epochs"] for t in run.truths] == [200, 12]


def test_the_oracle_predicts_the_truth(bench, tmp_path):
    _, frame = table(tmp_path, predictor="truth")
    assert frame["prediction"].equals(frame["truth"])


def test_a_sample_is_drawn_without_replacement_and_the_same_every_time(bench, tmp_path):
    first, second = (table(tmp_path / str(i), sub_space="full", architectures=100)[1] for i in (1, 2))
    assert len(first) == 100 and first["truth"].is_unique and first.equals(second)
    assert first["truth"].is_monotonic_increasing
