"""The spirals' experiments: what a run leaves, that it can be continued, the figures that come out of it."""

import base64
import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from harness.base.layout import Layout
from harness.base.settings import build
from harness.data.spirals import Points
from harness.make import fresh, make
from harness.runs.record import Run, write_record
from harness.spec import artefacts
from harness.spec.experiments import RunSpec, find_run, paper
from reproduce.ldn import posterior, spirals
from reproduce.ldn.spiral_evaluation import SPAN, log_probabilities, packed_points, scores, squares

FIGURES = ("figure_2", "figure_3", "figure_5", "figure_6", "figure_7", "figure_8")


def spec(seed: int = 0, **config) -> RunSpec:
    values = {"kind": "ldn", "depths": [3, 6], "epochs": 60, "functions_of": 3, "side": 6, **config}
    return RunSpec("ldn", "spirals", "m", "s", seed, "smoke", values, {"threads": 1}, "reproduce.ldn.spirals")


def done(folder: Path, chosen: RunSpec) -> Run:
    run = Run(chosen, folder)
    folder.mkdir(parents=True, exist_ok=True)
    spirals.run(run, build(spirals.Config, chosen.config, chosen.id))
    return run


def table(run: Run, name: str) -> pd.DataFrame:
    return pd.read_csv(run.folder / f"{name}.csv")


