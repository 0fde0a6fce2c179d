"""Sections 3 and 4 of nsa: what methods share, the schedule, each architecture's accuracy, refusals."""

import numpy as np
import pytest
import torch
from small_runs import SmallRuns, metrics, table

from harness.base.errors import HarnessError
from harness.metrics.uncertainty import auroc
from harness.runs.checkpoint import Checkpoint
from reproduce.nsa import stochastic
from reproduce.nsa.image_sets import image_parts
from reproduce.nsa.training import Recipe, Training, build, log_probabilities, rates
from reproduce.nsa.wiring import wiring

TINY = {
    "dataset": "digits",
    "width": 1,
    "nodes": 2,
    "batch": 16,
    "epochs": 2,
    "train_images": 48,
    "test_images": 30,
    "tests": 3,
    "architectures": 6,
    "scored": 4,
    "unseen": 4,
    "members": 5,
    "estimated_images": 16,
    "probe": None,
}
RUNS = SmallRuns(stochastic, TINY)


def training(folder, **changed) -> Training:
    run, config = RUNS.begun(folder, **changed)
    train, test, classes = image_parts(run, config)
    return Training(run, config, build(run, config, train, classes), train, test)


def watched(one: Training) -> tuple[list, list]:
    """Minibatches and ids of three steps."""
    batches, ids, plain = [], [], one.network.forward

    def forward(x, which):
        if one.network.training:
            batches.append(x.clone())
            ids.append(which.tolist())
        return plain(x, which)

    one.network.forward = forward
    for _ in range(3):
        one.one()
    return batches, ids


def test_methods_of_a_seed_share_weights_and_minibatches(tmp_path):
    both = [training(tmp_path / kind, sampling=kind) for kind in ("batch", "image")]
    assert torch.equal(*(one.network.stem.weight for one in both))
    (batches, of_batch), (same, of_image) = map(watched, both)
    assert all(torch.equal(a, b) for a, b in zip(batches, same, strict=True))
    assert [len(ids) for ids in of_batch] == [1, 1, 1] and [len(ids) for ids in of_image] == [16, 16, 16]
    assert len({*of_image[0]}) > 1


def test_half_an_image_is_cut_out(tmp_path):
    cut, whole = (watched(training(tmp_path / str(c), cutout=c))[0][0] for c in (True, False))
    changed = (cut != whole).any(1).float().mean((1, 2))
    assert (cut[cut != whole] == 0).all() and 0.02 < changed.mean() <= 0.25 and changed.max() <= 0.25


def test_the_rate_falls_as_published():
    """300 epochs: by 5 behind 90, 180 and 240."""
    found = rates(Recipe(dataset="cifar10"), 300)
    expected = [0.1] * 90 + [0.02] * 90 + [0.004] * 60 + [0.0008] * 60
    assert np.allclose(found, expected, rtol=1e-12)


def test_looks_are_at_each_architecture_as_it_is(tmp_path):
    """Accuracies, ensembles and the AUC, again from the trained network."""
    run = RUNS.done(tmp_path / "run")
    one = training(tmp_path / "again")
    one.train(Checkpoint(one.run))
    batches, y = one.test.in_order(50), one.test.y
    one.network.eval()
    p = [np.exp(log_probabilities(one.network, batches, torch.tensor([i]))) for i in range(5)]
    right = [100 * np.mean(q.argmax(1) == y) for q in p]
    together = [100 * np.mean(np.sum(p[: n + 1], axis=0).argmax(1) == y) for n in range(5)]
    assert np.allclose(table(run, "modes")["test"], right[:4])
    assert np.allclose(table(run, "ensemble")["accuracy"], together)
    foreign = [
        100
        * np.mean(log_probabilities(one.network, batches, one.network.foreign(wiring(i, 2))).argmax(1) == y)
        for i in range(50501, 50505)
    ]
    assert np.allclose(table(run, "unseen")["test"], foreign)
    modes = table(run, "modes")
    for half, first in (("even", 0), ("odd", 1)):
        assert np.allclose(
            modes[f"test_{half}"], [100 * np.mean((q.argmax(1) == y)[first::2]) for q in p[:4]]
        )
    for kind in ("test", "batch", "estimated"):
        halves = modes[f"{kind}_even"] + modes[f"{kind}_odd"]  # of 15 images each
        assert np.allclose(modes[kind], halves / 2), kind
    found = metrics(run)
    assert found["auc_above_chance"] == found["auc"] - 0.5
    assert found["auc"] == auroc(np.array(foreign), np.array(right[:4]))
    assert found["gain"] == pytest.approx(together[4] - np.mean(right))


