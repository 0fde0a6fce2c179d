"""How super-networks score architectures: batch norm's statistics, nothing else, and nothing left behind."""

from pathlib import Path

import icw_run
import numpy as np
import pytest
import torch
from icw_run import BIAS, SPLIT, a_run, done, metrics, table

from harness.runs.checkpoint import Checkpoint
from harness.spaces.nb201 import from_digits
from harness.supernet.sampling import whole
from reproduce.icw import candidates, supernets
from reproduce.icw.evaluation import Evaluator

ROWS = ("333333", "222222", "232323", "322232")


@pytest.fixture(autouse=True)
def noise(monkeypatch: pytest.MonkeyPatch) -> None:
    icw_run.made_up(monkeypatch)


def trained(folder: Path, **changed: object) -> tuple[Evaluator, list]:
    """An evaluator of a trained network, and paths through it."""
    run, config = a_run(folder, **changed)
    train, held, classes = candidates.images(run, config, config)
    network, choices = supernets.build(run, config, classes)
    supernets.Trainer(run, config, network, choices, train).train(Checkpoint(run), {})
    plain, cropped = (
        candidates.calibrating(run, train, config.batch_size, config.calibration_passes, augmented=augmented)
        for augmented in (False, True)
    )
    passes = {"adjusted": plain, "augmented": cropped, "reset": plain}
    paths = [whole(choices.choice(from_digits(row)), network.cells) for row in ROWS]
    return Evaluator(run, config, network, passes, held), paths


@pytest.mark.parametrize("kind", [{}, BIAS, SPLIT])
def test_only_statistics_change_and_in_the_end_nothing_has(tmp_path, kind):
    evaluator, paths = trained(tmp_path, **kind, calibrations=["adjusted", "none", "reset"])
    network = evaluator.network
    statistics = [b.clone() for b in network.statistics()]
    network.turn([int(digit) for row in paths[0] for digit in row])
    mine = [p.detach().clone() for p in network.parameters()]
    evaluator.one(paths[0], "adjusted")
    assert all(torch.equal(p, q) for p, q in zip(network.parameters(), mine, strict=True))
    assert any(not torch.equal(b, c) for b, c in zip(network.statistics(), statistics, strict=True))
    asked = [(path, evaluator.scoring.calibrations) for path in paths]
    first = evaluator.score(asked, [], Checkpoint(evaluator.run), dict)
    assert all(torch.equal(b, c) for b, c in zip(network.statistics(), statistics, strict=True))
    network.turn([int(digit) for row in paths[0] for digit in row])
    assert all(torch.equal(p, q) for p, q in zip(network.parameters(), mine, strict=True))
    backwards = evaluator.score(asked[::-1], [], Checkpoint(evaluator.run), dict)
    assert first == backwards[::-1]


def test_passes_move_the_running_statistics_by_a_tenth_each(tmp_path):
    evaluator, paths = trained(tmp_path)
    norm = evaluator.network.stem[1]
    before, expected = norm.running_mean.clone(), norm.running_mean.clone()
    for x in evaluator.passes["adjusted"]:
        expected = 0.9 * expected + 0.1 * evaluator.network.stem[0](x).mean(dim=(0, 2, 3))
    evaluator.one(paths[0], "adjusted")
    assert torch.allclose(norm.running_mean, expected, atol=1e-6)
    evaluator.one(paths[0], "none")
    assert torch.equal(norm.running_mean, before)


@pytest.mark.parametrize("kind", [{}, SPLIT])
def test_a_reset_starts_from_nothing_and_ends_apart_by_what_is_left_of_the_start(tmp_path, kind):
    """Passes see batch statistics only: after n of them the start still weighs 0.9 to the n."""
    evaluator, paths = trained(tmp_path, **kind)
    network = evaluator.network
    network.turn([int(digit) for row in paths[0] for digit in row])
    norms = [network.stem[1], network.candidates[3][3][2], network.head[0]]  # 3: on the first path
    before = [norm.running_var.clone() for norm in norms]
    evaluator.one(paths[0], "adjusted")
    adjusted = [norm.running_var.clone() for norm in norms]
    evaluator.one(paths[0], "reset")
    for norm, start, end in zip(norms, before, adjusted, strict=True):
        assert torch.allclose(norm.running_var, end + 0.9**3 * (1 - start), atol=1e-4)


def test_no_prediction_depends_on_the_size_of_validation_batches(tmp_path):
    evaluator, paths = trained(tmp_path)
    found = evaluator.one(paths[1], "none")
    run, config = a_run(tmp_path, val_batch=5)
    held = candidates.images(run, config, config)[1]
    other = Evaluator(run, config, evaluator.network, {}, held)
    assert [len(y) for _, y in other.batches] == [5, 5, 5, 1]
    assert other.one(paths[1], "none") == found
    x, y = held.take(np.arange(16))
    with torch.no_grad():
        assert found == 100 * (evaluator.network(x, paths[1]).argmax(1) == y).double().mean().item()


def test_calibration_minibatches_are_training_images_the_same_for_every_method(tmp_path):
    run, config = a_run(tmp_path)
    train, held, _ = candidates.images(run, config, config)
    first, again = (candidates.calibrating(run, train, 8, 3) for _ in range(2))
    assert [x.shape for x in first] == [(8, 3, 8, 8)] * 3
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(first, first[1:], strict=False))
    assert len(train) == 32 and len(held) == 16
    assert len(candidates.calibrating(run, train, 8, 9)) == 9  # more than an epoch holds


def test_batch_norm_is_adjusted_on_images_as_they_are(tmp_path):
    """The authors' evaluation replaces every augmentation by that of the test; `augmented` keeps it (D22)."""
    run, config = a_run(tmp_path, augmentation={"pixel_shift": 2})
    train, *_ = candidates.images(run, config, config)
    whole = train.take(np.arange(len(train)))[0]
    plain = candidates.calibrating(run, train, 8, 2)
    cropped = candidates.calibrating(run, train, 8, 2, augmented=True)
    assert all((whole == image).flatten(1).all(1).any() for x in plain for image in x)
    assert not any(torch.equal(a, b) for a, b in zip(plain, cropped, strict=True))
    evaluator, paths = trained(tmp_path / "net", calibrations=["adjusted", "augmented"])
    norm, found = evaluator.network.stem[1], {}
    for mode in ("adjusted", "augmented"):
        evaluator.one(paths[0], mode)
        found[mode] = norm.running_mean.clone()
    assert not torch.equal(found["adjusted"], found["augmented"])


def test_tables_hold_truth_size_and_every_calibration(tmp_path):
    run = done(tmp_path, calibrations=["adjusted", "none", "reset"])
    found = table(run)
    assert list(found) == [
        "arch", "architecture", "params", "prediction", "adjusted", "none", "reset", "truth"
    ]  # fmt: skip
    assert found["prediction"].equals(found["adjusted"]) and len(found) == 5
    assert np.allclose(found["truth"], 90 + found["params"] / 1e6)
    assert metrics(run)["whole_space"] == 0 and metrics(run)["steps"] == 8


def test_the_whole_sub_space_is_scored_where_it_has_no_more(tmp_path):
    run = done(tmp_path, architectures=1000, calibration_passes=1, held_images=4, epochs=1)
    assert len(table(run)) == 64 and metrics(run)["whole_space"] == 1
    used = {word.split("~")[0] for arch in table(run)["architecture"] for word in arch.strip("|").split("|")}
    assert {op for op in used if op not in ("+", "")} == {"nor_conv_1x1", "nor_conv_3x3"}
