"""PGNAS: how super-networks are trained: schedules, masks, what moves and what does not, refusals."""

from pathlib import Path

import pytest
import torch
from pgnas_runs import SMALL, loop
from small_runs import metrics, table

from harness.base.errors import HarnessError
from harness.spec.experiments import paper
from harness.training.optimisers import SGD
from reproduce.pgnas import supernets
from reproduce.pgnas.training import drawn, rates


def test_guidance_moves_probabilities_and_the_others_do_not(tmp_path: Path):
    for name, changed, moves in (
        ("guided", {}, True),
        ("one rate", {"learn": False}, False),
        ("random", {"learn": False, "masks": "hard", "rescale": True}, False),
        ("full", {"masks": "none"}, False),
    ):
        training = loop(tmp_path / name, **changed)
        before = training.network.drop_logits.detach().clone()
        weights = training.network.head.weight.detach().clone()
        training.one()
        assert torch.equal(before, training.network.drop_logits.detach()) != moves, name
        assert not torch.equal(weights, training.network.head.weight.detach())


def test_only_learnt_probabilities_have_a_regulariser(tmp_path: Path):
    """An l² stands in a setting, which random baselines share: these have weight decay."""
    for name, changed in (("a", {"learn": False}), ("b", {"masks": "none"}), ("c", {"l2": None})):
        assert loop(tmp_path / name, **changed).config.prior is None
    assert loop(tmp_path / "guided").config.prior is not None


def test_probabilities_learn_at_a_rate_of_their_own(tmp_path: Path):
    moved = []
    for times in (1.0, 7.0):
        training = loop(tmp_path / str(times), drop_rate=times, clip=None)
        before = training.network.drop_logits.detach().clone()
        training.one()
        moved.append(training.network.drop_logits.detach() - before)
    rounding = 7 * 2**-23 * before.abs().max().item()  # of the logits a move is the difference of
    assert moved[1].abs().max() > 50 * rounding
    torch.testing.assert_close(7 * moved[0], moved[1], rtol=1e-6, atol=rounding)


def test_masks_of_each_kind(tmp_path: Path):
    relaxed = loop(tmp_path / "relaxed")
    masks = drawn(relaxed.network, relaxed.config, 5)
    assert masks.shape == (5, len(relaxed.network.of_channel)) and ((masks > 0) & (masks < 1)).any()
    assert set(drawn(relaxed.network, relaxed.config, 5, hard=True).unique().tolist()) == {0.0, 1.0}
    scaled = loop(tmp_path / "scaled", masks="hard", rescale=True, drop_start=0.5)
    assert set(drawn(scaled.network, scaled.config, 5).detach().unique().tolist()) == {0.0, 2.0}
    assert drawn(relaxed.network, loop(tmp_path / "none", masks="none").config, 5) is None


def test_schedules_begin_anew_or_fall_to_a_tenth(tmp_path: Path):
    _, config = SMALL.begun(tmp_path / "cycles", epochs=3, cycles=[1, 2])
    found = rates(config, 4)
    assert len(found) == 12 and found[0] == found[4] == 0.05
    assert found[3] < found[1] and found[11] < found[5]
    _, config = SMALL.begun(tmp_path / "drops", epochs=3, drops=[1, 2])
    assert rates(config, 2) == pytest.approx([0.05, 0.05, 0.005, 0.005, 0.0005, 0.0005])


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"cycles": [1, 2]}, "cycles of 3 epochs do not fill 2"),
        ({"cycles": [2], "drops": [1]}, "are two schedules"),
        ({"tau": 0.0}, "the temperature τ must be above 0"),
        ({"drop_start": 1.0}, "a drop probability lies between 0 and 1"),
        ({"train_images": 5000}, "cannot be taken"),
        ({"choose_images": 0}, "cannot be taken"),
    ],
)
def test_a_set_up_that_cannot_be_is_refused(changed: dict, told: str, tmp_path: Path):
    with pytest.raises(HarnessError, match=told):
        loop(tmp_path, **changed)


def test_images_that_choose_do_not_train(tmp_path: Path):
    run, config = SMALL.begun(tmp_path)
    train, choose, test = supernets.images(run, config)
    assert (len(train), len(choose), len(test)) == (60, 20, 20)
    assert not {image.tobytes() for image in train.x} & {image.tobytes() for image in choose.x}


