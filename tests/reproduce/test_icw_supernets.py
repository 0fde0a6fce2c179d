"""Training of icw's super-networks: what the methods of a seed share, the split, weight decay, going on."""

from pathlib import Path

import icw_run
import numpy as np
import pytest
import torch
from icw_run import BIAS, PER_COPY, SPLIT, a_run, done, table

from harness.base.errors import HarnessError
from harness.supernet.sampling import whole
from reproduce.icw import candidates, supernets

KINDS = {"none": {}, "bias": BIAS, "split": SPLIT, "per copy": PER_COPY, "resting": {"zero_grad": False}}


@pytest.fixture(autouse=True)
def noise(monkeypatch: pytest.MonkeyPatch) -> None:
    icw_run.made_up(monkeypatch)


def trainer_of(folder: Path, seed: int = 0, **changed: object) -> supernets.Trainer:
    run, config = a_run(folder, seed, **changed)
    train, _, classes = candidates.images(run, config, config)
    network, choices = supernets.build(run, config, classes)
    return supernets.Trainer(run, config, network, choices, train)


def watched(trainer: supernets.Trainer, steps: int) -> tuple[list, list]:
    """The minibatches and the paths of the first steps."""
    batches, paths, plain = [], [], trainer.network.forward

    def forward(x: torch.Tensor, path: tuple) -> torch.Tensor:
        batches.append(x.clone())
        paths.append(path)
        return plain(x, path)

    trainer.network.forward = forward
    for _ in range(steps):
        trainer.one()
    return batches, paths


def test_methods_of_a_seed_share_weights_minibatches_crops_and_paths(tmp_path):
    seen = {}
    for name, kind in KINDS.items():
        trainer = trainer_of(tmp_path / name, **kind)
        first = trainer.network.stem[0].weight.detach().clone()
        seen[name] = (first, *watched(trainer, 6))
    weights, batches, paths = seen["none"]
    for other in seen.values():
        assert torch.equal(other[0], weights) and other[2] == paths
        assert all(torch.equal(a, b) for a, b in zip(other[1], batches, strict=True))
    other = trainer_of(tmp_path / "seed", 1)
    assert not torch.equal(other.network.stem[0].weight, weights)
    assert watched(other, 6)[1] != paths


def test_a_path_is_one_architecture_of_the_sub_space(tmp_path):
    counts = {op: 0 for op in "1234"}
    trainer = trainer_of(tmp_path, sub_space="no-zero", epochs=60)
    for step in range(240):
        path = whole(trainer.choices.uniform(trainer.run.stream(f"path {step}")), trainer.network.cells)
        assert len(set(path)) == 1 and len(path) == 3
        for op in path[0]:
            counts[op] += 1
    spread = 3 * np.sqrt(240 * 6 * 0.25 * 0.75)
    assert all(abs(count - 240 * 6 / 4) < spread for count in counts.values())


def test_split_weights_are_the_baseline_until_the_split_and_continuous_there(tmp_path):
    plain, split = trainer_of(tmp_path / "a"), trainer_of(tmp_path / "b", **SPLIT)
    assert (plain.total, split.splits_at) == (8, 4)
    for trainer in (plain, split):
        while trainer.step < trainer.total:
            trainer.one()
    assert plain.losses[:5] == split.losses[:5]  # the first loss behind the split is of equal copies
    assert plain.losses[5:] != split.losses[5:]


def test_the_split_is_at_the_start_of_the_published_epoch(tmp_path):
    for epoch, share in ((125, 0.5), (175, 0.7), (200, 0.8)):
        trainer = trainer_of(tmp_path, **{**SPLIT, "split_share": share, "epochs": 250})
        assert trainer.splits_at == epoch * trainer.per_epoch


def test_the_learning_rate_is_stepped_as_table_5_says(tmp_path):
    trainer = trainer_of(tmp_path, epochs=10)
    expected = [1e-5 + (0.025 - 1e-5) * (1 + np.cos(np.pi * step / 40)) / 2 for step in range(40)]
    assert trainer.rates[:40] == pytest.approx(expected)
    for step in range(5):
        trainer.one()
        assert {group["lr"] for group in trainer.optimiser.param_groups} == {trainer.rates[step]}
    warm = {**icw_run.TINY["weights"], "warmup_epochs": 5}
    rates = trainer_of(tmp_path, epochs=10, weights=warm).rates
    assert rates[0] < rates[10] < rates[20] == max(rates) and rates[40] == pytest.approx(1e-5)


def decayed(trainer: supernets.Trainer) -> dict[str, bool]:
    names = {id(p): name for name, p in trainer.network.named_parameters()}
    groups = trainer.optimiser.param_groups
    return {names[id(p)]: group["weight_decay"] > 0 for group in groups for p in group["params"]}


def test_bias_vectors_are_decayed_as_the_authors_and_batch_norm_is_not(tmp_path):
    found = decayed(trainer_of(tmp_path, **BIAS))
    vectors = [name for name in found if name.startswith("additional")]
    assert vectors and all(found[name] for name in vectors)
    assert not found["head.0.weight"] and not found["head.4.bias"] and found["head.4.weight"]
    found = decayed(trainer_of(tmp_path, dependence={"kind": "bias", "decayed": False}))
    assert not any(found[name] for name in found if name.startswith("additional"))


@pytest.mark.parametrize(("zero_grad", "moves"), [(True, True), (False, False)])
def test_weights_that_were_not_drawn_move_on_only_under_zero_gradients(tmp_path, zero_grad, moves):
    trainer = trainer_of(tmp_path, zero_grad=zero_grad, epochs=20)
    edges = trainer.network.candidates[0]
    for _ in range(12):  # both convolutions of the first edge have been drawn
        trainer.one()
    path = trainer.choices.uniform(trainer.run.stream(f"path {trainer.step}"))
    resting = edges[5 - int(path[0])][1].weight  # of 2 and 3, the other one
    before = resting.detach().clone()
    trainer.one()
    assert torch.equal(resting, before) is not moves


def test_a_super_network_that_diverges_is_one_sentence(tmp_path):
    weights = {**icw_run.TINY["weights"], "lr_max": 1e20}
    with pytest.raises(HarnessError, match=r"loss became (nan|inf) at step \d+ of 8: lower weights.lr_max"):
        done(tmp_path, weights=weights)


def test_a_sequential_network_without_its_space_is_refused(tmp_path):
    with pytest.raises(HarnessError, match="needs the block 'space'"):
        supernets.build(*a_run(tmp_path, network="sequential"), 10)


def test_all_methods_and_seeds_score_the_same_architectures(tmp_path):
    runs = [done(tmp_path / "a"), done(tmp_path / "b", 1), done(tmp_path / "c", **BIAS)]
    names = [table(run)["architecture"].tolist() for run in runs]
    assert names[0] == names[1] == names[2] and len(set(names[0])) == 5
    other = done(tmp_path / "d", drawn_with=1)
    assert table(other)["architecture"].tolist() != names[0]