def test_jumps_are_those_of_the_second_half(tmp_path):
    run = RUNS.done(tmp_path, tests=6)
    curve = table(run, "curve")
    assert curve["percent"].tolist() == [17, 33, 50, 67, 83, 100]
    later = curve["test_accuracy"].to_numpy()[2:]
    assert metrics(run)["jumps_test_accuracy"] == pytest.approx(np.abs(np.diff(later)).mean())


def test_points_of_curves_are_means_since_the_last_look(tmp_path):
    """Of the minibatches that came, and of the test images with an architecture for each minibatch."""
    one = training(tmp_path, tests=2, sampling="batch")
    seen, plain = [], one.loss

    def loss(x, y):
        value, logits = plain(x, y)
        right = (logits.argmax(1) == y).double().mean().item()
        seen.append((value.item(), 100 * right))
        return value, logits

    one.loss = loss
    one.train(Checkpoint(one.run))
    last = one.curve[-1]
    assert [row[0] for row in one.curve] == [50, 100] and len(seen) == 6
    for row, place in zip(one.curve, (0, 3), strict=True):
        assert row[1:3] == pytest.approx(np.mean(seen[place : place + 3], axis=0).tolist())
    rng = one.run.stream(f"architectures tested at step {one.total - 1}")
    one.network.eval()
    losses, right = [], []
    for x, y in one.test.in_order(16):
        logs = log_probabilities(one.network, [(x, y)], torch.from_numpy(rng.integers(6, size=1)))
        losses += (-logs[np.arange(len(y)), y.numpy()]).tolist()
        right += (logs.argmax(1) == y.numpy()).tolist()
    assert last[3:] == pytest.approx([np.mean(losses), 100 * np.mean(right)], rel=1e-5)


def test_what_no_artefact_shows_is_not_measured(tmp_path):
    run = RUNS.done(tmp_path, tests=0, scored=0, unseen=0)
    left = {path.stem for path in run.folder.glob("*.csv")}
    assert "ensemble" in left and not {"curve", "modes", "unseen"} & left


def test_modes_leave_the_network_as_it_was(tmp_path):
    """Estimating anew and normalising by the batch move nothing that is looked at afterwards."""
    seen = []
    for scored in (1, 4):
        run = RUNS.done(tmp_path / str(scored), scored=scored)
        seen.append(table(run, "unseen")["test"].iloc[0])
    assert seen[0] == seen[1]


def test_a_checkpoint_of_another_number_of_architectures_does_not_count(tmp_path, capsys):
    run, _ = RUNS.begun(tmp_path)
    Checkpoint(run).save({"phases": {}})
    other, _ = RUNS.begun(tmp_path, architectures=7)
    assert Checkpoint(run).load() is not None and Checkpoint(other).load() is None
    assert "checkpoint does not count, as " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"first_unseen": 6},
            "ids from 6 on are to be unseen, and 6 architectures are trained",
        ),
        ({"own_statistics": True}, "own_statistics needs one architecture per batch: write sampling: batch"),
        ({"wiring": "residual"}, "the residual wiring is one, not 6: write architectures: 1"),
        (
            {"train_images": 33},
            "leave a last batch of one, .* choose another batch than 16",
        ),
        ({"scored": 0}, "unseen architectures are told from seen ones: write scored, or unseen: 0"),
        ({"learn_aggregation": True}, "no weights and no statistics of its own: write unseen: 0"),
        ({"tests": 1}, "tests: 1 makes no curve that could jump: look at least twice"),
        ({"train_images": 99999}, "99999 train images are wanted of 1437: lower train_images"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(tmp_path, changed, told):
    with pytest.raises(HarnessError, match=told):
        RUNS.done(tmp_path, **changed)
