"""Stand-alone trainings: what is shared between them, what is recorded, and that a killed run goes on."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from small_runs import SmallRuns

from harness.base.errors import HarnessError
from harness.base.settings import build
from harness.spec.experiments import paper
from harness.training.batches import Batches
from reproduce.icw import image_sets, small_sequential, standalone

SPACE = {"stem": 4, "stem_stride": 1, "first": 4, "head": 8}
SPACE["stages"] = [{"channels": 6, "stride": 2, "cells": 2}]
TINY = {
    "weights": {"lr_max": 0.1, "lr_min": 1e-5, "momentum": 0.9, "weight_decay": 4e-5, "decay_vectors": False},
    "epochs": 2,
    "batch_size": 16,
    "side": 8,
    "label_smoothing": 0.1,
    "dropout": 0.2,
    "gradient_clip": None,
    "augmentation": {"pixel_shift": 1},
    "evaluation": {},
    "dataset": "made-up",
    "train_images": 40,
    "held_images": 50,
    "architectures": 3,
    "average_last": 1,
    "space": SPACE,
}


@pytest.fixture(autouse=True)
def made_up(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (100, 16, 16, 3), dtype=np.uint8), rng.integers(0, 10, 100)
    card = SimpleNamespace(name="made-up", title="noise", classes=10, identity=SimpleNamespace(sha256="0"))
    monkeypatch.setattr(image_sets, "load", lambda name, part: SimpleNamespace(x=x, y=y, card=card))


SMALL = SmallRuns(standalone, TINY, seed=1)
a_run = SMALL.begun


def done(folder: Path, seed: int = 1, **changed: object) -> pd.DataFrame:
    run, config = a_run(folder, seed, **changed)
    standalone.run(run, config)
    return pd.read_csv(folder / "architectures.csv")


def a_training(folder: Path, arch: str, seed: int = 1, **changed: object) -> standalone.Training:
    run, config = a_run(folder, seed, **changed)
    train, _, classes = image_sets.images(run, config, config)
    return standalone.Training(run, config, arch, classes, train, lambda _: (0.0, 0.0))


def test_every_architecture_is_trained_and_recorded(tmp_path):
    found = done(tmp_path)
    space = small_sequential.Space(**{**SPACE, "stages": (small_sequential.Stage(**SPACE["stages"][0]),)})
    archs = small_sequential.ranked(space, 3)
    assert found["architecture"].tolist() == archs and found["arch"].tolist() == [0, 1, 2]
    assert found["params"].tolist() == small_sequential.params_of(space, archs, 10).tolist()
    # Percents of 40 images that trained and of 50, or ten, that did not.
    for column, n in (("train", 40), ("test", 50), ("test_few", 10)):
        right = found[column] * n / 100
        assert np.allclose(right, right.round()) and (right > 0).any() and (right < n).all(), column
    assert not (tmp_path / "checkpoint").exists()


def test_the_truth_says_what_it_is(tmp_path):
    run, config = a_run(tmp_path)
    standalone.run(run, config)
    (truth,) = run.truths
    assert truth["space"] == "sequential of 2 cells" and truth["dataset"] == "made-up at 8x8"
    assert truth["split"] == "50 images that did not train" and truth["epochs"] == 2
    another, config = a_run(tmp_path / "other", seed=2)
    standalone.run(another, config)
    assert another.truths == run.truths  # one truth, whatever the seed: a caption names it once
    assert {m.name: m.value for m in run.metrics} == {"architectures": 3, "held_images": 50}


def test_trainings_of_a_seed_share_images_and_crops_but_not_weights(tmp_path):
    seen: dict[str, list[torch.Tensor]] = {}
    for arch, seed in (("0-1", 1), ("3-4", 1), ("0-1", 2)):
        training = a_training(tmp_path, arch, seed)
        training.images = Watched(training.images, seen.setdefault(f"{arch}/{seed}", []))
        for _ in range(4):
            training.one()
    one, other, second = seen.values()
    assert all(map(torch.equal, one, other)) and not any(map(torch.equal, one, second))
    assert len({batch.sum().item() for batch in one}) == 4


class Watched:
    """Images that remember what was taken."""

    def __init__(self, images: Batches, taken: list[torch.Tensor]) -> None:
        self.images, self.taken = images, taken

    def __len__(self) -> int:
        return len(self.images)

    def take(self, indices: np.ndarray, crops: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        x, y = self.images.take(indices, crops)
        self.taken.append(x.clone())
        return x, y


def test_first_weights_differ_between_architectures_and_seeds_and_repeat(tmp_path):
    def stem(arch: str, seed: int) -> torch.Tensor:
        return a_training(tmp_path, arch, seed).network.stem[0].weight.detach()

    assert torch.equal(stem("0-1", 1), stem("0-1", 1))
    assert not torch.equal(stem("0-1", 1), stem("0-1", 2))
    assert not torch.equal(stem("0-1", 1), stem("0-2", 1))


def test_a_step_is_that_of_table_5(tmp_path):
    """Label smoothing, dropout, SGD with the schedule's rate, written out once more."""
    training, plain = (a_training(tmp_path, "2-5") for _ in range(2))
    optimiser = plain.optimiser
    for step in range(4):
        training.one()
        order = plain.run.stream(f"order of epoch {step // 3}").permutation(40)[step % 3 * 16 :][:16]
        x, y = plain.images.take(order, plain.run.stream(f"crops of step {step}"))
        torch.manual_seed(int(plain.run.stream(f"dropout of step {step}").integers(2**63)))
        target = torch.full((len(y), 10), 0.01).scatter_(1, y[:, None], 0.91)
        optimiser.zero_grad()
        (-(target * plain.network(x).log_softmax(1)).sum(1).mean()).backward()
        for group in optimiser.param_groups:
            group["lr"] = 1e-5 + (0.1 - 1e-5) * (1 + np.cos(np.pi * step / 6)) / 2
        optimiser.step()
    for ours, theirs in zip(training.network.parameters(), plain.network.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_dropout_is_that_of_the_config(tmp_path):
    for share in (0.2, 0.0):
        network = a_training(tmp_path, "0-0", dropout=share).network
        assert [m.p for m in network.modules() if isinstance(m, torch.nn.Dropout)] == [share]


def test_training_accuracy_is_that_of_training_in_the_last_epoch(tmp_path):
    training = a_training(tmp_path, "0-0", dropout=0.0)
    for _ in range(3):
        training.one()
    assert training.accuracies == [] and training.right == 0
    right = 0
    for _ in range(3):
        place = training.step % 3
        order = training.run.stream("order of epoch 1").permutation(40)[place * 16 : place * 16 + 16]
        x, y = training.images.take(order, training.run.stream(f"crops of step {training.step}"))
        twin = a_training(tmp_path, "0-0", dropout=0.0).network
        twin.load_state_dict(training.network.state_dict())
        with torch.no_grad():
            right += int((twin.train()(x).argmax(1) == y).sum())
        training.one()
    ((found, *_),) = training.accuracies
    assert found == pytest.approx(100 * right / 40)


def test_accuracies_are_averaged_over_the_last_epochs_and_testing_changes_no_training(tmp_path, monkeypatch):
    real, found = standalone.tested, []
    monkeypatch.setattr(standalone, "tested", lambda *given: found.append(real(*given)) or found[-1])
    last = done(tmp_path / "one")
    found.clear()
    both = done(tmp_path / "two", average_last=2)
    assert [test for test, _ in found][1::2] == last["test"].tolist()
    assert np.allclose(both[["test", "test_few"]], np.mean(np.reshape(found, (3, 2, 2)), axis=1))
    assert not np.allclose(both["train"], last["train"])


def test_the_poorer_truth_takes_every_fifth_image():
    class Always(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.one_hot(torch.zeros(len(x), dtype=int), 3).float()

    labels = torch.tensor([0, 1, 1, 1, 0, 0, 1, 0, 1, 1])  # right at 0, 4, 5 and 7; of 0 and 5 both
    batches = [(torch.zeros(6, 1), labels[:6]), (torch.zeros(4, 1), labels[6:])]
    assert standalone.tested(Always(), batches) == (40.0, 100.0)


def test_images_that_train_do_not_evaluate(tmp_path):
    run, config = a_run(tmp_path)
    train, held, classes = image_sets.images(run, config, config)
    assert (len(train), len(held), classes, train.pad) == (40, 50, 10, 1)
    assert train.x.shape[1:] == held.x.shape[1:] == (8, 8, 3)
    assert not set(map(bytes, train.x)) & set(map(bytes, held.x))
    labels = image_sets.load("made-up", "train").y
    assert np.array_equal(train.y, labels[:40]) and np.array_equal(held.y, labels[40:90])
    assert np.array_equal(train.pixels.mean, held.pixels.mean)
    assert np.allclose(train.pixels.mean, train.x.mean((0, 1, 2)))
    _, rest, _ = image_sets.images(run, config, config.__class__(**{**vars(config), "held_images": None}))
    assert len(rest) == 60 and np.array_equal(rest.x[:50], held.x)


@pytest.mark.parametrize(("train", "held"), [(100, None), (0, 50), (60, 50)])
def test_more_images_than_there_are_cannot_be_taken(tmp_path, train, held):
    run, config = a_run(tmp_path, train_images=train, held_images=held)
    with pytest.raises(HarnessError, match="made-up has 100 images: .* cannot be taken"):
        image_sets.images(run, config, config)


@pytest.mark.parametrize("what", [{"scale": [0.4, 1.0]}, {"colour_jitter": 0.4}, {"flip": False}])
def test_an_augmentation_that_small_images_do_not_get_is_refused(tmp_path, what):
    run, config = a_run(tmp_path, augmentation={"pixel_shift": 1, **what})
    with pytest.raises(HarnessError, match="small images are shifted and flipped, nothing else"):
        image_sets.images(run, config, config)


def test_a_loss_that_is_no_number_ends_the_run_in_one_sentence(tmp_path):
    training = a_training(tmp_path, "0-0")
    with torch.no_grad():
        training.network.head[-1].bias.fill_(float("inf"))
    with pytest.raises(HarnessError, match="0-0: the loss became nan at step 0 of 6: lower weights.lr_max"):
        training.one()


def test_a_warm_up_that_never_ends_is_refused(tmp_path):
    with pytest.raises(HarnessError, match="2 of 2 epochs warm up, which leaves nothing"):
        done(tmp_path, weights={**TINY["weights"], "warmup_epochs": 2})


def test_the_published_set_up_is_that_of_table_5_and_appendix_b():
    runs = list(paper("icw").experiments["standalone"].runs("paper"))
    assert [run.seed for run in runs] == [1, 2]
    config = build(standalone.Config, runs[0].config, runs[0].id)
    (of_table,) = [
        r for r in paper("icw").experiments["training_setup"].runs("paper") if "standalone" in r.id
    ]
    assert of_table.config.items() <= runs[0].config.items()
    assert (config.architectures, config.classes_sampled, config.per_class) == (50, 100, 250)
    for scale in ("cpu", "smoke"):
        runs = list(paper("icw").experiments["standalone"].runs(scale))
        assert [run.seed for run in runs] == [1, 2]
        assert build(standalone.Config, runs[0].config, runs[0].id).augmentation.scale is None
