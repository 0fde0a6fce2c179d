"""PGNAS: masks, regulariser and fixed points against their closed forms; refusals."""

import math

import pytest
import torch

from harness.base.errors import HarnessError
from reproduce.pgnas import posterior
from reproduce.pgnas.masked import MaskedConv, SuperNet, add_gradient
from reproduce.pgnas.networks import Network, build

PRIOR = posterior.Prior(l2=50, n=5e5)
SMALL = {
    "after": Network(network="shake-shake", width=4, blocks=1, stem=4, side=8, mask_after=True),
    "per channel": Network(network="shake-shake", width=4, blocks=1, stem=4, side=8, granularity="channel"),
    "whole ends": Network(network="shake-shake", width=4, blocks=1, stem=4, side=8, stem_and_head=False),
    "shake-shake": Network(network="shake-shake", width=4, blocks=1, stem=4, side=8),
    "enas": Network(network="enas", width=4, blocks=3),
    "resnet": Network(network="resnet", width=8, depths=(1, 1), classes=5, side=32),
    "densenet": Network(network="densenet", width=4, depths=(2, 3), classes=5, side=32),
}


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize("prior", [PRIOR, posterior.Prior(l2=3, n=1e3, half=True, entropy=-1)])
def test_gradient_by_logit_is_the_closed_form(prior: posterior.Prior):
    logits = torch.linspace(-4, 4, 9, dtype=torch.double, requires_grad=True)
    norms, channels = torch.linspace(0.1, 40, 9).double(), torch.arange(1, 10).double()
    posterior.regulariser(torch.sigmoid(logits), norms, channels, prior).backward()
    closed = posterior.logit_gradient(logits.detach(), norms, channels, prior)
    torch.testing.assert_close(logits.grad, closed, rtol=1e-9, atol=1e-15)


def test_gradient_vanishes_at_the_fixed_point():
    norms, channels = torch.tensor([0.0, 1.0, 30.0]).double(), torch.tensor([16.0, 3.0, 8.0]).double()
    rest = posterior.fixed_point(norms, channels, PRIOR)
    torch.testing.assert_close(rest, 50 * norms / channels)
    assert torch.sigmoid(rest)[0] == 0.5  # a layer without weights keeps half of its channels
    assert posterior.logit_gradient(rest, norms, channels, PRIOR).abs().max() < 1e-15


def test_a_probability_that_rounds_to_one_has_a_finite_gradient():
    """Of p itself, logit(p) would be infinite there, and its product with 1 − p not a number."""
    logits = torch.tensor([40.0, -120.0])
    gradient = posterior.logit_gradient(logits, torch.tensor([1.0, 1.0]), torch.tensor([8.0, 8.0]), PRIOR)
    assert torch.sigmoid(logits)[0] == 1 and torch.isfinite(gradient).all()


def test_regulariser_without_drops_is_weight_decay():
    p, norms, channels = torch.zeros(2), torch.tensor([3.0, 5.0]), torch.tensor([4.0, 4.0])
    assert posterior.regulariser(p, norms, channels, PRIOR).item() == pytest.approx(50 / 5e5 * 8)
    half = posterior.Prior(l2=50, n=5e5, half=True)
    assert posterior.regulariser(p, norms, channels, half).item() == pytest.approx(25 / 5e5 * 8)


@pytest.mark.parametrize(("tau", "kept"), [(0.2, {0.1: 0.895, 0.5: 0.5}), (2 / 3, {0.1: 0.855, 0.5: 0.5})])
def test_relaxed_masks_have_the_bias_of_their_temperature(tau: float, kept: dict[float, float]):
    u1, u2 = torch.rand(2, 200_000)
    for p, mean in kept.items():
        masks = posterior.relaxed(torch.tensor(posterior.logit_of(p)), u1, u2, tau)
        assert masks.mean().item() == pytest.approx(mean, abs=0.003)


