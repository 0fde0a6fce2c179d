"""Curves per epoch of NAS-Bench-201, from made official records."""

import re
from functools import partial

import numpy as np
import pytest
from bench.made import ARCHS, value, write_nats

from harness.base.errors import HarnessError
from harness.base.files import cache_dir
from harness.bench import curve, nats
from harness.bench import store as stores

NATS = "benchmarks/nb201/NATS-tss-v1_0-3ffb9-simple"
KEPT_BEFORE = {"cifar10-valid": 2}  # loss and accuracy in training


def test_curves_are_the_run_s_own_per_epoch_values(made):
    write_nats(made / NATS, [1])
    ask = partial(curve, "nb201", ARCHS[1])
    found = ask("cifar10", 200, "val", 1, "train_loss")
    np.testing.assert_array_equal(
        found.values, [value(1, "cifar10-valid", 888, 200, "train_loss", e) for e in range(200)]
    )
    assert found.identity.trials == 1 and "train_loss after each epoch" in found.identity.policy
    whole = ask("cifar10", 200, "test", 1, "train_loss").values
    assert whole[0] == value(1, "cifar10", 888, 200, "train_loss", 0) != found.values[0]
    short = ask("cifar100", 12, "test", 0, "acc").values
    np.testing.assert_array_equal(short, [value(1, "cifar100", 111, 12, "x-test", e) for e in range(12)])
    loss = ask("imagenet16-120", 200, "val+test", 2, "loss").values
    assert loss[7] == value(1, "ImageNet16-120", 999, 200, "ori-test", 7, "loss")


def test_the_validation_curve_of_cifar10_is_that_of_the_run_on_25k_images(made):
    write_nats(made / NATS, [1])
    for epochs, names in ((200, [777, 888, 999]), (12, [111, 777])):
        for trial, name in enumerate(names):
            for quantity, kind in (("acc", ()), ("loss", ("loss",))):
                found = curve("nb201", ARCHS[1], "cifar10", epochs, "val", trial, quantity)
                run = (1, "cifar10-valid", name, epochs, "x-valid")
                np.testing.assert_array_equal(found.values, [value(*run, e, *kind) for e in range(epochs)])
                assert "x-valid (25k images)" in found.identity.policy
    whole = curve("nb201", ARCHS[1], "cifar10", 200, "test", 0, "acc").values
    np.testing.assert_array_equal(whole, [value(1, "cifar10", 777, 200, "ori-test", e) for e in range(200)])


def test_a_store_without_the_validation_curve_is_made_again(made, monkeypatch):
    """The first converter dropped x-valid at 200 epochs; its stores have the same columns and hash."""
    write_nats(made / NATS, [1])
    ask = partial(curve, "nb201", ARCHS[1], "cifar10", 200, "val", 0)
    kinds = nats._kinds
    with monkeypatch.context() as before:
        before.setattr(stores, "CONVERTER", 1)
        before.setattr(nats, "_kinds", lambda run, epochs: kinds(run, epochs)[: KEPT_BEFORE.get(run)])
        with pytest.raises(HarnessError, match="no per-epoch acc of cifar10 val at 200 epochs"):
            ask("acc")
    (folder,) = (cache_dir() / "stores").glob("nb201-nats-" + "[0-9a-f]" * 12)
    assert np.load(folder / "curves-cifar10-valid-200.npy").shape == (1, 3, 2, 200)
    assert ask("acc").values[3] == value(1, "cifar10-valid", 777, 200, "x-valid", 3)
    assert np.load(folder / "curves-cifar10-valid-200.npy").shape == (1, 3, 4, 200)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cifar100", 200, "val", 0, "acc"), "no per-epoch acc of cifar100 val .* only for cifar10 val, "),
        (("imagenet16-120", 200, "test", 0, "loss"), "no per-epoch loss of imagenet16-120 test at 200"),
        (
            ("cifar10", 12, "test", 1, "train_loss"),
            "no per-epoch train_loss of cifar10 test at 12 epochs, trial 1",
        ),
        (("cifar10", 90, "val", 0, "train_loss"), "no curve of cifar10 val accuracy at 90 epochs"),
        (("cifar10", 200, "val", "mean", "train_loss"), r"no curve of .*\(mean\)"),
        (("cifar10", 200, "val+test", 0, "train_loss"), "no curve of cifar10 val.test"),
        (("cifar10", 200, "val", 0, "val_acc"), "unknown quantity of a curve 'val_acc'"),
    ],
)
def test_a_curve_that_is_not_held_is_an_error(made, arguments, message):
    write_nats(made / NATS, [1])
    with pytest.raises(HarnessError, match=message):
        curve("nb201", ARCHS[1], *arguments)


def test_the_curve_of_a_seed_that_a_cell_does_not_have_is_an_error(made):
    write_nats(made / NATS, [0])
    assert len(curve("nb201", ARCHS[0], "cifar10", 200, "val", 1, "acc").values) == 200
    with pytest.raises(HarnessError, match="cifar10 val at 200 epochs, trial 2, .* of each seed held"):
        curve("nb201", ARCHS[0], "cifar10", 200, "val", 2, "acc")


def test_curves_of_other_cells_sources_and_spaces_are_errors(made):
    write_nats(made / NATS, [1])
    with pytest.raises(HarnessError, match=re.escape(f"for {ARCHS[2]}")):
        curve("nb201", ARCHS[2], "cifar10", 200, "val", 0, "train_loss")
    with pytest.raises(HarnessError, match="no curves in nb201-table: only nb201-nats"):
        curve("nb201", ARCHS[1], "cifar10", 200, "val", 0, "train_loss", source="nb201-table")
    with pytest.raises(HarnessError, match="no curves in nb101 at all"):
        curve("nb101", "1:", "cifar10", 108, "val", 0, "train_loss")
