"""A one-shot run from end to end on made-up images: its tables, its going on, what it refuses."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from small_runs import SmallRuns, metrics, table

from harness.base.errors import HarnessError
from harness.runs import checkpoint, ground_truth
from harness.runs.record import Run
from harness.spaces.nb201 import SPACE, from_digits
from reproduce.sotl import one_shot, score_tables, scoring, supernets

TINY = {
    "space": "nb201",
    "dataset": "made-up",
    "channels": 4,
    "cells": 1,
    "batch_size": 8,
    "one_shot_epochs": 1,
    "weights": {"lr_max": 0.025, "lr_min": 0.001, "momentum": 0.9, "weight_decay": 5e-4, "nesterov": True},
    "division": "halves",
    "image_passes": 8,
    "sampling": "per_cell",
    "truth_dataset": "cifar10",
    "truth_epochs": 200,
    "truth_split": "test",
    "truth_trials": "mean",
    "truth_source": "made-up",
    "architectures": 5,
    "finetunes": [{"lr": 0.01, "batch": 8, "updates": 4}, {"lr": 0.001, "batch": 16, "updates": 2}],
    "val_batch": 4,
    "val_every": 2,
    "val_images": 12,
    "val_at_once": 6,
    "whole_every": 4,
}


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Images of noise, and a truth that is the number of parameters."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (64, 8, 8, 3), dtype=np.uint8), rng.integers(0, 10, 64)
    card = SimpleNamespace(title="noise", classes=10, identity=SimpleNamespace(sha256="0"))
    monkeypatch.setattr(one_shot, "load", lambda name, part: SimpleNamespace(x=x, y=y, card=card))
    monkeypatch.setattr(ground_truth, "truths", known_of(set()))


def known_of(unknown: set[str]):
    def truths(space, archs, *asked, source):
        missing = [arch for arch in archs if arch in unknown]
        if missing:
            raise HarnessError(f"the source has no {missing[0]}")
        values = 90 + SPACE.params_of(archs, "cifar10") / 1e6
        return SimpleNamespace(values=values, identity={"source": source})

    return truths


SMALL = SmallRuns(one_shot, TINY)
a_run, done = SMALL.begun, SMALL.done


def test_tables_have_a_row_per_way_step_and_architecture(tmp_path):
    run = done(tmp_path)
    training = table(run, "training")
    counts = training.groupby("finetune").size()
    assert counts.to_dict() == {"lr0.01-b8": 2 * 5, "lr0.001-b16": 2 * 5}
    assert set(training["step"]) == {0, 2, 4}  # every fifth, and the last
    assert table(run, "minibatch").groupby("finetune")["step"].unique().map(list).to_dict() == {
        "lr0.01-b8": [0, 2, 4],
        "lr0.001-b16": [0, 2],
    }
    assert sorted(table(run, "whole")["step"].unique()) == [0, 4]
    first = training[(training["step"] == 0) & (training["finetune"] == "lr0.01-b8")]
    assert (first["sotl"] == first["tlmini"]).all() and (first["sotl"] == -first["loss"]).all()
    architectures = table(run, "architectures")
    assert (
        np.allclose(first["truth"], architectures["truth"]) and (architectures["outcome"] == "ranked").all()
    )
    assert metrics(run)["passes"] == 8 and metrics(run)["diverged"] == 0


def test_groups_are_means_of_the_truly_best_and_middle(tmp_path, monkeypatch):
    monkeypatch.setattr(score_tables, "KEPT_EVERY", 1)
    run = done(tmp_path, architectures=20)
    groups, training = table(run, "groups"), table(run, "training")
    here = training[(training["step"] <= 2) & (training["finetune"] == "lr0.01-b8")]
    means = here.groupby("arch")[["loss", "truth"]].mean()  # of up to ten minibatches
    ordered = means.sort_values("truth", ascending=False)["loss"].to_numpy()
    found = groups[(groups["step"] == 2) & (groups["finetune"] == "lr0.01-b8")].set_index("group")["loss"]
    assert found["all"] == pytest.approx(ordered.mean())
    assert found["top"] == pytest.approx(ordered[:2].mean())
    assert found["median"] == pytest.approx(ordered[9:11].mean())


def test_every_super_network_validates_in_an_order_of_its_own(tmp_path):
    parts = [one_shot.image_parts(*a_run(tmp_path, seed=seed))[1] for seed in (0, 0, 1)]
    assert np.array_equal(parts[0].x, parts[1].x) and not np.array_equal(parts[0].x, parts[2].x)
    assert sorted(parts[0].y.tolist()) == sorted(parts[2].y.tolist())


def test_every_super_network_ranks_the_same_architectures(tmp_path):
    first, second = done(tmp_path / "0", seed=0), done(tmp_path / "1", seed=1)
    names = [table(run, "architectures")["architecture"].tolist() for run in (first, second)]
    assert names[0] == names[1]
    assert table(first, "training")["sotl"].tolist() != table(second, "training")["sotl"].tolist()
    other = done(tmp_path / "2", drawn_with=1)
    assert table(other, "architectures")["architecture"].tolist() != names[0]


@pytest.mark.parametrize(
    ("method", "each"),
    [
        ({}, 1),
        ({"sampling": "fair"}, 5),
        ({"paths": 4, "sampling": "shared"}, 4),
        ({"inner_steps": 4}, 4),
        ({"paths": 4, "sampling": "shared", "inner_steps": 4}, 16),
    ],
)
def test_a_budget_in_passes_is_the_same_compute_for_every_method(tmp_path, method, each):
    run, config = a_run(tmp_path, image_passes=80, **method)
    train, _, classes = one_shot.image_parts(run, config)
    trainer = supernets.SupernetLoop(run, config, *supernets.build(run, config, classes), train)
    assert (trainer.passes_each, trainer.total) == (each, 80 // each)
    run, config = a_run(tmp_path, image_passes=None, one_shot_epochs=3, **method)
    trainer = supernets.SupernetLoop(run, config, *supernets.build(run, config, classes), train)
    assert trainer.total == 3 * 4  # 32 training images in batches of 8


def test_the_schedule_and_the_optimiser_are_those_of_table_b_1(tmp_path):
    run, config = a_run(tmp_path, image_passes=80)
    train, _, classes = one_shot.image_parts(run, config)
    trainer = supernets.SupernetLoop(run, config, *supernets.build(run, config, classes), train)
    expected = [0.001 + 0.024 * (1 + np.cos(np.pi * step / 80)) / 2 for step in range(80)]
    assert trainer.rates[:80] == pytest.approx(expected)
    trainer.train(checkpoint.Checkpoint(run))
    group = trainer.optimiser.param_groups[0]
    assert group["lr"] == trainer.rates[79] and group["nesterov"] and group["weight_decay"] == 5e-4


def test_within_tasks_the_rate_is_that_of_the_epochs_start_without_nesterov(tmp_path):
    """D8: the author makes the optimiser anew each epoch and does not attach it to the schedule."""
    run, config = a_run(tmp_path, image_passes=None, one_shot_epochs=3, inner_steps=2)
    seen = rates_seen(run, config, 10)
    rates = seen.pop("rates")
    assert seen["lr"] == [rates[0]] * 4 + [rates[4]] * 4 + [rates[8]] * 2
    assert not any(seen["nesterov"]) and set(seen["momentum"]) == {0.9}


def test_a_budget_in_passes_keeps_the_number_of_plateaus(tmp_path):
    """Once real epochs counted: with less than one epoch of steps the learning rate never fell."""
    run, config = a_run(tmp_path, image_passes=48, one_shot_epochs=6, inner_steps=4)
    seen = rates_seen(run, config, 12)
    assert seen["lr"] == [rate for rate in seen["rates"][:12:2] for _ in range(2)]


def rates_seen(run: Run, config: one_shot.Config, steps: int) -> dict[str, list]:
    train, _, classes = one_shot.image_parts(run, config)
    trainer = supernets.SupernetLoop(run, config, *supernets.build(run, config, classes), train)
    seen: dict[str, list] = {"rates": trainer.rates, "lr": [], "nesterov": [], "momentum": []}
    for _ in range(steps):
        trainer.one()
        for key in ("lr", "nesterov", "momentum"):
            seen[key].append(trainer.optimiser.param_groups[0][key])
    return seen


def test_fine_tuning_minibatches_are_the_same_for_every_architecture(tmp_path, monkeypatch):
    seen: dict[int, list] = {}
    original = scoring.fine_tune

    def watched(network, path, batches, setup, *rest, **words):
        seen.setdefault(setup.batch, []).append([x.clone() for x, _ in batches])
        return original(network, path, batches, setup, *rest, **words)

    monkeypatch.setattr(scoring, "fine_tune", watched)
    done(tmp_path)
    for handed in seen.values():
        assert len(handed) == 5
        assert all(torch.equal(a, b) for other in handed for a, b in zip(other, handed[0], strict=True))
    assert not torch.equal(seen[8][0][0], seen[8][0][1])


def test_architectures_that_cannot_be_ranked_are_marked_and_the_others_ranked(tmp_path, monkeypatch):
    good = [from_digits(row) for row in ("333333", "222222", "141414")]
    without = from_digits("444444")
    listed = tmp_path / "list.txt"
    listed.write_text("\n".join([good[0], "|conv~0|", good[1], without, "", good[2]]))
    monkeypatch.setattr(ground_truth, "truths", known_of({without}))
    run = done(tmp_path / "run", listed=str(listed))
    found = table(run, "architectures").set_index("architecture")["outcome"]
    assert [found[arch] for arch in good] == ["ranked"] * 3
    assert "nodes" in found["|conv~0|"] and found[without] == f"the source has no {without}"
    assert metrics(run)["architectures"] == 3 and metrics(run)["refused"] == 2
    assert table(run, "training")["arch"].nunique() == 3


@pytest.mark.parametrize("text", [None, "", "nonsense\n"])
def test_a_list_without_two_architectures_is_one_sentence(tmp_path, text):
    listed = tmp_path / "list.txt"
    if text is not None:
        listed.write_text(text)
    with pytest.raises(HarnessError) as error:
        done(tmp_path / "run", listed=str(listed))
    assert "\n" not in str(error.value)
    assert ("cannot be read" if text is None else "two architectures at least") in str(error.value)


def test_a_diverging_fine_tuning_is_marked_and_ranked_last(tmp_path):
    run = done(
        tmp_path, finetunes=[{"lr": 1e18, "batch": 8, "updates": 4}, {"lr": 0.001, "batch": 8, "updates": 4}]
    )
    wild = table(run, "training").query("finetune == 'lr1e+18-b8' and step == 4")
    calm = table(run, "training").query("finetune == 'lr0.001-b8' and step == 4")
    assert np.isinf(wild["sotl"]).any() and np.isfinite(calm["sotl"]).all()
    assert metrics(run)["diverged"] >= 1
    assert table(run, "architectures")["outcome"].str.contains("diverged").any()
    assert np.isfinite(table(run, "whole").query("finetune == 'lr0.001-b8'")["valacc"]).all()


def test_a_super_network_that_diverges_is_one_sentence(tmp_path):
    with pytest.raises(HarnessError, match=r"loss became (nan|inf) at step \d+ of 8: lower weights.lr_max"):
        done(tmp_path, weights={**TINY["weights"], "lr_max": 1e20})


def test_fewer_validation_images_than_minibatches_are_gone_through_again(tmp_path):
    """Once an IndexError: eleven minibatches were wanted of images for three."""
    run = done(tmp_path, held_images=6, finetunes=[{"lr": 0.01, "batch": 8, "updates": 6}])
    assert sorted(table(run, "minibatch")["step"].unique()) == [0, 2, 4, 6]
