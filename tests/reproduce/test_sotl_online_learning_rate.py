"""The learning rate trained online: the rule that moves it, the replay, a kill in between, the figure."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from plain_perceptron import loss
from small_runs import SmallRuns

from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.settings import build
from harness.data import Images
from harness.make.make import _drawing
from harness.spec import artefacts
from harness.spec.experiments import paper
from harness.training.unrolled import sgd, unrolled
from reproduce.sotl import online_learning_rate
from reproduce.sotl.online_learning_rate import Config, Counts, LearningRateLoop, images, updated

TINY = {"dataset": "made", "hidden": [12, 9], "batch": 16, "epochs": 3, "unroll": 3, "lr": 0.05}
SMALL_VGG = {"hidden": [8, 6], "plan": [4, 0, 5, 0, 6, 0], "dropout": 0.5, "crops": True, "shrink": 2}


@pytest.fixture(autouse=True)
def made(monkeypatch, one_thread):
    """No files: images whose class can be seen."""

    def load(name: str, part: str) -> Images:
        rng = np.random.default_rng(0 if part == "train" else 1)
        y = rng.integers(0, 4, 200 if part == "train" else 60)
        x = (
            rng.integers(0, 100, (len(y), 16, 16, 3), np.uint8)
            + (40 * y).astype(np.uint8)[:, None, None, None]
        )
        return Images(x, y, SimpleNamespace(title="made", identity=SimpleNamespace(sha256=part)))

    monkeypatch.setattr(online_learning_rate, "load", load)


SMALL = SmallRuns(online_learning_rate, TINY)
a_run = SMALL.begun


def a_training(folder: Path, **changed: object) -> LearningRateLoop:
    run, config = a_run(folder, **changed)
    return LearningRateLoop(run, config, images(run, config))


def done(folder: Path, **changed: object) -> tuple[pd.DataFrame, dict[str, float]]:
    run, config = a_run(folder, **changed)
    online_learning_rate.run(run, config)
    return pd.read_csv(folder / "epochs.csv"), {m.name: m.value for m in run.metrics}


def test_the_sizes_are_those_of_the_code_and_of_the_text():
    def size(experiment: str) -> int:
        run = next(paper("sotl").experiments[experiment].runs("paper"))
        config = build(Config, run.config, run.id)
        x = np.zeros((1, 32, 32, 3) if config.plan else (1, 28, 28, 1))
        made = SimpleNamespace(train=SimpleNamespace(x=x, y=np.array([9])))
        return sum(weight.numel() for weight in online_learning_rate.network(config, made).start(0).values())

    assert (size("online_mlp"), size("online_mlp_text"), size("online_vgg")) == (
        1_796_010,
        795_010,
        15_253_578,
    )


@pytest.mark.parametrize(
    ("rate", "gradient", "new", "counts"),
    [
        (0.1, 2.0, 0.08, Counts(1)),
        (0.1, -2.0, 0.12, Counts(1)),
        (0.3, 50.0, 0.2, Counts(1, clips=1)),
        (0.3, -50.0, 0.4, Counts(1, clips=1)),
        (0.01, 3.0, 0.005, Counts(1, halvings=1)),
        (0.01, 0.999, 1e-5, Counts(1)),
        (0.05, 50.0, 0.025, Counts(1, clips=1, halvings=1)),
        (0.2, math.nan, 0.1, Counts(1, halvings=1, lost=1)),
        (0.2, -math.inf, 0.1, Counts(1, halvings=1, lost=1)),
    ],
)
def test_the_rule_clips_and_halves(rate, gradient, new, counts):
    config, found = build(Config, TINY, "here"), Counts()
    assert updated(rate, gradient, config, found) == pytest.approx(new, abs=1e-15)
    assert found == counts


@pytest.mark.parametrize("changed", [{}, {"unroll": 4, "goal": "mean"}, {"unroll": 2, "every": 5}], ids=str)
def test_an_epoch_written_out(tmp_path, changed):
    """T minibatches unrolled, the rate updated, the same trained on again; an epoch's last run is shorter."""
    training = a_training(tmp_path, **changed)
    config, run = training.config, training.run
    state = {name: weight.clone() for name, weight in training.weights.items()}
    train, rate, counts, rates = training.pieces.train, config.lr, Counts(), []
    order = run.stream("epoch 1").permutation(len(train))
    parts = [train.take(order[i : i + 16]) for i in range(0, len(order), 16)]
    assert len(train) == 180 and len(parts) == 12 and len(parts[-1][1]) == 4
    block = config.every or config.unroll
    step = sgd(lambda s, _, batch: loss(s, batch), lambda outer: outer["rate"])
    for start in range(0, 12, block):
        some = parts[start : start + block][: config.unroll]
        weights = [1.0 if config.goal == "sum" else 1 / len(some)] * len(some)
        found = unrolled(step, state, {"rate": torch.tensor(rate)}, some, weights=weights)
        rate = updated(rate, found.gradient["rate"].item(), config, counts)
        for batch in parts[start : start + block]:
            leaves = {name: weight.requires_grad_() for name, weight in state.items()}
            slopes = torch.autograd.grad(loss(leaves, batch), list(leaves.values()))
            state = {n: (w - rate * g).detach() for (n, w), g in zip(leaves.items(), slopes, strict=True)}
            rates.append(rate)
    training.one()
    row = training.rows[0]
    assert row["updates"] == counts.updates == math.ceil(12 / block)
    assert (row["rate"], row["rate_end"]) == pytest.approx((np.mean(rates), rate), rel=1e-5)
    for name, weight in state.items():
        torch.testing.assert_close(training.weights[name], weight, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("more", [{}, SMALL_VGG], ids=["perceptron", "vgg"])
def test_whatever_t_is_training_is_the_same_while_the_rate_is(tmp_path, more):
    """Runs of a seed share weights, images, minibatches, crops and dropout; another seed does not."""
    still = {**more, "hyper_lr": 0.0}
    tables = [
        done(tmp_path / str(i), **changed)[0]
        for i, changed in enumerate(
            [{**more, "unroll": None}, {**still, "unroll": 2}, {**still, "unroll": 5, "goal": "held-out"}]
        )
    ]
    for other in tables[1:]:
        np.testing.assert_allclose(other["loss"], tables[0]["loss"], rtol=1e-5)
        assert (other["accuracy"] - tables[0]["accuracy"]).abs().max() < 2
    assert [t["updates"].tolist() for t in tables] == [[0] * 3, [6] * 3, [3] * 3]
    assert (
        abs(done(tmp_path / "other", seed=1, **more, unroll=None)[0]["loss"][0] / tables[0]["loss"][0] - 1)
        > 1e-3
    )


def test_the_rate_is_learnt_and_everything_is_recorded(tmp_path):
    rows, metrics = done(tmp_path, lr=1e-3, epochs=4, test_images=50)
    assert rows["epoch"].tolist() == [1, 2, 3, 4] and (rows["rate_end"] > 2e-3).all()
    assert rows["loss"].is_monotonic_decreasing and rows["accuracy"].iloc[-1] > 50
    assert (
        metrics["updates"] == rows["updates"].sum() == 16
        and metrics["parameters"] == 768 * 12 + 12 + 117 + 40
    )
    for name in ("clips", "halvings"):
        first, last = rows[name][:2].sum(), rows[name][2:].sum()
        assert (metrics[f"{name}_first"], metrics[f"{name}_last"]) == (100 * first / 8, 100 * last / 8)
    assert (
        metrics["accuracy"] == rows["accuracy"].iloc[-1]
        and metrics["best_accuracy"] == rows["accuracy"].max()
    )
    data = pd.read_csv(tmp_path / "data.csv")
    assert data["images"].tolist() == [180, 20, 50] and data["sha256"].tolist() == ["train", "train", "test"]
    assert not (tmp_path / "checkpoint").exists()


def test_every_epoch_sees_all_training_images_in_an_order_of_its_own(tmp_path, monkeypatch):
    training, seen = a_training(tmp_path), []
    take = LearningRateLoop._batch
    monkeypatch.setattr(
        LearningRateLoop, "_batch", lambda self, part, rng: seen.append(part) or take(self, part, rng)
    )
    orders = []
    for _ in range(2):
        training.one()
        orders.append(np.concatenate(seen))
        seen.clear()
    assert all(np.array_equal(np.sort(order), np.arange(180)) for order in orders)
    assert not np.array_equal(*orders)


def test_held_out_batches_follow_one_another_and_share_nothing_with_training(tmp_path):
    training = a_training(tmp_path, goal="held-out")
    held = training.pieces.held
    seen = [training._goal(3).held for _ in range(3)]
    for i, batch in enumerate(seen):
        x, y = held.take(np.arange(16 * i, 16 * i + 16) % 20)
        assert torch.equal(batch[0], x) and torch.equal(batch[1], y)
    apart = {image.tobytes() for image in held.x} & {image.tobytes() for image in training.pieces.train.x}
    assert len(held) == 20 and not apart


def test_a_loss_that_is_lost_stops_nothing(tmp_path):
    rows, metrics = done(tmp_path, lr=1e30, hyper_lr=1e30, clip=1e30)
    assert metrics["lost"] > 0 and len(rows) == 3 and rows["accuracy"].between(0, 100).all()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"unroll": 4, "every": 3}, "every: 3 is less than unroll"),
        ({"train_images": 181}, "181 training images of 180"),
        ({"shrink": 3}, "cannot be shrunk 3 times"),
        ({"plan": [4, 0, 5]}, "leaves more than one pixel of 16x16: pool until one is left"),
    ],
)
def test_what_cannot_be_is_said(tmp_path, changed, said):
    run, config = a_run(tmp_path, **changed)
    with pytest.raises(HarnessError, match=said):
        online_learning_rate.run(run, config)


