"""Members, attacks and what is asked of networks in section 5 of nsa; closed forms and what must not move."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from small_runs import SmallRuns, metrics

from harness.base.errors import HarnessError
from harness.data import load
from harness.training.batches import Pixels
from reproduce.nsa import applications, batch_means, semi_supervised
from reproduce.nsa.attacks import Attack, attacked, gradient, normalised
from reproduce.nsa.members import architectures, at_random, predicting, probabilities
from reproduce.nsa.network import Shape, WiredNet
from reproduce.nsa.wiring import wirings

PIXELS = Pixels(np.array([100.0, 120.0, 140.0]), np.array([50.0, 60.0, 70.0]))
TINY = {
    "dataset": "digits",
    "width": 1,
    "nodes": 2,
    "batch": 16,
    "epochs": 1,
    "train_images": 48,
    "test_images": 30,
    "learn_aggregation": True,
    "conditional_norm": True,
    "architectures": 2,
}
RUNS = SmallRuns(applications, TINY)
SEMI = SmallRuns(semi_supervised, {**TINY, "labelled": 16, "auxiliary": 0.0, "epochs": 2})


def network(**changed: object) -> WiredNet:
    torch.manual_seed(1)
    shape = Shape(**{"width": 1, "side": 8, "nodes": 2, "classes": 3, "auxiliary": False, **changed})
    return WiredNet(shape, wirings(1, 4, 2)).double().eval()


def levels(n: int = 6) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).uniform(0, 255, (n, 3, 8, 8)))


def linear(weight: torch.Tensor) -> list:
    return [lambda x: torch.stack([(x * weight).sum((1, 2, 3)), torch.zeros(len(x), dtype=x.dtype)], 1)]


def test_an_attack_on_a_linear_network_goes_to_the_corner_of_the_budget():
    # Small ones: a probability of 1 has no slope.
    weight = torch.from_numpy(np.random.default_rng(1).normal(size=(3, 8, 8))) / 20
    x, y = levels(), torch.zeros(6, dtype=torch.long)
    attack = Attack(3, 1, 5)
    found = attacked(linear(weight), x, y, PIXELS, attack, np.random.default_rng(0))
    assert torch.equal(found, (x - 3 * weight.sign()).clamp(0, 255))


def test_an_attacked_image_stays_in_its_budget_and_among_images():
    members, y = architectures(network()), torch.arange(6) % 3
    found = attacked(members, levels(), y, PIXELS, Attack(2, 4, 1), np.random.default_rng(0))
    assert (found - levels()).abs().max() <= 2 + 1e-12 and found.min() >= 0 and found.max() <= 255
    assert (found - levels()).abs().mean() > 1


def test_the_gradient_goes_through_the_mean_of_all_members():
    members, y = architectures(network()), torch.arange(6) % 3
    x = levels().requires_grad_()
    mean = torch.stack([torch.softmax(one(normalised(x, PIXELS)), -1) for one in members]).mean(0)
    (slope,) = torch.autograd.grad(-mean.gather(1, y[:, None]).log().sum(), x)
    assert torch.allclose(gradient(members, levels(), y, PIXELS), slope, rtol=1e-9)


def test_a_stronger_attack_lowers_the_true_class_further():
    net, y = network(), torch.arange(6) % 3
    members = architectures(net)

    def of_truth(x: torch.Tensor) -> float:
        return float(probabilities(members, [normalised(x, PIXELS)]).mean(0)[np.arange(6), y.numpy()].mean())

    found = [
        attacked(members, levels(), y, PIXELS, Attack(b, 6, 2), np.random.default_rng(0)) for b in (2, 12)
    ]
    assert of_truth(levels()) > of_truth(found[0]) > of_truth(found[1])


def test_dropout_is_drawn_in_predictions_and_off_afterwards():
    net = network(dropout=0.3)
    x = normalised(levels(), PIXELS)
    with predicting([net]):
        p = probabilities(at_random(net, np.random.default_rng(0), 3), [x])
        again = probabilities(at_random(net, np.random.default_rng(0), 3), [x])
    assert np.array_equal(p, again) and not np.allclose(p[0], p[1])
    assert torch.equal(net(x, torch.tensor([0])), net(x, torch.tensor([0])))


def test_other_images_of_another_shape_are_one_sentence(tmp_path):
    with pytest.raises(
        HarnessError, match=r"mnist has images of \(28, 28, 1\), and those of digits .* name another"
    ):
        RUNS.done(tmp_path, ood="mnist")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ((0.5, 2, 1), "an attack of 0.5 grey levels changes no image that has 256: give it at least 1"),
        ((1, 0, 1), "an attack of 0 steps of 1 does nothing"),
    ],
)
def test_an_attack_that_does_nothing_is_one_sentence(values, told):
    with pytest.raises(HarnessError, match=told):
        Attack(*values)


def test_individuals_are_trained_alone_with_the_same_architectures(tmp_path):
    """Each has one architecture; their members are as many as NSA-id's."""
    config = {"individuals": True, "conditional_norm": False}
    run, built = RUNS.begun(tmp_path, **config)
    train, test, classes = applications.image_parts(run, built)
    networks = applications._trained(run, built, train, test, classes, applications.Checkpoint(run))
    assert [len(one.shares) for one in networks] == [1, 1]
    assert torch.equal(
        torch.cat([one.shares for one in networks]),
        WiredNet(Shape(width=1, side=8, nodes=2), wirings(1, 2, 2)).shares,
    )


