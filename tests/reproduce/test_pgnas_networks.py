"""PGNAS: super-networks at full size, counts of sub-networks, networks without what is dropped."""

import pytest
import torch
from torch import nn

from harness.base.errors import HarnessError
from reproduce.pgnas import posterior
from reproduce.pgnas.counts import Counter, dropped_shares, operations_by_threshold
from reproduce.pgnas.exporting import cost, export, size
from reproduce.pgnas.imagenet_nets import DenseNet, DenseNetShape
from reproduce.pgnas.masked import SuperNet
from reproduce.pgnas.networks import Network, build
from reproduce.pgnas.shake_shake import ShakeShake, Shape

SMALL = [
    Network(network="shake-shake", width=8, blocks=1, stem=4, side=8),
    Network(network="enas", width=4, blocks=3),
    Network(network="resnet", width=16, depths=(1, 2), classes=7, side=32),
    Network(network="resnet", width=8, depths=(1, 1), classes=7, side=32, inflated=False),
    Network(network="densenet", width=4, depths=(2, 3), classes=7, side=32),
]
IDS = [f"{n.network}-{n.inflated}" for n in SMALL]


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def trained(config: Network):
    """With statistics and shifts that are not the initial ones, in double precision."""
    network = build(config).double().train()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "norm" in name:
                parameter.add_(0.1 * torch.randn_like(parameter))
        network(torch.randn(4, 3, config.side, config.side).double())
    return network.eval()


def a_mask(network, p: float) -> torch.Tensor:
    shape = 1, len(network.of_channel)
    return posterior.hard(torch.full(shape, p).double(), torch.rand(shape).double())


@pytest.mark.parametrize(("width", "millions"), [(96, 26.2), (160, 72.7)])
def test_shake_shake_has_the_printed_number_of_parameters(width: int, millions: float):
    network = ShakeShake(Shape(width=width))
    assert round((size(network) - len(network.drop_logits)) / 1e6, 1) == millions


