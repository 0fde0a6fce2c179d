"""Section 4.1.2: the Fourier data, the models side by side, fixed degrees, and the search over degrees."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from harness.base.errors import HarnessError
from harness.base.settings import build
from harness.runs.record import Run
from harness.spec.experiments import RunSpec
from harness.training.unrolled import Batch, Outer, State, sgd
from reproduce.sotl import degree_search, fixed_degree
from reproduce.sotl.fourier_model import Data, Lines, Model, Order, features, hard, points, soft

SEPARATE = {"features": "separate", "count": 18, "frequency": 1, "points": 2000, "spaced": "evenly"}
SEPARATE |= {"half_width": 400 * np.pi, "noise": 0.25, "held": 0.1}
SUMMED = {"features": "summed", "count": 8, "frequency": 2 * np.pi, "points": 2000, "spaced": "at random"}
SUMMED |= {"half_width": 10, "noise": 0, "held": 0.1}
BOTH = pytest.mark.parametrize("data", [SEPARATE, SUMMED], ids=["separate", "summed"])


pytestmark = pytest.mark.usefixtures("one_thread")


def a_run(folder: Path, seed: int = 0) -> Run:
    spec = RunSpec("sotl", "degree_search", "all", "made-up", seed, "smoke", "m", {}, {})
    folder.mkdir(exist_ok=True)
    return Run(spec, folder)


def search(folder: Path, *searches: dict[str, Any], seed: int = 0, **changed: Any) -> dict[str, pd.DataFrame]:
    """The tables of a run of these searches."""
    given = {"data": SUMMED, "penalty": 0.01, "penalty_of": "square", "root": False, "steps": 12}
    config = build(degree_search.Config, {**given, "searches": list(searches), **changed}, "a test")
    run = a_run(folder, seed)
    degree_search.run(run, config)
    return {Path(file).stem: pd.read_csv(folder / file) for file in run.tables}


def test_the_features_of_either_kind():
    x = np.array([0.3, 1.1])
    found, degrees = features(x, "separate", 4)
    np.testing.assert_allclose(found, np.stack([np.ones(2), np.cos(x), np.sin(x), np.cos(2 * x)], axis=1))
    assert degrees.tolist() == [0, 1, 1, 2]
    found, degrees = features(x, "summed", 3)
    pairs = [np.cos(x) + np.sin(x), np.cos(2 * x) + np.sin(2 * x)]
    np.testing.assert_allclose(found, np.stack([np.ones(2), *pairs], axis=1))
    assert degrees.tolist() == [0, 1, 2]


@BOTH
def test_the_targets_are_a_series_of_degree_three_and_the_features_are_orthogonal(data, tmp_path):
    """Least squares finds coefficients of one up to degree three, and nothing above."""
    found = points(a_run(tmp_path), build(Data, data, ""))
    assert (found.train, len(found.y)) == (1800, 2000)
    weights = torch.linalg.lstsq(found.x, found.y).solution
    noise = data["noise"] ** 0.5
    assert torch.allclose(weights, (found.degrees <= 3).double(), atol=1e-9 + 5 * noise / 2000**0.5)
    left = (found.y - found.x @ weights).var()
    assert float(left) == pytest.approx(data["noise"], rel=0.1, abs=1e-20)
    product = found.x.T @ found.x / 2000
    assert float((product - product.diag().diag()).abs().max()) < 0.1
    with pytest.raises(HarnessError, match="do not go beyond degree 3"):
        points(a_run(tmp_path), build(Data, {**data, "count": int((found.degrees <= 3).sum())}, ""))


def test_seeds_differ_in_points_and_share_nothing(tmp_path):
    one, other = (points(a_run(tmp_path, seed), build(Data, SUMMED, "")) for seed in (0, 1))
    again = points(a_run(tmp_path), build(Data, SUMMED, ""))
    assert torch.equal(one.x, again.x) and float((one.x - other.x)[:, 1].abs().mean()) > 0.5


def test_every_pass_goes_through_all_points_once():
    order = Order(np.random.default_rng(0), 10, 3)
    passes = [torch.cat(order.take(3)).tolist() for _ in range(2)]
    assert all(len(set(one)) == 9 for one in passes) and passes[0] != passes[1]
    at_once = Order(np.random.default_rng(0), 10, 3).take(6)
    assert torch.cat(at_once).tolist() == passes[0] + passes[1]  # whatever T asks for at a time
    few = Order(np.random.default_rng(0), 10, 3, only=2)
    seen = [one.tolist() for one in few.take(5)]
    assert seen[0] == seen[2] == seen[4] != seen[1] == seen[3]
    with pytest.raises(HarnessError, match="a minibatch of 11 points out of 10"):
        Order(np.random.default_rng(0), 10, 11)


def test_the_gates():
    degrees = torch.tensor([0.0, 1, 1, 2])
    assert hard(torch.tensor([1.0, -1.0]), degrees).tolist() == [[1, 1, 1, 0], [0, 0, 0, 0]]
    half = soft(torch.tensor([1.0]), degrees)[0]
    assert half[1] == 0.5 and float(half[0]) == pytest.approx((np.tanh(1) + 1) / 2) and half[0] + half[3] == 1


def lines(gate=soft) -> tuple[Lines, State, Outer, Batch]:
    rng = np.random.default_rng(0)
    x, degrees = features(rng.uniform(0, 6, 9), "separate", 6)
    tensors = (torch.from_numpy(a) for a in (x, rng.standard_normal(9), rng.standard_normal((3, 6))))
    x, y, w = tensors
    made = Lines(torch.from_numpy(degrees.astype(float)), gate, Model(weight_decay=0.3), lambda d: 0.2 * d**2)
    return made, {"w": w}, {"degree": torch.tensor([-0.5, 1.2, 3.0], dtype=torch.float64)}, (x, y)


@pytest.mark.parametrize("gate", [soft, hard])
def test_the_step_that_is_written_out_is_descent_on_the_loss(gate):
    made, state, outer, batch = lines(gate)

    def loss(state: State, outer: Outer, batch: Batch) -> Tensor:
        gated = state["w"] * gate(outer["degree"], made.degrees)
        errors = gated @ batch[0].T - batch[1]
        decay = 0.3 * (state["w"] ** 2).sum(1) / 6
        return ((errors**2).mean(1) + decay + 0.2 * outer["degree"] ** 2).sum()

    found, value = made.step()(state, outer, batch)
    expected, same = sgd(loss, Model().lr)(state, outer, batch)
    assert torch.allclose(found["w"], expected["w"], rtol=1e-13) and float(value) == pytest.approx(
        float(same)
    )


def test_lanes_do_not_see_each_other():
    made, state, outer, batch = lines()
    together, _ = made.step()(state, outer, batch)
    for lane in range(3):
        one = slice(lane, lane + 1)
        alone, _ = made.step()({"w": state["w"][one]}, {"degree": outer["degree"][one]}, batch)
        assert torch.allclose(alone["w"], together["w"][one], rtol=1e-13)


def by_hand(run: Run, config: degree_search.Config, one: degree_search.Search, updates: int) -> list[float]:
    """The search with one start, by autograd through the whole graph."""
    found = points(run, config.data)
    order = Order(run.stream("minibatches"), found.train, 64)
    held = Order(run.stream("validation"), len(found.y) - found.train, 64, config.validation_batches)
    count = len(found.degrees)
    w = torch.from_numpy(run.stream("weights").uniform(-1, 1, count) / count**0.5)
    degree = torch.tensor(one.starts[0], dtype=torch.float64)
    path = [float(degree)]

    def plain(w: Tensor, degree: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return ((x @ (w * (torch.tanh(degree - found.degrees) + 1) / 2) - y) ** 2).mean()

    def loss(w: Tensor, degree: Tensor, x: Tensor, y: Tensor) -> Tensor:
        size = degree.abs() if config.penalty_of == "norm" else degree**2
        return plain(w, degree, x, y) + 0.001 * (w**2).sum() / count + config.penalty * size

    for _ in range(updates):
        batches = [(found.x[i], found.y[i]) for i in order.take(one.train or one.unroll)]
        (picked,) = held.take(1)
        leaf, v, total = degree.clone().requires_grad_(), w.clone().requires_grad_(), torch.tensor(0.0)
        for x, y in batches[: one.unroll]:
            value = loss(v, leaf, x, y)
            total = total + value
            v = v - 0.01 * torch.autograd.grad(value, v, create_graph=True)[0]
        goals = {"sotl": total, "mean": total / one.unroll}
        goals["validation"] = plain(v, leaf, found.x[found.train + picked], found.y[found.train + picked])
        if config.validation_penalised:
            goals["validation"] = goals["validation"] + config.penalty * leaf**2
        rate = config.hyper_lr * one.faster * (one.unroll**0.5 if config.root else 1)
        degree = degree - rate * torch.autograd.grad(goals[one.objective], leaf)[0]
        for x, y in batches:
            v = w.clone().requires_grad_()
            w = w - 0.01 * torch.autograd.grad(loss(v, degree, x, y), v)[0]
        path.append(float(degree))
    return path


@pytest.mark.parametrize(
    ("one", "changed"),
    [
        ({"unroll": 3}, {}),
        ({"unroll": 3, "starts": [6]}, {"root": True, "penalty_of": "norm", "penalty": 0.1}),
        ({"unroll": 4, "objective": "mean", "faster": 7}, {"data": SEPARATE}),
        ({"unroll": 2, "objective": "validation"}, {"validation_batches": 2, "data": SEPARATE}),
        ({"unroll": 2, "objective": "validation"}, {"validation_penalised": False}),
        ({"unroll": 2, "train": 4}, {}),
        ({"unroll": 1}, {"hyper_lr": 0.5}),
    ],
)
def test_the_search_is_algorithm_3_with_the_exact_gradient(one, changed, tmp_path):
    tables = search(tmp_path / "run", {"name": "this", **one}, **changed)
    path = tables["by_update"]
    given = {"data": SUMMED, "penalty": 0.01, "penalty_of": "square", "root": False, "searches": []}
    config = build(degree_search.Config, {**given, **changed}, "")
    asked = build(degree_search.Search, {"name": "this", **one}, "")
    expected = by_hand(a_run(tmp_path), config, asked, len(path) - 1)
    assert len(path) == 12 // (asked.train or asked.unroll) + 1
    np.testing.assert_allclose(path["degree"], expected, rtol=0, atol=1e-12)


def test_starts_side_by_side_are_searches_of_their_own(tmp_path):
    both = search(tmp_path / "both", {"name": "a", "unroll": 3, "starts": [-1, 5]})["by_update"]
    alone = search(tmp_path / "alone", {"name": "a", "unroll": 3, "starts": [5]})["by_update"]
    np.testing.assert_allclose(both.loc[both["start"] == 5, "degree"], alone["degree"], rtol=1e-13)
    assert both.loc[(both["start"] == -1) & (both["update"] == 0), "degree"].tolist() == [-1]


def test_first_order_ends_elsewhere_and_nearby(tmp_path):
    ways = [{"name": f"reach {reach}", "unroll": 6, "reach": reach, "faster": 5} for reach in (None, 0, 1, 6)]
    ends = search(tmp_path, *ways, steps=60)["by_update"].groupby("search", sort=False)["degree"].last()
    assert ends["reach 6"] == ends["reach None"] and len(set(ends)) == 3
    assert abs(ends["reach 0"] - ends["reach None"]) < 0.1 * abs(ends["reach None"] + 1)


def test_paths_and_distances_are_of_what_was_run(tmp_path, monkeypatch):
    monkeypatch.setattr(degree_search, "UPDATES", 4)
    short = {"name": "short", "unroll": 10, "steps": 30}
    tables = search(tmp_path, {"name": "long", "unroll": 25, "starts": [2, 5]}, short, steps=150)
    path, steps = (tables[name].query("search == 'long' and start == 2") for name in ("by_update", "by_step"))
    assert path["update"].tolist() == [0, 1, 2, 3, 4] and steps["step"].tolist() == [0, 50, 100, 150]
    assert tables["by_update"].query("search == 'short'")["update"].tolist() == [0, 1, 2, 3]
    assert tables["by_step"].query("search == 'short'")["step"].tolist() == [0]
    distances = [(path["degree"][:n] - 3).abs().mean() for n in range(1, 6)]
    np.testing.assert_allclose(path["distance"], distances)
    np.testing.assert_allclose(path["highest"], path["degree"].cummax())
    same = path.iloc[[0, 2, 4]]  # four updates are a hundred steps
    for column in ("degree", "distance", "highest"):
        assert steps[column].tolist()[:3] == same[column].tolist()


def test_what_a_search_cannot_be(tmp_path):
    with pytest.raises(HarnessError, match="two searches have one name: a, a"):
        search(tmp_path, {"name": "a", "unroll": 2}, {"name": "a", "unroll": 3})
    with pytest.raises(HarnessError, match="search 'a': train: 2 is less than T"):
        search(tmp_path, {"name": "a", "unroll": 3, "train": 2})


def fixed(folder: Path, **changed: Any) -> tuple[pd.DataFrame, dict[str, float]]:
    given = {"data": SUMMED, "gate": "hard", "degrees": [0, 1, 3, 5, 7], "steps": 40}
    run = a_run(folder)
    fixed_degree.run(run, build(fixed_degree.Config, {**given, **changed}, ""))
    return pd.read_csv(folder / "curves.csv"), {m.name: m.value for m in run.metrics}


@pytest.mark.parametrize("gate", ["hard", "soft"])
def test_fixed_degrees_are_trained_as_linear_models_of_their_own(gate, tmp_path):
    """By numpy, one model at a time."""
    curves, _ = fixed(tmp_path, gate=gate)
    run = a_run(tmp_path)
    found = points(run, build(Data, SUMMED, ""))
    x, y, degrees = found.x.numpy(), found.y.numpy(), found.degrees.numpy()
    start = run.stream("weights").uniform(-1, 1, 8) / 8**0.5
    picked = [i.numpy() for i in Order(run.stream("minibatches"), found.train, 64).take(40)]
    for degree in (1, 3, 7):
        pass_through = (degrees <= degree) * 1.0 if gate == "hard" else (np.tanh(degree - degrees) + 1) / 2
        w, losses = start.copy(), []
        for i in picked:
            gated = x[i] * pass_through
            errors = gated @ w - y[i]
            losses.append((errors**2).mean())
            w -= 0.01 * (2 / 64 * gated.T @ errors + 2 * 0.001 / 8 * w)
        mine = curves[curves["degree"] == degree]
        np.testing.assert_allclose(mine["sotl"], np.cumsum(losses)[[19, 39]], rtol=1e-12)
        np.testing.assert_allclose(mine["loss"], [np.mean(losses[:20]), np.mean(losses[20:])], rtol=1e-12)


def test_the_degree_with_the_lowest_sum_is_chosen(tmp_path):
    curves, metrics = fixed(tmp_path, steps=200)
    last = curves[curves["step"] == 200].set_index("degree")["sotl"]
    assert metrics == {"chosen": last.idxmin(), "steps": 200} and metrics["chosen"] == 3
    zeros, _ = fixed(tmp_path, weights="zeros")
    first = zeros[zeros["step"] == 20].set_index("degree")["loss"]
    random = curves[curves["step"] == 20].set_index("degree")["loss"]
    assert abs(first[7] - first[3]) < 0.2 * abs(random[7] - random[3])  # what random weights add


def test_norm_and_square(tmp_path):
    config = partial(build, degree_search.Config, where="")
    given = {"data": SUMMED, "searches": [], "penalty": 0.5, "root": False}
    degree = torch.tensor([-2.0, 3.0])
    norm = degree_search.penalty(degree, config({**given, "penalty_of": "norm"}))
    square = degree_search.penalty(degree, config({**given, "penalty_of": "square"}))
    assert norm.tolist() == [1, 1.5] and square.tolist() == [2, 4.5]
