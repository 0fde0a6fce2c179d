"""An image run from end to end on the digits: what its tables say, its data, its scales."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from image_run import a_run, config_of, done, metrics, table

from harness.base.settings import build as build_config
from harness.data import load
from harness.runs.record import Run
from harness.spec.experiments import paper
from reproduce.ldn import image_costs, images, posterior
from reproduce.ldn.image_data import _label, image_parts
from reproduce.ldn.image_evaluation import (
    evaluate,
    forward_seconds,
    prediction_scores,
    reliability_rows,
    speed_ups,
)


@pytest.fixture(scope="module")
def ldn(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return done(tmp_path_factory.mktemp("ldn"), max_epochs=6)


def test_tables_of_a_ldn_fit_together(ldn: Run) -> None:
    depths, predictions, found = table(ldn, "depths"), table(ldn, "predictions"), metrics(ldn)
    assert depths["depth"].tolist() == [0, 1, 2, 3, 4]
    assert depths["q"].sum() == pytest.approx(1) and depths["q"].nunique() == 5
    assert depths["exact_posterior"].sum() == pytest.approx(1)
    # Eq. 5 from the table's own likelihoods: 360 of the 400 images train, the rest select.
    exact = posterior.exact_posterior(
        torch.tensor(depths["train_log_likelihood"].to_numpy() * 360), posterior.prior(4)
    )
    assert depths["exact_posterior"].to_numpy() == pytest.approx(exact.numpy(), abs=1e-9)
    assert table(ldn, "data")["used"].tolist() == [360, 200]
    assert predictions["prediction"].tolist() == ["full", "d95", "expected"]
    assert predictions["depth"].tolist() == [4, found["d_95"], found["d_expected"]]
    q = depths["q"].to_numpy()
    assert found["d_95"] == np.flatnonzero(q > 0.95 * q.max())[0]
    assert found["d_expected"] == round(float(q @ np.arange(5)))
    assert found["steps"] == 6 * 6 and found["diverged"] == 0
    assert (table(ldn, "forward")["seconds"] > 0).all()
    assert not (ldn.folder / "checkpoint").exists() and ldn.outcome == "done"


def test_it_learns_the_digits(ldn: Run) -> None:
    history, predictions = table(ldn, "history"), table(ldn, "predictions")
    assert history["train_elbo"].iloc[-1] > history["train_elbo"].iloc[0] + 0.3
    assert predictions["error"].iloc[0] < 70 and predictions["log_likelihood"].iloc[0] > -math.log(10)
    assert (predictions["mean_probability"] > 0.1).all()


def test_pruned_mixtures_are_eq_3(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    config = config_of(run)
    parts = image_parts(
        run, "digits", select_on="val", shrink=1, train_images=400, test_images=200, device="cpu"
    )
    network = images.build(run, config, parts)
    with torch.no_grad():
        network.depth_logits.copy_(torch.tensor([0.0, 1.0, 2.0, 2.01, 1.0]))
    chosen, qs = images.predictions(network)
    assert chosen == {"full": 4, "d95": 2, "expected": 2}
    tested = evaluate(network, parts.test, list(qs.values()))
    p = torch.softmax(network.eval()(parts.test.x).double(), -1)
    q = torch.softmax(torch.tensor([0.0, 1.0, 2.0, 2.01, 1.0]).double(), -1)
    by_hand = q[0] * p[:, 0] + q[1] * p[:, 1] + q[2:].sum() * p[:, 2]
    np.testing.assert_allclose(tested.mixtures[1], by_hand.detach().numpy(), rtol=1e-4)
    true = by_hand[torch.arange(200), parts.test.y].detach().numpy()
    log_p = posterior.mixture_log_likelihood(tested.log_likelihood, qs["d95"]).numpy()
    scores = prediction_scores(tested.mixtures[1], log_p, parts.test.y.numpy())
    assert scores["log_likelihood"] == pytest.approx(np.log(true).mean(), rel=1e-4)
    assert scores["mean_probability"] == pytest.approx(true.mean(), rel=1e-4)
    wrong = by_hand.argmax(1) != parts.test.y
    assert scores["error"] == pytest.approx(100 * wrong.double().mean().item())


def test_test_selection_trains_on_all_images(tmp_path: Path) -> None:
    run = done(tmp_path, select_on="test", max_epochs=2, batch=100)
    assert table(run, "data")["used"].tolist() == [400, 200]
    history, predictions = table(run, "history"), table(run, "predictions")
    best = history.loc[history["select_elbo"].idxmax()]
    # Minibatches of one size: the mean over them is that over the images (D20).
    # The chosen checkpoint is the one whose test ELBO was best: its test likelihood is that ELBO + KL/N.
    expected = best["select_elbo"] + best["kl"] / 400
    assert predictions["log_likelihood"].iloc[0] == pytest.approx(expected, abs=2e-5)


def test_the_selecting_part_is_no_training_image_and_normalised_by_the_training_part(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    parts = image_parts(
        run, "digits", select_on="val", shrink=1, train_images=None, test_images=None, device="cpu"
    )
    assert [len(p) for p in (parts.train, parts.select, parts.test)] == [1294, 143, 360]
    assert parts.train.x.mean().item() == pytest.approx(0, abs=1e-4)
    assert parts.train.x.std(unbiased=False).item() == pytest.approx(1, abs=1e-4)
    seen = {x.numpy().tobytes() for x in parts.train.x}
    assert sum(x.numpy().tobytes() in seen for x in parts.select.x) < 3
    assert abs(parts.test.x.mean().item()) > 1e-5


def test_shrinking_averages_pixels(tmp_path: Path) -> None:
    halves = {"select_on": "test", "train_images": None, "test_images": 50, "device": "cpu"}
    whole, half = (image_parts(a_run(tmp_path), "digits", shrink=factor, **halves) for factor in (1, 2))
    assert half.test.x.shape == (50, 1, 4, 4)
    pooled = torch.nn.functional.avg_pool2d(whole.test.x, 2).flatten()
    correlation = torch.corrcoef(torch.stack([pooled, half.test.x.flatten()]))[0, 1]
    assert correlation.item() == pytest.approx(1, abs=1e-5)


def test_empty_bins_leave_no_rows_and_the_last_bin_holds_certainty() -> None:
    mixture, label = np.array([[1.0, 0.0], [0.62, 0.38]]), np.array([0, 0])
    rows = [row for row in reliability_rows("full", mixture, label)[0] if row[1] == "upper_edge"]
    assert [row[2] for row in rows] == [4, 7, 10]
    assert rows[-1] == ("full", "upper_edge", 10, 1.0, 1.0, 1.0)


def test_an_empty_bin_leaves_its_share_so_that_the_mean_over_runs_is_of_all_runs() -> None:
    mixture, label = np.array([[1.0, 0.0], [0.62, 0.38]]), np.array([0, 0])
    shares = reliability_rows("full", mixture, label)[1]
    edges = {place: share for _, definition, place, share in shares if definition == "upper_edge"}
    assert list(edges) == list(range(1, 11)) and len(shares) == 10 + 15
    assert {place: share for place, share in edges.items() if share} == {4: 0.25, 7: 0.25, 10: 0.25}


def test_the_label_tells_what_is_not_the_published_set() -> None:
    card = load("digits", "test").card
    other = replace(card, name="svhn", identity=replace(card.identity, published=False, images=30000))
    assert _label(other) == "30,000 images in SVHN's layout"
    assert _label(replace(other, identity=replace(card.identity, published=True))) == "SVHN"


@pytest.mark.parametrize("scale", ["smoke", "cpu", "paper"])
def test_every_configured_run_builds_its_config(scale: str) -> None:
    experiments = paper("ldn").experiments
    for name in ("images", "image_switches"):
        runs = list(experiments[name].runs(scale))
        configs = [build_config(images.Config, r.config, r.id) for r in runs]
        assert len(runs) == len({r.id for r in runs}) > 0
        for spec, config in zip(runs, configs, strict=True):
            assert spec.setting == f"{config.dataset}-d{config.max_depth}"
            assert ("ldn" in spec.method) is (config.kind == "ldn")
    if scale == "paper":  # appendix B
        c = next(iter(experiments["images"].runs("paper"))).config
        assert (c["lr"], c["momentum"], c["batch"], c["patience"], c["width"]) == (0.1, 0.5, 512, 30, 64)
    if scale == "cpu":
        train = configs[0].train_images * 9 // 10
        assert -(-train // configs[0].batch) * configs[0].max_epochs >= 2000  # or q stays uniform


def test_published_network_costs_what_it_should(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    image_costs.run(run, image_costs.Config(side=28, channels=1, max_depth=50, printed_depth=18))
    assert metrics(run)["parameters"] == 691_453
    assert metrics(run)["speedup_operations"] == pytest.approx(63.4, abs=0.05)


def test_times_are_of_the_depths_that_they_name(tmp_path: Path) -> None:
    run = a_run(tmp_path, max_depth=30, width=32, bottleneck=16)
    parts = image_parts(
        run, "digits", select_on="val", shrink=1, train_images=400, test_images=200, device="cpu"
    )
    network = images.build(run, config_of(run), parts)
    seconds = forward_seconds(network, parts.test.x, 3, 7)
    saved = speed_ups(network, seconds, 3)
    assert saved["speedup_blocks"] == pytest.approx(90)
    assert saved["speedup_operations"] < 90  # the input block is not saved
    assert 60 < saved["speedup_authors"] < 99 and 60 < saved["speedup_last_depth"] < 99
    assert speed_ups(network, {"pruned": 1.0, "every_depth": 4.0, "last_depth": 2.0}, 3) == {
        **saved,
        "speedup_authors": 75.0,
        "speedup_last_depth": 50.0,
    }