def test_relaxed_masks_become_hard_as_the_temperature_falls():
    u1, u2 = torch.rand(2, 1000)
    masks = posterior.relaxed(torch.tensor(posterior.logit_of(0.3)), u1, u2, 1e-4)
    assert ((masks < 1e-3) | (masks > 1 - 1e-3)).float().mean() > 0.99
    assert (masks < 0.5).float().mean().item() == pytest.approx(0.3, abs=0.05)


def test_hard_masks_drop_as_often_as_p_says():
    masks = posterior.hard(torch.tensor([0.05, 0.45]), torch.rand(20_000, 2))
    assert set(masks.unique().tolist()) == {0.0, 1.0}
    assert (1 - masks.mean(0)).tolist() == pytest.approx([0.05, 0.45], abs=0.015)


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("coupled", [True, False])
def test_gradient_added_behind_backward_is_that_of_the_regulariser(kind: str, coupled: bool):
    network, prior = build(SMALL[kind]).double(), posterior.Prior(l2=50, n=5e5, coupled=coupled)
    with torch.no_grad():
        network.drop_logits.uniform_(-3, 2)
    names = [n for n, p in network.named_parameters() if n == "drop_logits" or _masked(network, n)]
    named = dict(network.named_parameters())
    network.regulariser(prior).backward()
    wanted = [named[n].grad for n in names]
    for n in names:
        named[n].grad = torch.zeros_like(named[n])
    add_gradient(network, prior)
    for n, gradient in zip(names, wanted, strict=True):
        torch.testing.assert_close(named[n].grad, gradient, rtol=1e-9, atol=1e-14, msg=n)


def _masked(network: SuperNet, name: str) -> bool:
    return name.endswith("weight") and name.removesuffix(".weight") in network.layers


def test_one_p_per_convolution_per_channel_or_per_segment():
    plain, fine = (
        build(Network(network="shake-shake", width=4, granularity=g)) for g in ("layer", "channel")
    )
    assert len(plain.drop_logits) == 56 and len(fine.drop_logits) == len(fine.of_channel)
    dense = build(SMALL["densenet"])
    assert dense.counts == [1, 1, 2, 1, 3, 1, 1, 2, 1, 3, 1][: len(dense.counts)]
    assert dense.p_of_channels.shape == (sum(dense.widths),)


def test_masks_of_p_zero_leave_the_network_as_it_is():
    network = build(SMALL["shake-shake"]).eval()
    x = torch.randn(2, 3, 8, 8)
    with torch.no_grad():
        plain = network(x)
        network.drop_logits.fill_(-60)
        with network.wearing(network.relaxed_masks(2, 0.2)):
            torch.testing.assert_close(network(x), plain)


def test_a_mask_behind_the_convolution_drops_outputs():
    network = build(Network(network="shake-shake", width=4, blocks=1, stem=4, side=8, mask_after=True))
    conv = network.layers["stem"]
    assert isinstance(conv, MaskedConv) and network.widths[0] == 4
    conv.mask = torch.tensor([[1.0, 0, 1, 1]])
    assert conv(torch.randn(1, 3, 8, 8))[:, 1].abs().max() == 0


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, math.nan])
def test_a_probability_outside_its_range_is_refused(p: float):
    with pytest.raises(HarnessError, match="a drop probability lies between 0 and 1"):
        build(Network(network="shake-shake", width=4, blocks=1, drop_start=p))


@pytest.mark.parametrize("tau", [0.0, -1.0, math.nan])
def test_a_temperature_of_zero_is_refused(tau: float):
    with pytest.raises(HarnessError, match="must be above 0"):
        posterior.checked_tau(tau)


def test_a_prior_without_data_is_refused():
    with pytest.raises(HarnessError, match="l² ≥ 0 and N > 0"):
        posterior.Prior(l2=1, n=0)


def test_masks_of_another_network_are_refused():
    network = build(SMALL["shake-shake"])
    with pytest.raises(HarnessError, match="it belongs to another network"):
        network.check_masks(torch.ones(3, 7))
