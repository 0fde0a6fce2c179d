"""PGNAS: candidates sampled, scored both ways, chosen; what their spread lets expect."""

import numpy as np
import pytest
import torch

from harness.base.errors import HarnessError
from reproduce.pgnas import candidates, outcome, posterior
from reproduce.pgnas.candidates import Errors, sample, score, score_plainly
from reproduce.pgnas.networks import Network, build


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def trained(width: int = 24, blocks: int = 1, **more):
    """Wide enough that dropped channels are left out, with statistics of its own; in double precision."""
    config = Network(network="shake-shake", width=width, blocks=blocks, stem=4, side=8, **more)
    network = build(config).double().train()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "norm" in name:
                parameter.add_(0.3 * torch.randn_like(parameter))
        network(torch.randn(8, 3, 8, 8).double())
    return network.eval()


def some_images(count: int = 12, size: int = 5):
    x, y = torch.randn(count, 3, 8, 8).double(), torch.randint(10, (count,))
    return list(zip(x.split(size), y.split(size), strict=True))


@pytest.mark.parametrize(("p", "blocks"), [(0.02, 2), (0.3, 1), (0.7, 1), (0.97, 1)])
def test_quick_scores_are_the_plain_ones(p: float, blocks: int):
    network, images = trained(blocks=blocks), some_images()
    masks = sample(torch.full((len(network.of_channel),), p), 9, np.random.default_rng(1))
    masks[4] = masks[2]
    assert torch.equal(score(network, masks, images), score_plainly(network, masks, images))


@pytest.mark.parametrize("side", [8, 9])
@pytest.mark.parametrize("p", [0.0, 0.4, 0.97])
def test_a_merged_candidate_gives_the_masked_logits(side: int, p: float):
    """But for the last digits; of odd sides, too, where a skip's second convolution reads zeros."""
    network, x = trained(), torch.randn(5, 3, side, side).double()
    for mask in sample(torch.full((len(network.of_channel),), p), 3, np.random.default_rng(1)).double():
        with torch.no_grad(), network.wearing(mask[None]):
            torch.testing.assert_close(
                candidates.Merged(network, mask)(x), network(x), rtol=1e-10, atol=1e-10
            )


def test_a_merged_candidate_leaves_out_what_is_dropped():
    network = trained()
    merged = candidates.Merged(network, torch.ones(len(network.of_channel)).double())
    assert [first[0].shape[0] for first, *_ in merged.blocks] == [48, 96, 192]
    mask = sample(torch.full((len(network.of_channel),), 0.7), 1, np.random.default_rng(0))[0].double()
    widths = [first[0].shape[0] for first, *_ in candidates.Merged(network, mask).blocks]
    assert [width % candidates.BLOCK for width in widths] == [0, 0, 0]
    assert all(width < 0.7 * whole for width, whole in zip(widths, (48, 96, 192), strict=True))


def test_quick_scores_with_channels_scaled_up_and_layers_without_masks():
    for more in ({"granularity": "channel"}, {"stem_and_head": False}):
        network, images = trained(**more), some_images()
        p = torch.full((len(network.of_channel),), 0.2)
        masks, scale = sample(p, 5, np.random.default_rng(2)), 1 / (1 - p.double())
        assert torch.equal(score(network, masks, images, scale), score_plainly(network, masks, images, scale))


def test_scores_of_other_networks_are_taken_the_plain_way():
    config = Network(network="resnet", width=8, depths=(1,), classes=10, side=8)
    network, images = build(config).double().eval(), some_images()
    masks = sample(network.p_of_channels, 2, np.random.default_rng(0))
    found = score(network, masks, images)
    with torch.no_grad(), network.wearing(masks[1:].double()):
        logits = torch.cat([network(x) for x, _ in images])
    assert torch.equal(found[1], candidates.ranks(logits, torch.cat([y for _, y in images])).to(torch.uint8))


def test_a_batch_is_read_once_for_all_candidates():
    network, images, read = trained(), some_images(), []

    class Told:
        def __iter__(self):
            for batch in images:
                read.append(len(batch[1]))
                yield batch

    masks = sample(network.p_of_channels, 4, np.random.default_rng(0))
    for way in (score, score_plainly):
        found = way(network, masks, Told())
        assert found.shape == (4, 12) and read == [5, 5, 2]
        read.clear()


def test_merged_candidates_of_a_large_network_are_not_there_all_at_once(monkeypatch: pytest.MonkeyPatch):
    """A hundred of SupNet-MI would have taken 29 gigabytes."""
    network, images, groups = trained(), some_images(), []
    real, size = candidates._scored, sum(8 * p.numel() for p in network.parameters())
    monkeypatch.setattr(candidates, "_scored", lambda n, m, *of: groups.append(len(m)) or real(n, m, *of))
    masks = sample(network.p_of_channels, 7, np.random.default_rng(0))
    wanted = score(network, masks, images)
    for room, sizes in ((3 * size, [3, 3, 1]), (1, [1] * 7)):
        groups.clear()
        monkeypatch.setattr(candidates, "WEIGHTS", room)
        assert torch.equal(score(network, masks, images), wanted) and groups == sizes