def test_what_is_asked_is_measured(tmp_path):
    found = metrics(
        RUNS.done(tmp_path, ood="digits", ood_images=30, attacks=[{"budget": 8, "steps": 2, "step": 8}])
    )
    assert found["ood_auc"] == 0.5, "the same images are told from themselves"
    assert 0 <= found["pgd8_2_8_accuracy"] <= 1 and found["mutual_information"] > 0
    assert found["error"] <= 100 and found["scaled_ece"] < 1


def test_uncertainty_is_a_score_of_the_other_images(tmp_path):
    """Members agree on usual images and do not on others: all of those have the larger score."""
    run, config = RUNS.begun(tmp_path)
    usual = np.tile([0.9, 0.1], (2, 7, 1))
    other = np.stack([np.tile([0.99, 0.01], (5, 1)), np.tile([0.01, 0.99], (5, 1))])
    applications.Asked(run, config, [], None)._told("ood", usual, other)
    assert metrics(run) == {"ood_auc": 1, "ood_entropy_auc": 1}


def test_each_attack_has_its_own_number_of_images(tmp_path, monkeypatch):
    seen = []

    def nothing(members, x, y, *_):
        seen.append((len(x), y.tolist()))
        return x

    monkeypatch.setattr(applications, "attacked", nothing)
    weak, strong = {"budget": 1, "steps": 2, "step": 1}, {"budget": 8, "steps": 2, "step": 1, "images": 7}
    run = RUNS.done(tmp_path, attacks=[weak, strong])
    assert [n for n, _ in seen] == [30, 7] and seen[1][1] == seen[0][1][:7]
    assert metrics(run)["pgd8_2_1_auc"] == 0.5, "the same seven images are told from themselves"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"own_statistics": True, "sampling": "batch", "passes": 2}, "passes draw one for each image"),
        ({"own_statistics": True, "sampling": "batch", "random_passes": 2}, "passes draw one for each image"),
        ({"passes": 2, "random_passes": 2}, "leave random_passes out"),
        ({"individuals": True, "random_passes": 2}, "leave random_passes out"),
    ],
)
def test_passes_that_no_network_could_make_are_one_sentence(tmp_path, changed, told):
    """Statistics of the first image's architecture would serve all images, without a word."""
    with pytest.raises(HarnessError, match=told):
        RUNS.done(tmp_path, **changed)


def test_random_passes_come_beside_and_move_nothing(tmp_path):
    alone, beside = (
        metrics(RUNS.done(tmp_path / name, **more))
        for name, more in (("a", {}), ("b", {"random_passes": 40}))
    )
    assert alone == {name: value for name, value in beside.items() if not name.startswith("random_passes")}
    assert beside["random_passes_error"] == pytest.approx(beside["error"], abs=10)


def test_scores_of_members_are_theirs_and_not_the_ensembles():
    """Two members, each sure and of opposite opinions: their mean is not sure at all."""
    p, y = np.zeros((2, 4, 2)), np.array([0, 1, 0, 1])
    p[0], p[1] = (0.9, 0.1), (0.1, 0.9)
    found = applications.scores(p, y)
    assert found["overconfidence"] == pytest.approx(0)
    assert found["member_overconfidence"] == pytest.approx(0.4)
    own = [applications.scores(one[None], y) for one in p]
    for name in ("scaled_ece", "overconfidence", "ece", "nll"):
        assert found[f"member_{name}"] == pytest.approx(np.mean([one[name] for one in own])), name


def test_unlabelled_images_teach_by_their_consistency_alone(tmp_path):
    """Nothing hangs on which labels they have, and something on those of labelled images."""
    before = load("digits", "train").y.copy()
    ends = []
    for folder, changed in (("a", slice(0, 0)), ("b", slice(16, None)), ("c", slice(0, 16))):
        run, config = SEMI.begun(tmp_path / folder)
        train, test, classes = semi_supervised.image_parts(run, config)
        train.y[changed] = (train.y[changed] + 1) % 10
        net = semi_supervised.build(run, config, train, classes)
        training = semi_supervised.SemiSupervised(run, config, net, train, test)
        for _ in range(2):
            training.one()
        ends.append(net.classifier.weight.detach().clone())
    assert torch.equal(*ends[:2]) and np.array_equal(before, load("digits", "train").y)
    assert not torch.equal(ends[0], ends[2])


