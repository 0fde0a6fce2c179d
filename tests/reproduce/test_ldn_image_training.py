"""The training of image runs: objective, selection, early stopping, resumption after a kill, divergence."""

import math
from pathlib import Path

import pytest
import torch
from image_run import a_run, config_of, done, metrics, table

from harness.base.errors import HarnessError
from reproduce.ldn import image_training, images, posterior
from reproduce.ldn.image_data import image_parts


def test_objective_is_the_elbo_per_image_and_pulls_on_the_depth_logits(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    parts = image_parts(
        run, "digits", select_on="val", shrink=1, train_images=400, test_images=200, device="cpu"
    )
    network, beta = images.build(run, config_of(run), parts), posterior.prior(4).float()
    x, y = parts.train.x[:50], parts.train.y[:50]
    loss = image_training.objective(network, x, y, beta, 360)
    ce = torch.stack([torch.nn.functional.cross_entropy(network(x)[:, d], y) for d in range(5)])
    kl = (0.2 * (math.log(0.2) - beta.log())).sum()
    assert loss.item() == pytest.approx((0.2 * ce.sum() + kl / 360).item(), rel=1e-5)
    loss.backward()
    # q_j [(c_j − mean c) + (log(q_j/β_j) − KL)/N], the notes' section 2
    expected = 0.2 * ((ce - ce.mean()) + (math.log(0.2) - beta.log() - kl) / 360)
    torch.testing.assert_close(network.depth_logits.grad, expected.detach(), rtol=1e-3, atol=1e-5)


def test_a_ddn_trains_its_last_depth_alone(tmp_path: Path) -> None:
    run = done(tmp_path, kind="ddn", lr_drop_epoch=2)
    assert table(run, "depths")["depth"].tolist() == [4]
    assert table(run, "predictions")["prediction"].tolist() == ["full"]
    assert table(run, "history")["lr"].tolist() == pytest.approx([0.1, 0.1, 0.01])
    assert (table(run, "history")["kl"] == 0).all()
    assert "d_95" not in metrics(run)


def test_too_many_images_and_a_last_batch_of_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="5000 images are wanted of 1437"):
        done(tmp_path, train_images=5000)
    with pytest.raises(HarnessError, match="a last batch of one"):
        done(tmp_path, batch=359)


def test_early_stopping_counts_epochs_without_a_better_elbo(tmp_path: Path, monkeypatch) -> None:
    scores = iter([-1.0, -0.5, -0.6, -0.55, -0.7, -0.1])

    def scripted(network, part):
        return torch.full((1,), next(scores))

    monkeypatch.setattr(image_training, "mixture_log_likelihood", scripted)
    run = done(tmp_path, patience=2, max_epochs=50, kind="ddn")
    assert metrics(run)["epochs"] == 5 and metrics(run)["best_epoch"] == 1  # 3 epochs without a better one


def test_every_epoch_has_an_order_of_its_own_and_sees_every_image_once(tmp_path: Path) -> None:
    seen: list[torch.Tensor] = []
    original = image_training.objective
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image_training, "objective", lambda *w: seen.append(w[1]) or original(*w))
        done(tmp_path, max_epochs=2)
    first, second = torch.cat(seen[:6]), torch.cat(seen[6:])
    assert len(first) == len(second) == 360 and not torch.equal(first, second)
    torch.testing.assert_close(first.flatten(1).sum(1).sort()[0], second.flatten(1).sum(1).sort()[0])


@pytest.mark.parametrize("kind", ["ldn", "ddn"])
def test_divergence_is_recorded_and_every_score_is_nan(tmp_path: Path, kind: str) -> None:
    run = done(tmp_path, kind=kind, lr=1e30)
    assert run.outcome == "diverged" and metrics(run)["diverged"] == 1
    assert metrics(run)["best_epoch"] == -1 and metrics(run)["epochs"] == 1
    assert table(run, "predictions")[["error", "log_likelihood", "ece_guo"]].isna().all(axis=None)
    assert len(table(run, "reliability")) == 0 and "definition" in table(run, "reliability")
    if kind == "ldn":
        assert math.isnan(metrics(run)["d_95"]) and math.isnan(metrics(run)["d_expected"])


def test_divergence_after_a_good_epoch_keeps_that_epoch(tmp_path: Path) -> None:
    original = image_training.objective
    with pytest.MonkeyPatch.context() as patch:
        calls = iter(range(10**6))

        def breaks(*words):
            return original(*words) * (math.nan if next(calls) == 8 else 1.0)  # 6 steps an epoch

        patch.setattr(image_training, "objective", breaks)
        run = done(tmp_path)
    assert run.outcome == "diverged" and metrics(run)["best_epoch"] == 0 and metrics(run)["epochs"] == 2
    assert table(run, "predictions")["error"].notna().all()
