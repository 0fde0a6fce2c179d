"""The DARTS network: counts against formulas, ops, drop path, auxiliary head."""

import numpy as np
import pytest
import torch
from spaces.counting import multiply_accumulates, parameters
from torch import nn

from harness.spaces.darts import OPS, SPACE, Genotype, canonical, costs, parse
from harness.spaces.darts_net import FactorizedReduce, drop_path, network, operation

CELL = (
    *(("sep_conv_3x3", 0), ("dil_conv_5x5", 1), ("skip_connect", 0), ("max_pool_3x3", 1)),
    *(("avg_pool_3x3", 2), ("skip_connect", 3), ("skip_connect", 2), ("skip_connect", 3)),
)
REDUCTION = (
    *(("max_pool_3x3", 0), ("max_pool_3x3", 1), ("max_pool_3x3", 1), ("skip_connect", 2)),
    *(("skip_connect", 0), ("dil_conv_3x3", 2), ("sep_conv_5x5", 1), ("skip_connect", 2)),
)
ARCH = str(Genotype(CELL, REDUCTION))


def test_renamed_networks_compute_the_same_up_to_channel_order() -> None:
    # nodes 2 and 3 change places
    other = (*CELL[2:4], *CELL[:2], ("skip_connect", 2), ("avg_pool_3x3", 3), *CELL[6:])
    archs = [str(Genotype(cell, REDUCTION)) for cell in (CELL, other)]
    assert canonical(archs[0]) == canonical(archs[1])
    nets = [network(arch, 4, 3).eval() for arch in archs]
    first, second = (net.cells[0] for net in nets)
    nets[1].stem.load_state_dict(nets[0].stem.state_dict())
    second.before.load_state_dict(first.before.state_dict())
    second.last.load_state_dict(first.last.state_dict())
    second.edges[2].load_state_dict(first.edges[0].state_dict())
    second.edges[3].load_state_dict(first.edges[1].state_dict())
    stem = nets[0].stem(torch.randn(2, 3, 8, 8))
    blocks = [cell(stem, stem, 0.0).chunk(4, dim=1) for cell in (first, second)]
    for mine, theirs in zip((0, 1, 2, 3), (1, 0, 2, 3), strict=True):
        torch.testing.assert_close(blocks[0][mine], blocks[1][theirs])


@pytest.mark.parametrize(("channels", "layers", "classes"), [(32, 8, 10), (8, 3, 7), (4, 20, 10)])
def test_costs_equal_the_built_network(channels: int, layers: int, classes: int) -> None:
    for arch in [ARCH, *SPACE.sample(3, np.random.default_rng(layers))]:
        for affine in (True, False):
            net = network(arch, channels, layers, classes, auxiliary=True, affine=affine).train()
            image = torch.zeros(2, 3, 32, 32)
            size = (channels, layers, classes, True, affine)
            assert costs(*size).of([parse(arch)])[0].tolist() == [
                parameters(net),
                multiply_accumulates(net, image),
            ]
            del net.auxiliary
            without = (channels, layers, classes, False, affine)
            assert costs(*without).of([parse(arch)])[0, 0] == parameters(net)


def test_the_space_counts_nas_bench_301s_network_without_its_auxiliary_head() -> None:
    net = SPACE.build(ARCH, "cifar10").train()
    image = torch.randn(2, 3, 32, 32)
    logits, extra = net(image)
    assert logits.shape == extra.shape == (2, 10)
    assert parameters(net) - parameters(net.auxiliary) == SPACE.params(ARCH, "cifar10")
    assert multiply_accumulates(net.eval(), image) == SPACE.flops(ARCH, "cifar10")
    assert net(image).shape == (2, 10)
    assert len(net.cells) == 8 and net.stem[0].out_channels == 96
    assert [cell.edges[0].stride for cell in net.cells if isinstance(cell.edges[0], nn.MaxPool2d)] == [2, 2]


def test_gradients_reach_every_weight() -> None:
    net = network(ARCH, 4, 8, auxiliary=True).train()
    logits, extra = net(torch.randn(2, 3, 32, 32))
    (logits.sum() + 0.4 * extra.sum()).backward()
    assert all(parameter.grad is not None for parameter in net.parameters())


def test_drop_path_drops_whole_images_in_training_only() -> None:
    torch.manual_seed(0)
    x = torch.ones(2000, 1, 2, 2)
    dropped = drop_path(x, nn.ReLU(), 0.25)
    per_image = dropped.flatten(1)
    assert (per_image == per_image[:, :1]).all()
    torch.testing.assert_close(per_image[:, 0].unique(), torch.tensor([0.0, 1 / 0.75]))
    assert abs((per_image[:, 0] == 0).float().mean().item() - 0.25) < 0.04
    assert drop_path(x, nn.Identity(), 0.25) is x
    net = network(ARCH, 4, 3).eval()
    image = torch.randn(2, 3, 32, 32)
    before = net(image)
    net.drop_path = 0.9
    torch.testing.assert_close(net(image), before)
    net.train()
    assert not torch.allclose(net(image), net(image))


def test_the_two_halves_of_a_strided_skip_read_neighbouring_pixels() -> None:
    reduce = FactorizedReduce(1, 2).eval()
    with torch.no_grad():
        reduce.even.weight.fill_(1)
        reduce.odd.weight.fill_(1)
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    torch.testing.assert_close(
        reduce(x),
        torch.tensor([[[0.0, 2.0], [8.0, 10.0]], [[5.0, 7.0], [13.0, 15.0]]])[None],
        rtol=1e-4,
        atol=1e-4,
    )


def test_the_pool_leaves_padding_out() -> None:
    ones = torch.ones(1, 2, 5, 5)
    torch.testing.assert_close(operation("avg_pool_3x3", 2, 1)(ones), ones)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("stride", [1, 2])
def test_every_op_keeps_channels_and_takes_the_stride(op: str, stride: int) -> None:
    x = torch.randn(1, 4, 8, 8)
    layer = operation(op, 4, stride).eval()
    assert layer(x).shape == (1, 4, 8 // stride, 8 // stride)
    reach = {"max": 3, "avg": 3, "ski": 1}.get(op[:3])
    if op.startswith("sep"):  # applied twice
        reach = int(op[-1]) + stride * (int(op[-1]) - 1)
    elif op.startswith("dil"):
        reach = 2 * (int(op[-1]) - 1) + 1
    assert reach is not None
    if stride == 1:
        probe = torch.ones(1, 4, 25, 25, requires_grad=True)
        layer(probe)[0, :, 12, 12].sum().backward()
        touched = probe.grad.abs().sum(dim=(0, 1)).nonzero()
        assert (touched.max() - touched.min()).item() + 1 == reach or op == "max_pool_3x3"