@pytest.mark.parametrize(("of_labelled", "first"), [(True, 0), (False, 16)])
def test_the_consistency_loss_of_given_logits(tmp_path, of_labelled, first):
    """Cross-entropy of labelled images, and 20 times the mean of squares over images and classes."""
    run, config = SEMI.begun(tmp_path, ramp=0.5, of_labelled=of_labelled)
    train, test, classes = semi_supervised.image_parts(run, config)
    net = semi_supervised.build(run, config, train, classes)
    training = semi_supervised.SemiSupervised(run, config, net, train, test)
    training.step = round(training.total / 4)
    x, y = training.batch(training.step)
    rng = np.random.default_rng(0)
    one, two = (torch.from_numpy(rng.normal(size=(len(y), 10))) for _ in range(2))
    given = iter([one, two])
    training.network = lambda *_: next(given)
    logs = one.numpy() - np.log(np.exp(one.numpy()).sum(1, keepdims=True))
    labelled = -logs[np.arange(16), y[:16].numpy()].mean()
    distance = np.square(one.numpy() - two.numpy())[first:].mean()
    rise = np.exp(-5 * (1 - training.step / training.total / 0.5) ** 2)
    loss, logits = training.loss(x, y)
    assert loss.item() == pytest.approx(labelled + 20 * rise * distance, rel=1e-9)
    assert logits is one and 0 < rise < 1


def test_both_views_are_of_the_same_images(tmp_path, monkeypatch):
    """But for crops, in each round of either kind; a round takes each image once at most."""
    run, config = SEMI.begun(tmp_path)
    train, test, classes = semi_supervised.image_parts(run, config)
    train = replace(train, y=np.arange(len(train)))
    net = semi_supervised.build(run, config, train, classes)
    one = semi_supervised.SemiSupervised(run, config, net, train, test)
    passes, rounds = [], []
    one.network = lambda x, _: (passes.append(x), net(x, torch.tensor([0])))[1]
    x, y = one.batch(0)
    one.loss(x, y % 10)
    assert not torch.equal(*passes)
    monkeypatch.setattr("harness.training.batches.crop_flip", lambda x, *_, **__: x)
    one.config = replace(config, cutout=False)
    for one.step in range(4):
        x, y = one.batch(one.step)
        one.loss(x, y % 10)
        assert torch.equal(*passes[-2:]) and len(passes) == 2 * one.step + 4
        assert (y[:16] < 16).all() and (y[16:] >= 16).all() and len(y) == 32
        rounds.append(y.tolist())
    assert sorted(rounds[0][16:] + rounds[1][16:]) == list(range(16, 48)), "two steps are a round"
    assert rounds[0][16:] != rounds[2][16:] and sorted(rounds[0][:16]) == list(range(16))


@pytest.mark.parametrize("changed", [{"consistency": 0.0}, {"of_labelled": False}, {"two_views": False}])
def test_each_switch_of_semi_supervised_learning_moves_the_weights(tmp_path, changed):
    ends = []
    for folder, config in (("usual", {}), ("other", changed)):
        run, built = SEMI.begun(tmp_path / folder, ramp=1e-9, **config)
        train, test, classes = semi_supervised.image_parts(run, built)
        net = semi_supervised.build(run, built, train, classes)
        semi_supervised.SemiSupervised(run, built, net, train, test).one()
        ends.append(net.classifier.weight.detach().clone())
    assert not torch.equal(*ends)


def test_the_ramp_is_that_of_temporal_ensembling():
    assert semi_supervised.ramp(0) == pytest.approx(np.exp(-5)) and semi_supervised.ramp(
        0.5
    ) == pytest.approx(np.exp(-1.25))
    assert semi_supervised.ramp(1) == semi_supervised.ramp(7) == 1


def test_no_label_at_all_is_one_sentence(tmp_path):
    with pytest.raises(HarnessError, match="labelled: 48 of 48 training images: leave some"):
        SEMI.done(tmp_path, labelled=48)


def test_with_one_architecture_nothing_varies_between_architectures(tmp_path):
    """The factor is exactly 1 in each layer; with several it is so before the first choice."""
    for count in (1, 4):
        run, config = RUNS.begun(tmp_path / str(count), conditional_norm=False, learn_aggregation=False)
        train, _, classes = applications.image_parts(run, config)
        torch.manual_seed(1)
        net = WiredNet(Shape(width=1, side=8, channels=train.x.shape[3], nodes=2), wirings(1, count, 2))
        probe = batch_means.Probe(architectures=count, images=24)
        found = batch_means.ratio(batch_means.shares(net, train, probe, np.random.default_rng(0)), 32)
        assert np.array_equal(found[:2], [1, 1])
        assert np.array_equal(found, np.ones(len(found))) if count == 1 else (found[2:] > 1).any()
