"""The convolutional LDN: published sizes, the head's batch norm against PyTorch's own."""

import copy

import pytest
import torch
from torch import Tensor, nn

from reproduce.ldn.conv import ConvNet, Shape, cost


def network(
    head_bn: str = "shared_all_depths", learnt: bool = True, depth: int = 4, seed: int = 0
) -> ConvNet:
    torch.manual_seed(seed)
    return ConvNet(Shape(depth, 12, 1, width=8, bottleneck=4, head_bn=head_bn), learnt)


def images(n: int = 6, seed: int = 1) -> tuple[Tensor, Tensor]:
    torch.manual_seed(seed)
    return torch.randn(n, 1, 12, 12), torch.randint(10, (n,))


class PlainHead(nn.Module):
    """The output block as anybody would write it: one BatchNorm1d that is called once per depth, in turn."""

    def __init__(self, net: ConvNet) -> None:
        super().__init__()
        self.hidden, self.output = copy.deepcopy(net.head.hidden), copy.deepcopy(net.head.output)
        self.norm = nn.BatchNorm1d(net.shape.width)
        with torch.no_grad():
            self.norm.weight.copy_(net.head.norm_weight)
            self.norm.bias.copy_(net.head.norm_bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(x + self.norm(torch.relu(self.hidden(x))))


def plain_forward(net: ConvNet, head: PlainHead, x: Tensor) -> Tensor:
    """The network read straight from the paper, block by block and depth by depth."""
    a = net.input(x)
    logits = [head(a.mean((2, 3)))]
    for block in net.blocks:
        a = a + block(a)
        logits.append(head(a.mean((2, 3))))
    return torch.stack(logits, 1)


@pytest.mark.parametrize(("depth", "parameters"), [(50, 691_453), (0, 1664 + 4938 + 1), (1, 20_300)])
def test_published_sizes(depth: int, parameters: int) -> None:
    net = ConvNet(Shape(depth, 28, 1), learnt=True)
    assert sum(p.numel() for p in net.parameters()) == parameters
    assert Shape(depth, 28, 1).inner_side == 12 and Shape(depth, 32, 3).inner_side == 14


def test_operations_by_hand() -> None:
    costs = cost(Shape(50, 28, 1))
    assert costs.input == 24 * 24 * 25 * 64
    assert costs.block == 144 * (64 * 32 + 9 * 32 * 32 + 32 * 64)
    assert costs.head == 64 * 64 + 64 * 10
    assert costs.trunk(3) == costs.input + 3 * costs.block
    assert [round(100 * (1 - costs.trunk(d) / costs.trunk(50))) for d in (18, 28)] == [63, 44]


def test_a_block_is_pre_activated_and_every_convolution_has_a_bias() -> None:
    kinds = [type(layer) for layer in network().blocks[0]]
    assert kinds == [nn.BatchNorm2d, nn.ReLU, nn.Conv2d] * 3
    convolutions = [layer for layer in network().modules() if isinstance(layer, nn.Conv2d)]
    assert all(layer.bias is not None for layer in convolutions) and len(convolutions) == 1 + 4 * 3
    assert [type(layer) for layer in network().input] == [nn.Conv2d, nn.AvgPool2d]  # neither BN nor ReLU


def test_uniform_q_at_first_and_one_hot_for_a_ddn() -> None:
    assert network().q.tolist() == pytest.approx([0.2] * 5)
    assert network(learnt=False).q.tolist() == [0, 0, 0, 0, 1]
    assert network().depth_logits.requires_grad and not network(learnt=False).depth_logits.requires_grad


def test_equals_the_plain_network_in_training_and_its_running_statistics_after_three_steps() -> None:
    net = network()
    head = PlainHead(net)
    twin = copy.deepcopy(net)
    for step in range(3):
        x, _ = images(seed=step)
        torch.testing.assert_close(net(x), plain_forward(twin, head, x), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(net.head.running_mean[0], head.norm.running_mean, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(net.head.running_var[0], head.norm.running_var, rtol=1e-4, atol=1e-6)
    net.eval(), head.eval(), twin.eval()
    x, _ = images(seed=9)
    torch.testing.assert_close(net(x), plain_forward(twin, head, x), rtol=1e-4, atol=1e-5)


def test_last_depth_only_remembers_the_last_depth() -> None:
    net = network("last_depth_only")
    x, _ = images()
    hidden = torch.relu(net.head.hidden(net.pooled(x)))[:, -1]
    net = network("last_depth_only")
    net(x)
    torch.testing.assert_close(net.head.running_mean[0], 0.1 * hidden.mean(0))
    torch.testing.assert_close(net.head.running_var[0], 0.9 + 0.1 * hidden.var(0))


def test_per_depth_remembers_every_depth_apart() -> None:
    net = network("per_depth")
    x, _ = images()
    hidden = torch.relu(net.head.hidden(net.pooled(x)))
    net = network("per_depth")
    net(x)
    torch.testing.assert_close(net.head.running_mean, 0.1 * hidden.mean(0))
    net.eval()
    one_by_one = torch.cat([net.head(net.pooled(x)[:, [d]], d) for d in range(5)], 1)
    torch.testing.assert_close(net(x), one_by_one)


@pytest.mark.parametrize("head_bn", ["shared_all_depths", "last_depth_only", "per_depth"])
def test_last_logits_equal_the_last_of_all_with_their_gradients_and_statistics(
    head_bn: str,
) -> None:
    x, y = images()
    nets, losses = [network(head_bn, learnt=False) for _ in range(2)], []
    for net, logits in zip(nets, (nets[0](x)[:, -1], nets[1].last_logits(x)[:, 0]), strict=True):
        losses.append(nn.functional.cross_entropy(logits, y))
        losses[-1].backward()
        assert all(p.grad is not None for p in net.parameters() if p.requires_grad)
    torch.testing.assert_close(losses[0], losses[1])
    for (name, a), b in zip(nets[0].named_parameters(), nets[1].parameters(), strict=True):
        if a.requires_grad:
            torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-6, msg=name)
    last = -1 if head_bn == "per_depth" else 0
    torch.testing.assert_close(nets[0].head.running_mean[last], nets[1].head.running_mean[last])
    torch.testing.assert_close(nets[0].head.running_var[last], nets[1].head.running_var[last])
    for net in nets:
        net.eval()
    torch.testing.assert_close(nets[0](x)[:, -1:], nets[1].last_logits(x))


def test_a_clean_ddn_does_not_run_the_head_at_other_depths(monkeypatch: pytest.MonkeyPatch) -> None:
    net, seen = network("last_depth_only", learnt=False), []
    plain = type(net.head).forward
    monkeypatch.setattr(
        type(net.head), "forward", lambda self, p, *a, **k: seen.append(p.shape[1]) or plain(self, p, *a, **k)
    )
    net.last_logits(images()[0])
    assert seen == [1]


def test_a_partial_pass_gives_the_first_depths_and_stops_the_trunk() -> None:
    net = network().eval()
    x, _ = images()
    for depth in range(5):
        torch.testing.assert_close(net(x, depth), net(x)[:, : depth + 1])
    called = []
    for i, block in enumerate(net.blocks):
        block.register_forward_hook(lambda *_, i=i: called.append(i))
    net(x, 2)
    assert called == [0, 1]


def test_channels_last_changes_nothing_but_the_last_digits() -> None:
    a, b = network(), network().to(memory_format=torch.channels_last)
    x, _ = images()
    torch.testing.assert_close(a(x), b(x.to(memory_format=torch.channels_last)), rtol=1e-4, atol=1e-5)