def test_far_ranks_of_many_classes_are_not_counted_as_right():
    """A byte holds 255: rank 256 of a thousand classes had been 0, the most probable."""
    network = build(Network(network="resnet", width=4, depths=(1,), classes=300, side=16)).eval()
    with torch.no_grad():
        network.head.weight.zero_()
        network.head.bias.copy_(torch.arange(300.0))
    masks = torch.ones(1, len(network.of_channel), dtype=torch.uint8)
    y = torch.tensor([299, 43, 0])  # 0, 256 and 299 classes are above them
    found = score(network, masks, [(torch.randn(3, 3, 16, 16), y)])
    assert found.tolist() == [[0, candidates.LAST, candidates.LAST]]


def test_candidates_are_drawn_by_their_probabilities_and_the_first_stay_the_same():
    p = torch.tensor([0.0, 0.25, 0.9, 1.0])
    many = sample(p, 4000, np.random.default_rng(3))
    few = sample(p, 10, np.random.default_rng(3))
    assert torch.equal(many[:10], few)
    assert (1 - many.double().mean(0)).tolist() == pytest.approx(p.tolist(), abs=0.03)


def test_control_masks_drop_as_often_and_elsewhere():
    network = trained()
    with torch.no_grad():
        network.drop_logits.copy_(torch.linspace(-4, 2, len(network.drop_logits)))
    p = network.p_of_channels.detach()
    parts = 1 - candidates.uniform(network, 400, np.random.default_rng(0)).double().mean(0)
    assert parts.mean().item() == pytest.approx(p.mean().item(), abs=0.01)
    assert parts.std() < 0.05 < p.std()
    dealt = candidates.shuffled(network, 400, np.random.default_rng(0)).double()
    assert (1 - dealt.mean(0)).std() < 0.05  # every layer has had every p
    of_head = 1 - dealt[:, -network.widths[-1] :].mean(1)  # within one mask a layer has one p
    assert of_head.std() > 0.2


def test_more_candidates_than_memory_holds_are_refused():
    with pytest.raises(HarnessError, match="lower candidates"):
        sample(torch.full((70_000,), 0.1), 40_000, np.random.default_rng(0))


def test_a_candidate_list_of_another_network_is_refused():
    with pytest.raises(HarnessError, match="it belongs to another network"):
        score(trained(), torch.ones(2, 5, dtype=torch.uint8), some_images())


def test_ranks_count_classes_above_the_right_one():
    logits = torch.tensor([[0.0, 3, 2, 1, 5, 4, 6], [9.0, 3, 2, 1, 5, 4, 6]])
    found = candidates.ranks(logits, torch.tensor([0, 0]))
    assert found.tolist() == [6, 0]
    assert Errors.of(found) == Errors(50.0, 50.0)


@pytest.mark.parametrize(("count", "known"), [(1, 0.0), (2, 0.56419), (50, 2.24907), (1500, 3.35607)])
def test_expected_maximum_of_normal_numbers(count: int, known: float):
    assert outcome.expected_maximum(count) == pytest.approx(known, abs=3e-3)


def test_choices_are_means_over_separate_groups():
    choose, test = np.array([3.0, 1, 2, 0, 9]), np.array([5.0, 7, 4, 8, 0])
    found = outcome.choices(outcome.Scores(choose, test, choose, test), 10 * choose, [2, 4])
    assert found["groups"] == [2, 1]
    assert found["by_choose"] == [7.5, 8.0]  # the second of each pair; the fourth of all
    assert found["by_test"] == [4.5, 4.0]
    assert found["optimism"] == [3.0, 4.0]
    assert found["parameters"] == [5.0, 0.0]
    assert found["by_spread"][0] == pytest.approx(test.mean() - 0.56419 * test.std(ddof=1), abs=1e-3)


def test_own_statistics_are_those_of_the_images():
    network, images = trained(), some_images(10)
    outcome.renew_statistics(network, images)
    with torch.no_grad():
        stems = [network.stem(x) for x, _ in images]
    mean = torch.stack([s.mean((0, 2, 3)) for s in stems]).mean(0)
    var = torch.stack([s.var((0, 2, 3)) for s in stems]).mean(0)
    torch.testing.assert_close(network.stem_norm.running_mean, mean)
    torch.testing.assert_close(network.stem_norm.running_var, var)
    assert not network.training and network.stem_norm.momentum == 0.1


def test_without_data_p_comes_to_rest_at_the_fixed_point():
    network, prior = (
        build(Network(network="shake-shake", width=4, blocks=1, stem=4)),
        posterior.Prior(l2=0.5, n=10),
    )
    rest = posterior.fixed_point(network.norms().detach(), network.channels, prior)
    logits = network.drop_logits.detach().clone().double()
    for _ in range(600):
        gradient = posterior.logit_gradient(logits, network.norms().detach(), network.channels, prior)
        logits -= 4 * gradient
    torch.testing.assert_close(logits, rest.double(), rtol=1e-3, atol=1e-3)