def test_a_run_leaves_what_its_tables_are_made_of(tmp_path: Path):
    run = SMALL.done(tmp_path)
    found = metrics(run)
    listed, chosen = table(run, "candidates"), table(run, "choices")
    best = listed["choose_error"].argmin()
    assert found["chosen_error"] == listed["test_error"][best]
    assert found["best_on_test_error"] == listed["test_error"].min() <= found["chosen_error"]
    assert found["parameters"] == pytest.approx(listed["parameters"][best])
    assert found["parameters"] <= found["parameters_whole"]
    assert chosen["count"].tolist() == [2, 6] and chosen["groups"].tolist() == [3, 1]
    assert chosen["by_test"][1] == found["best_on_test_error"]
    assert chosen["parameters"][1] == pytest.approx(found["parameters"])
    assert found["exported_parameters"] == pytest.approx(found["parameters"], rel=1e-12)
    assert found["exported_operations"] == pytest.approx(found["operations"], rel=1e-12)
    assert found["exported_error"] == found["chosen_error"]
    assert table(run, "histogram")["share"].sum() == pytest.approx(100)
    layers = table(run, "layers")
    assert set(layers["kind"]) == {"stem", "branch", "skip", "head"}
    assert layers.loc[layers["widens"] == "yes", "layer"].str.contains("conv1|stem").all()
    assert found["p_low"] + found["p_between"] + found["p_high"] == pytest.approx(100)
    assert not (tmp_path / "checkpoint").exists()


def test_a_candidate_is_chosen_among_the_first_so_many(tmp_path: Path):
    """Rows of one table had numbers of candidates between 300 and 1,500."""
    run = SMALL.done(tmp_path, chosen_of=2)
    found, listed = metrics(run), table(run, "candidates")
    assert len(listed) == 6
    assert found["chosen_error"] == listed["test_error"][listed["choose_error"][:2].argmin()]


def test_controls_are_scored_beside_the_candidates(tmp_path: Path):
    names = {f"{way}_{what}" for way in ("uniform", "shuffled") for what in ("mean", "sd", "parameters")}
    assert not names & metrics(SMALL.done(tmp_path / "without")).keys()
    found = metrics(SMALL.done(tmp_path / "with", controls=4))
    assert names <= found.keys()
    assert 0 < found["uniform_parameters"] < found["parameters_whole"]


def test_own_statistics_gain_nothing_where_no_mask_acts(tmp_path: Path):
    """They did: the training's statistics are of shaken branches, and older."""
    found = metrics(SMALL.done(tmp_path, drop_start=1e-9, l2=0.0, own_statistics=2))
    assert found["own_statistics_gain"] == 0.0
    assert found["own_statistics"] == found["shared_statistics"]


def test_baselines_of_every_network_are_decayed_and_guided_ones_are_not():
    """A setting's optimiser had replaced that of ENAS's cells' baselines, and with it their decay."""
    for scale in ("paper", "cpu", "smoke"):
        for run in paper("pgnas").runs(scale):
            if run.experiment == "sizes":
                continue
            config = run.config
            plain = config.get("masks") == "none" or config.get("learn") is False
            assert (config["weights"]["weight_decay"] > 0) == plain, run.id
            assert plain or config["l2"] > 0, run.id
            if config["network"] == "enas":
                assert config["weights"]["lr_max"] == 0.05, run.id


def test_rows_of_a_table_choose_among_as_many_candidates():
    for scale, wanted in (("paper", 1500), ("cpu", 200)):
        for run in paper("pgnas").runs(scale):
            if run.experiment in ("supernets", "enas_cells", "priors", "temperatures", "switches"):
                assert run.config["chosen_of"] == wanted <= run.config["candidates"], run.id


def test_ordinary_dropout_has_no_relaxed_masks(tmp_path: Path):
    """A second draw of its hard masks had been told as the error under relaxed ones."""
    found = metrics(SMALL.done(tmp_path, learn=False, masks="hard", rescale=True, l2=None))
    assert {"hard_error", "hard_top5", "exported_error"} <= found.keys()
    assert not {"relaxed_error", "relaxed_top5"} & found.keys()


def test_masks_behind_convolutions_have_no_exported_network(tmp_path: Path):
    found = metrics(SMALL.done(tmp_path, mask_after=True))
    assert "chosen_error" in found and "exported_error" not in found


def test_a_network_without_masks_has_no_candidates(tmp_path: Path):
    run = SMALL.done(tmp_path, masks="none", l2=None)
    assert "whole_error" in metrics(run) and "chosen_error" not in metrics(run)
    assert "candidates.csv" not in run.tables


def test_weights_are_decayed_as_the_config_says(tmp_path: Path):
    weights = SGD(lr_max=0.1, lr_min=0.0, momentum=0.0, weight_decay=0.5)
    training = loop(tmp_path, masks="none", l2=None, weights=vars(weights))
    decays = [group["weight_decay"] for group in training.optimiser.param_groups]
    assert decays == [0.5, 0.0]