def test_resnets_and_enas_networks_have_the_counts_that_the_notes_tell():
    """D18 and D19; a ResNet-50 has 25,557,032, from which four kernels for each 3×3 follow."""
    depths = (3, 4, 6, 3)
    squares = sum(d * (64 * 2**i) ** 2 for i, d in enumerate(depths))  # inputs times outputs of 3×3s
    of = {"network": "resnet", "width": 64, "depths": depths, "classes": 1000, "side": 32}
    assert whole(build(Network(**of, inflated=False))) == 25_557_032
    assert whole(build(Network(**of))) == 25_557_032 + squares * ((1 + 9 + 9 + 25) // 4 - 9) == 28_071_976
    dense = 25_557_032 + squares * ((1 + 9 + 25 + 81) // 4 - 9)
    assert round(dense / 1e6, 1) == 50.7
    for width, both, alone in ((36, 4.39, 3.89), (72, 15.37, 14.78)):
        network = build(Network(network="enas", width=width, blocks=15))
        counted, second = whole(network), size(network.auxiliary)
        assert (round(counted / 1e6, 2), round((counted - second) / 1e6, 2)) == (both, alone)


def whole(network: SuperNet) -> int:
    return int(Counter.of(network, 32).whole().parameters.item())


def test_a_dense_net_has_one_p_per_segment():
    network = DenseNet(DenseNetShape(growth=4, depths=(3, 2), stem=8, classes=5))
    assert network.counts == [1, 1, 2, 1, 3, 1, 4, 1, 1, 2, 1]
    assert network.channels[:5].tolist() == [8, 16, 8, 4, 16]


@pytest.mark.parametrize("config", SMALL, ids=IDS)
@pytest.mark.parametrize("p", [0.0, 0.3, 0.8, 0.96])
def test_the_exported_network_is_smaller_by_what_was_counted_and_gives_the_same(config: Network, p: float):
    network = trained(config)
    mask, x = a_mask(network, p), torch.randn(3, 3, config.side, config.side).double()
    counter = Counter.of(network, config.side)
    with torch.no_grad(), network.wearing(mask):
        masked = network(x)
    small = export(network, mask)
    with torch.no_grad():
        torch.testing.assert_close(small(x), masked, rtol=1e-9, atol=1e-12)
    cost = counter.exact(mask)
    assert size(small) == cost.parameters.item()
    assert operations(small, config.side) == cost.operations.item()
    assert torch.isfinite(masked).all()
    assert p == 0 or size(small) < size(network) - len(network.drop_logits)


@pytest.mark.parametrize("config", SMALL, ids=IDS)
def test_what_kept_channels_are_multiplied_by_is_exported(config: Network):
    network = trained(config)
    mask, x = a_mask(network, 0.3), torch.randn(3, 3, config.side, config.side).double()
    scaled = mask * (1 + torch.rand_like(mask))
    with torch.no_grad(), network.wearing(scaled):
        wanted = network(x)
    small = export(network, scaled)
    with torch.no_grad():
        torch.testing.assert_close(small(x), wanted, rtol=1e-9, atol=1e-12)
    assert (
        cost(small, config.side).parameters.item()
        == Counter.of(network, config.side).exact(mask).parameters.item()
    )
    assert cost(small, config.side).operations.item() == operations(small, config.side)


def test_masks_behind_convolutions_drop_outputs_and_nothing_that_is_read():
    """Their channels had been counted as inputs of the convolution before, and of the one behind."""
    network = trained(Network(network="shake-shake", width=8, blocks=1, stem=4, side=8, mask_after=True))
    mask = torch.ones(1, len(network.of_channel)).double()
    counter, names = Counter.of(network, 8), list(network.layers)
    start = sum(network.widths[: names.index("blocks.1.first.conv2")])
    mask[:, start : start + 3] = 0  # of 16 outputs, each of which has 16 inputs of 3×3
    lost = counter.whole().parameters - counter.exact(mask).parameters
    assert lost.item() == 3 * 16 * 9
    with pytest.raises(HarnessError, match="with mask_after: false"):
        export(network, mask)


def operations(small: nn.Module, side: int) -> float:
    """Multiplications of one image, by the layers that ran."""
    done = []

    def note(layer: nn.Module, given: tuple[torch.Tensor], result: torch.Tensor) -> None:
        done.append(layer.weight.numel() * (result[0, 0].numel() if result.ndim == 4 else 1))

    handles = [m.register_forward_hook(note) for m in small.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    with torch.no_grad():
        small(torch.zeros(1, 3, side, side).double())
    for handle in handles:
        handle.remove()
    return sum(done)


@pytest.mark.parametrize("config", SMALL, ids=IDS)
def test_the_expected_count_is_the_mean_of_exact_ones(config: Network):
    network = trained(config)
    with torch.no_grad():
        network.drop_logits.uniform_(-2, 1)
    counter, shape = Counter.of(network, config.side), (400, len(network.of_channel))
    masks = posterior.hard(network.p_of_channels.detach(), torch.rand(shape).double())
    found, wanted = counter.exact(masks), counter.expected()
    assert found.parameters.mean().item() == pytest.approx(wanted.parameters.item(), rel=0.02)
    assert found.operations.mean().item() == pytest.approx(wanted.operations.item(), rel=0.03)
    whole = counter.whole().parameters.item()
    assert whole == size(network) - len(network.drop_logits)


def test_a_layer_that_loses_every_channel_is_counted_and_gives_no_nan():
    network = trained(SMALL[0])
    mask = torch.ones(1, len(network.of_channel)).double()
    mask[:, : network.widths[0]] = 0  # no colour reaches the stem
    with torch.no_grad(), network.wearing(mask):
        logits = network(torch.randn(2, 3, 8, 8).double())
    assert torch.isfinite(logits).all() and (logits[0] == logits[1]).all()
    channels, empty = dropped_shares(network, mask)
    assert channels.item() == pytest.approx(3 / len(network.of_channel))
    assert empty.item() == pytest.approx(1 / len(network.layers))


def test_dropped_operations_by_threshold_and_by_chance():
    network = trained(SMALL[0])
    with torch.no_grad():
        network.drop_logits.fill_(-3)
        network.drop_logits[1] = 2.0
    above, alone = operations_by_threshold(network)
    assert above == pytest.approx(1 / len(network.layers))
    ps = network.p.double().tolist()
    none = 1.0
    for p, width in zip(ps, network.widths, strict=True):
        none *= 1 - p**width
    assert alone == pytest.approx(1 - none)


def test_shares_of_branches_are_drawn_per_image_and_halved_in_evaluation():
    block = ShakeShake(Shape(width=4, blocks=1, stem=4)).blocks[0]
    x = torch.randn(1, 4, 6, 6).repeat(3, 1, 1, 1)
    block.train()
    shaken = block(x)
    assert not torch.equal(shaken[0], shaken[1])
    block.eval()
    calm = block(x)
    assert torch.equal(calm[0], calm[1])


def test_the_backward_share_is_another_than_the_forward_one():
    from reproduce.pgnas.shake_shake import _Shaken

    a, b = torch.randn(2, 2, 3, 1, 1, requires_grad=True).unbind()
    share, back = torch.tensor([0.2, 0.9]).reshape(2, 1, 1, 1), torch.tensor([0.7, 0.4]).reshape(2, 1, 1, 1)
    out = _Shaken.apply(a, b, share, back)
    torch.testing.assert_close(out, share * a + (1 - share) * b)
    found = torch.autograd.grad(out.sum(), (a, b))
    torch.testing.assert_close(found[0], back.expand_as(a))
    torch.testing.assert_close(found[1], (1 - back).expand_as(a))