@pytest.fixture(scope="module")
def ldn(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return done(tmp_path_factory.mktemp("ldn"), spec())


def test_depths_hold_the_learnt_and_the_exact_posterior(ldn: Run) -> None:
    depths, models = table(ldn, "depths"), table(ldn, "models")
    assert depths.groupby("max_depth")["depth"].apply(list).to_dict() == {3: [0, 1, 2, 3], 6: list(range(7))}
    for d, mine in depths.groupby("max_depth"):
        assert mine["q"].sum() == pytest.approx(1) and mine["q"].nunique() == d + 1
        # Eq. 5 from the table's own likelihoods
        total = torch.tensor(mine["train_log_likelihood"].to_numpy() * 200)
        exact = posterior.exact_posterior(total, posterior.prior(d))
        assert mine["exact_posterior"].to_numpy() == pytest.approx(exact.numpy(), abs=1e-9)
        q, model = torch.tensor(mine["q"].to_numpy()), models[models["max_depth"] == d].iloc[0]
        assert model["d_argmax"] == q.argmax() and model["exact_argmax"] == exact.argmax()
        assert model["d_95"] == int(posterior.d_95(q)) and model["d_expected"] == int(posterior.d_expected(q))
        assert model["elbo"] == pytest.approx(float(posterior.elbo(total, q, posterior.prior(d))), abs=1e-4)
        assert model["elbo_gap"] == pytest.approx(float((q * (q / exact).log()).sum()), abs=1e-4)


def test_predictions_pruned_to_the_last_depth_are_the_full_ones(ldn: Run) -> None:
    predictions = table(ldn, "predictions").set_index(["max_depth", "prediction"])
    functions = table(ldn, "functions")
    up_to = functions[functions["prediction"] == "up to depth"].set_index("depth")
    columns = ["mean_probability", "log_likelihood", "error"]
    full = predictions.loc[(3, "full"), columns].to_numpy(float)
    assert up_to.loc[3, columns].to_numpy(float) == pytest.approx(full)
    chosen = int(table(ldn, "models").iloc[0]["d_argmax"])
    pruned = predictions.loc[(3, "pruned_argmax"), columns].to_numpy(float)
    assert up_to.loc[chosen, columns].to_numpy(float) == pytest.approx(pruned)
    alone = functions[functions["prediction"] == "depth alone"].set_index("depth")
    assert up_to.loc[0, "drawn"] == alone.loc[0, "drawn"] and up_to.loc[2, "drawn"] != alone.loc[2, "drawn"]
    assert up_to.loc[0, columns].to_numpy(float) == pytest.approx(alone.loc[0, columns].to_numpy(float))
    assert predictions.loc[(3, "train"), "mean_probability"] != full[0]


def test_functions_are_maps_of_each_depth(ldn: Run) -> None:
    functions = table(ldn, "functions")
    assert functions["max_depth"].unique().tolist() == [3]
    assert functions["prediction"].value_counts().to_dict() == {
        "depth alone": 4,
        "up to depth": 4,
        "train points": 1,
    }
    maps = functions[functions["depth"] >= 0]["drawn"].map(base64.b64decode)
    assert set(maps.map(len)) == {36}
    assert len(base64.b64decode(functions.iloc[0]["drawn"])) == 3 * 200


def test_a_ddn_has_its_last_depth_alone_and_no_gap(tmp_path: Path) -> None:
    run = done(tmp_path, spec(kind="ddn", depths=[], every_depth_to=2, functions_of=2, epochs=5))
    depths, predictions = table(run, "depths"), table(run, "predictions")
    assert depths["depth"].tolist() == [0, 1, 2] == depths["max_depth"].tolist()
    assert (depths["q"] == 1).all() and (table(run, "models")["elbo_gap"] == 0).all()
    full = predictions[predictions["prediction"] == "full"]["mean_probability"]
    assert full.to_numpy() == pytest.approx(depths["mean_probability"].to_numpy())
    assert table(run, "functions")["prediction"].unique().tolist() == ["train points", "depth alone"]


def test_scores_of_known_predictions() -> None:
    log_p = torch.tensor([[[0.9, 0.1], [0.2, 0.8]], [[0.4, 0.6], [0.3, 0.7]]]).double().log()
    found = scores(log_p, torch.tensor([0.5, 0.5]).double(), np.array([0, 0]))
    assert found["mean_probability"] == pytest.approx((0.55 + 0.35) / 2)
    assert found["log_likelihood"] == pytest.approx(np.log([0.55, 0.35]).mean())
    assert found["error"] == 50


def test_evaluation_uses_running_statistics() -> None:
    network = spirals.seeded(2, 8, True, 0)
    x = np.random.default_rng(0).normal(size=(10, 2)).astype(np.float32)
    whole, alone = log_probabilities(network, x), log_probabilities(network, x[:1])
    assert torch.allclose(whole[0], alone[0], atol=1e-6)


def test_maps_run_from_the_top_left_and_points_keep_their_arm() -> None:
    corners = squares(2)
    assert np.sign(corners).tolist() == [[-1, 1], [1, 1], [-1, -1], [1, -1]]
    assert np.abs(corners).max() == pytest.approx(SPAN / 2)
    points = Points(np.array([[SPAN, -SPAN], [0, SPAN * 3]], np.float32), np.array([1, 0]))
    unpacked = np.frombuffer(base64.b64decode(packed_points(points)), np.int8).reshape(-1, 3)
    assert unpacked.tolist() == [[127, -127, 1], [0, 127, 0]]


def test_networks_of_a_repeat_share_their_spirals_and_methods_share_them_too() -> None:
    """D5: another depth or method sees the same points; another repeat or rotation does not."""

    def points(seed: int = 0, kind: str = "ldn", depth: int = 3, rotation: float = 720.0) -> np.ndarray:
        chosen = spec(seed, kind=kind)
        config = build(spirals.Config, chosen.config, chosen.id)
        return spirals._model(Run(chosen, Path("unused")), config, depth, 20, rotation, 200).train.x

    assert np.array_equal(points(), points(kind="ddn", depth=9))
    assert not np.array_equal(points(), points(seed=1))
    assert not np.array_equal(points(), points(rotation=360.0))


def test_results_do_not_depend_on_the_other_networks_of_the_run(tmp_path: Path) -> None:
    """Before chaos sets in: one network alone or beside others, up to float tolerance."""
    together = table(done(tmp_path / "a", spec(epochs=8, functions_of=None)), "depths")
    alone = table(done(tmp_path / "b", spec(epochs=8, functions_of=None, depths=[6])), "depths")
    mine = together[together["max_depth"] == 6].reset_index(drop=True)
    assert mine["q"].to_numpy() == pytest.approx(alone["q"].to_numpy(), abs=1e-5)
    assert mine["mean_probability"].to_numpy() == pytest.approx(
        alone["mean_probability"].to_numpy(), abs=1e-3
    )


def test_the_published_set_up_is_the_published_one() -> None:
    runs = [run for run in paper("ldn").runs("cpu") if run.module.endswith("ldn.spirals")]
    configs = {run.id.rsplit("/", 1)[0]: build(spirals.Config, run.config, run.id) for run in runs}
    scans = {name: c for name, c in configs.items() if "switches" not in name}
    assert sum(len(list(c.grid)) for c in scans.values()) * 6 >= 900
    grid = [d for d, *_ in scans["ldn/spirals_depth/ldn/published"].grid]
    assert grid == [5, 10, 15, 20, 25, 30, 35, 40, 50, 60, 70, 80, 90, 100]
    assert [d for d, *_ in scans["ldn/spirals_depth/ddn/published"].grid] == list(range(101))
    widths = sorted(w for name, c in scans.items() if "width" in name for w in c.widths)
    assert widths == [5, 10, 20, 40, 50, 60, 70, 80, 100, 150, 200, 500]
    at_paper = {w for r in paper("ldn").runs("paper") if "width" in r.id for w in r.config["widths"]}
    assert at_paper == {*widths, 1000}
    for config in scans.values():
        assert (config.lr, config.momentum, config.batch, config.epochs, config.patience) == (
            0.1,
            0.5,
            512,
            8000,
            500,
        )
        assert config.noise_kind == "uniform01" and config.scale == "mean"
    assert scans["ldn/spirals_rotation/ldn/published"].noise == 0.15
    assert {run.seed for run in runs if "switches" not in run.id} == set(range(6))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """The six figures at scale smoke from runs of two epochs."""
    layout = Layout("smoke", tmp_path_factory.mktemp("project"))
    chosen = [artefacts.find(f"ldn/{name}") for name in FIGURES]
    for name in {run.id for artefact in chosen for run in artefact.runs("smoke")}:
        found = find_run(name, "smoke")
        short = dataclasses.replace(found, config={**found.config, "epochs": 2})
        run = done(layout.run_folder(name), short)
        identity = {"config": short.config, "code": "test", "threads": 1}
        write_record(run, identity=identity, commit="", device="cpu", allocator="", started="", seconds=0.0)
    for artefact in chosen:
        make.make(artefact, layout)
    return layout


def test_every_figure_is_drawn_from_its_cells(made: Layout) -> None:
    for name in FIGURES:
        artefact = artefacts.find(f"ldn/{name}")
        assert all(path.stat().st_size > 0 for path in fresh.outputs(artefact, made.results))
    figure_2 = make.read_cells(made.results / "figures/ldn/figure_2.cells.csv").set_index(["column", "row"])
    assert figure_2.loc[[("q", f"d={d}") for d in range(51)], "value"].sum() == pytest.approx(1)
    assert ("q", "d=51") not in figure_2.index and ("d_opt", "d=5") not in figure_2.index
    assert "thinned" in figure_2.loc[("DDN", "d=4"), "reason"]


def test_maps_come_with_the_number_of_all_repeats_and_the_picture_of_the_first(made: Layout) -> None:
    cells = make.read_cells(made.results / "figures/ldn/figure_3.cells.csv").set_index(["column", "row"])
    cell = cells.loc[("LDN alone", "i=10")]
    assert cell["n"] == 2 and len(base64.b64decode(cell["text"])) == 32 * 32
    first = pd.read_csv(made.run_folder("ldn/spirals_depth/ldn/published/s0") / "functions.csv")
    mine = first[(first["depth"] == 10) & (first["prediction"] == "depth alone")].iloc[0]
    assert cell["text"] == mine["drawn"] and cell["value"] != mine["mean_probability"]
    assert "AAAA" not in (made.results / "figures/ldn/figure_3.md").read_text()  # no picture in the tables


def test_divergence_is_recorded_and_does_not_stop_the_run(tmp_path: Path) -> None:
    """Eq. 2 as printed at learning rate 0.1: the weights explode within some epochs."""
    run = done(tmp_path, spec(scale="sum", functions_of=None, epochs=300))
    models = table(run, "models")
    assert models["diverged"].all() and (models["diverged_epoch"] == models["epochs"] - 1).all()
    assert {m.name: m.value for m in run.metrics} == {"diverged": 2.0}
    assert not table(done(tmp_path / "calm", spec(epochs=3)), "models")["diverged"].any()
