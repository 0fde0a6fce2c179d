"""Curves of the benchmark's own trainings: whole ones from official records, else their last epochs."""

import csv
import gzip
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from support import real_data

from harness.base.errors import HarnessError
from harness.base.settings import build
from harness.bench import truths
from harness.metrics.ranking import spearman
from harness.runs import ground_truth
from harness.runs.record import Run
from harness.spec.experiments import RunSpec, paper
from reproduce.sotl import scratch_curves
from reproduce.sotl.scratch_curves import Config, ends, last_epochs, official

NATS = "benchmarks/nb201/NATS-tss-v1_0-3ffb9-simple"
SAMPLE = "benchmarks/nb201/nats_sample_curves.csv.gz"
TABLE = "benchmarks/nb201/nb201.csv.gz"
CELL_11 = "|nor_conv_3x3~0|+|nor_conv_3x3~0|avg_pool_3x3~1|+|none~0|nor_conv_3x3~1|avg_pool_3x3~2|"
CONFIG = Config(
    dataset="cifar10",
    epochs=200,
    truth_split="test",
    truth_trials="mean",
    truth_source="nb201-table",
    val_200="test",
)


def config(**changed: object) -> Config:
    return replace(CONFIG, **changed)


def a_run(folder: Path, seed: int = 0) -> Run:
    return Run(RunSpec("sotl", "scratch_curves", "m", "s", seed, "smoke", {}, {}, ""), folder)


def at_scale(scale: str, method: str, setting: str) -> Config:
    runs = paper("sotl").experiments["scratch_curves"].runs(scale)
    (run,) = (run for run in runs if (run.method, run.setting, run.seed) == (method, setting, 0))
    return build(Config, run.config, run.id)


def flattened(dataset: str, schedule: str, seed: str) -> list[dict[str, str]]:
    with gzip.open(real_data(SAMPLE), "rt") as file:
        wanted = ("11", schedule, dataset, seed)
        names = ("arch_index", "hp", "dataset", "seed")
        rows = [row for row in csv.DictReader(file) if tuple(row[name] for name in names) == wanted]
    return sorted(rows, key=lambda row: int(row["epoch"]))


def test_epochs_are_kept_densely_first_and_to_the_end():
    assert config().kept[:22] == [*range(1, 21), 25, 30] and config().kept[-1] == 200
    assert config(epochs=12).kept == list(range(1, 13))
    assert config(epochs=23, each_to=2, then_every=10).kept == [1, 2, 10, 20, 23]


@pytest.mark.parametrize(
    ("setting", "schedule", "run", "column"),
    [
        ("cifar10", 200, "cifar10-valid", "x-valid"),
        ("cifar10", 12, "cifar10-valid", "x-valid"),
        ("cifar100", 200, "cifar100", "ori-test"),
        ("cifar100", 12, "cifar100", "x-valid"),
        ("imagenet16-120", 200, "ImageNet16-120", "ori-test"),
        ("imagenet16-120", 12, "ImageNet16-120", "x-valid"),
    ],
)
def test_whole_curves_are_the_official_records(setting, schedule, run, column):
    """At scale paper; ValAcc is on the validation part wherever the records have it at every epoch."""
    real_data(NATS)
    rows = flattened(run, str(schedule), "777" if schedule == 200 else "111")
    given = at_scale("paper", f"epochs{schedule}", setting)
    curves = official([CELL_11], given)
    loss = np.array([float(row["train_loss"]) for row in rows])
    at = np.array(given.kept) - 1
    np.testing.assert_allclose(curves.scores["sotl"][:, 0], -loss[at])
    np.testing.assert_allclose(curves.scores["sotl_all"][:, 0], -np.cumsum(loss)[at])
    for name, of, sign in (("valacc", "acc", 1), ("valloss", "loss", -1)):
        expected = np.array([float(row[f"{of}_{column}"]) for row in rows])[at]
        np.testing.assert_allclose(curves.scores[name][:, 0], sign * expected)
    assert (column == "x-valid") == all(row["acc_x-valid"] for row in rows)
    assert curves.origin["source"] == "nb201-nats" and f"{column} (" in curves.origin["policy"]


@pytest.mark.parametrize("schedule", [12, 200])
def test_last_epochs_are_of_the_same_trainings(schedule):
    """Of the schedule of 200 one of three seeds is held, of the one of 12 there is one."""
    real_data(scratch_curves.LAST_EPOCHS)
    real_data(TABLE)
    held, origin = last_epochs()
    found = ends([held[CELL_11]], [CELL_11], origin, config(epochs=schedule, val_200="val", val_12="test"))
    assert found.epochs == [schedule] and set(found.scores) == {"sotl", "valacc", "trainacc"}
    seeds = ("111",) if schedule == 12 else ("777", "888", "999")
    losses = [-float(flattened("cifar10", str(schedule), seed)[-1]["train_loss"]) for seed in seeds]
    assert any(found.scores["sotl"][0, 0] == pytest.approx(loss) for loss in losses)
    assert "x-valid" in found.origin["policy"] or schedule == 12


def test_the_thousand_cells_are_like_the_whole_space():
    """And their last-epoch loss ranks them well under both schedules: not .75, as the thesis has it."""
    real_data(scratch_curves.LAST_EPOCHS)
    real_data(TABLE)
    held, _ = last_epochs()
    archs = list(held)
    few = truths("nb201", archs, "cifar10", 200, "test", "mean", source="nb201-table").values
    whole = truths("nb201", np.arange(15625), "cifar10", 200, "test", "mean", source="nb201-table").values
    assert abs(np.median(few) - np.median(whole)) < 0.3
    for schedule in ("12", "200"):
        losses = np.array([-held[arch]["cifar10"][schedule][0] for arch in archs])
        assert spearman(losses, few) > 0.85