def test_the_figure_draws_a_line_per_t():
    figure = artefacts.load(ROOT / "figures" / "sotl" / "figure_4_1.yaml")
    frame = pd.DataFrame([(c.row, c.column) for c in figure.cells], columns=["row", "column"])
    rates = frame["column"].str.startswith("rate")
    frame = frame.assign(value=np.where(rates, 0.01, 90.0), lo=np.where(rates, -0.1, 89.0), hi=91.0)
    drawn, draw = Figure(layout="constrained"), _drawing(figure)
    draw(frame, drawn)
    labels = [[line.get_label() for line in axes.lines] for axes in drawn.axes]
    assert labels == [["T = 2", "T = 10", "T = 50", "T = 150", "T = 250"], ["T = 2", "T = 10"]] * 2
    assert [axes.get_xlim()[1] > 50 for axes in drawn.axes] == [True] * 4
    colours = {to_hex(axes.lines[0].get_color()) for axes in drawn.axes}
    assert len(colours) == 1 and len({to_hex(line.get_color()) for line in drawn.axes[0].lines}) == 5
    below = [
        path.get_extents().y0 for axes in drawn.axes[2:] for c in axes.collections for path in c.get_paths()
    ]
    assert min(below) > 0
    draw(frame.assign(value=np.nan), Figure(layout="constrained"))  # before anything has run