@pytest.fixture
def made(monkeypatch):
    """Curves and truths that follow from the architecture's text."""

    def curve(space, arch, dataset, epochs, split, trial, what):
        base = sum(map(ord, arch)) % 97 / 100
        slope = {"train_loss": -1.0, "train_acc": 1.0, "loss": -0.5, "acc": 0.5}[what]
        identity = SimpleNamespace(source="nb201-nats", sha256="0", policy=f"{split}, {trial}")
        return SimpleNamespace(values=base + slope * np.arange(1, epochs + 1) / epochs, identity=identity)

    def made_truths(space, archs, *key, source):
        identity = SimpleNamespace(source=source, key=key, policy="made")
        return SimpleNamespace(
            values=np.array([sum(map(ord, a)) % 89 for a in archs], float), identity=identity
        )

    monkeypatch.setattr(scratch_curves, "require_whole", lambda run: None)
    monkeypatch.setattr(scratch_curves, "curve", curve)
    for module in (ground_truth, scratch_curves):
        monkeypatch.setattr(module, "truths", made_truths)


def test_a_run_leaves_every_kept_epoch_of_its_own_draw(made, tmp_path):
    drawn = []
    for seed in (0, 1):
        run = a_run(tmp_path / str(seed), seed)
        scratch_curves.run(run, config(sample=5))
        curves, further = (pd.read_csv(run.folder / f"{name}.csv") for name in ("curves", "further"))
        assert curves["epoch"].unique().tolist() == config().kept and len(curves) == 5 * len(config().kept)
        assert {"sotl", "valacc", "trainacc", "params", "truth"} < set(curves)
        first = curves[curves["epoch"] == 1]["sotl"].to_numpy()
        np.testing.assert_allclose(further[further["epoch"] == 1]["sotl_all"], first)
        assert [t["key"] for t in run.truths] == [("cifar10", 200, "test", "mean")]
        drawn.append(pd.read_csv(run.folder / "architectures.csv")["architecture"].tolist())
    assert drawn[0] != drawn[1]


def test_of_last_epochs_there_is_nothing_further(made, tmp_path, monkeypatch):
    cells = {f"cell {i}": {"cifar10": {"12": [0.1 * i, 50 + i]}} for i in range(6)}
    monkeypatch.setattr(
        scratch_curves, "last_epochs", lambda: (cells, {"source": "ends", "policy": "one seed"})
    )
    monkeypatch.setattr(
        scratch_curves,
        "nb201",
        SimpleNamespace(SPACE=SimpleNamespace(params_of=lambda archs, _: range(len(archs)))),
    )
    run = a_run(tmp_path)
    scratch_curves.run(run, config(epochs=12, curves="last-epochs", sample=4))
    curves = pd.read_csv(tmp_path / "curves.csv")
    assert not (tmp_path / "further.csv").exists() and curves["epoch"].tolist() == [12] * 4
    archs = pd.read_csv(tmp_path / "architectures.csv")["architecture"]
    np.testing.assert_allclose(curves["sotl"], [-0.1 * int(a.split()[1]) for a in archs])
    with pytest.raises(HarnessError, match="has 6 cells, not 7: lower sample"):
        scratch_curves.run(run, config(epochs=12, curves="last-epochs", sample=7))


@pytest.mark.parametrize("cells", [0, 3])
def test_whole_curves_need_the_whole_archive(cells, tmp_path, monkeypatch):
    store = SimpleNamespace(meta=SimpleNamespace(cells=cells))
    monkeypatch.setattr(scratch_curves.catalogue, "find", lambda source: ([], []) if cells else None)
    monkeypatch.setattr(scratch_curves.catalogue, "open_store", lambda source, paths: store)
    with pytest.raises(HarnessError, match=f"of which {cells} of 15,625 records are here: unpack .*tar"):
        scratch_curves.run(a_run(tmp_path), config())


def test_what_is_not_there_is_said(tmp_path, monkeypatch):
    with pytest.raises(HarnessError, match="schedules of 12 and 200 epochs"):
        scratch_curves.run(a_run(tmp_path), config(epochs=50))
    monkeypatch.setattr(scratch_curves, "find_data", lambda name: None)
    with pytest.raises(
        HarnessError, match="put benchmarks/nb201/final_train_loss_1000.json.gz below NAS_DATA"
    ):
        last_epochs()
    broken = tmp_path / "broken.json.gz"
    broken.write_bytes(gzip.compress(b'{"a": ')[:-9])
    monkeypatch.setattr(scratch_curves, "find_data", lambda name: broken)
    with pytest.raises(HarnessError, match="broken.json.gz is not readable gzip JSON"):
        last_epochs()


@pytest.mark.parametrize("scale", ["cpu", "paper"])
def test_every_scale_builds_its_config(scale):
    for run in paper("sotl").experiments["scratch_curves"].runs(scale):
        built = build(Config, run.config, run.id)
        assert built.epochs == int(run.method.removeprefix("epochs")) and built.dataset == run.setting
        assert built.curves == {"cpu": "last-epochs", "paper": "nb201-nats"}[scale]
