"""The wired network of nsa: sizes, sums, norms, and what it is when its wiring is that of residual blocks."""

import hashlib

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from harness.base.errors import HarnessError
from reproduce.nsa.batch_norm_modes import by_batch, estimate, kept_statistics
from reproduce.nsa.dropout import Dropout
from reproduce.nsa.network import FEW, Shape, WiredNet
from reproduce.nsa.norms import EPSILON, Norm, norms
from reproduce.nsa.wiring import NODES, residual, wiring, wirings

TINY = {"width": 1, "side": 8, "nodes": 3, "classes": 4}


def size(shape: Shape, wired: np.ndarray) -> int:
    with torch.device("meta"):
        network = WiredNet(shape, wired)
    return sum(p.numel() for p in network.parameters())


def test_parameters_are_those_that_the_paper_prints():
    """39.5M and 39.6M of Table 2, to the last one; they include the second classifier."""
    assert size(Shape(learn_aggregation=True), residual()) == 39_478_951
    assert size(Shape(learn_aggregation=True, conditional_norm=True), wirings(1, 5)) == 39_560_563
    assert size(Shape(width=1, learn_aggregation=True), residual()) == 803_863


def test_a_small_set_of_architectures_is_part_of_a_large_one():
    assert np.array_equal(wirings(1, 5), wirings(1, 50)[:5])


def test_architectures_are_those_of_numpy_s_old_generator():
    digest = hashlib.sha256(np.packbits(wirings(1, 5)).tobytes()).hexdigest()
    assert digest == "05d5fdec9cc1551e6680fbc8f2f62e78dfb6bbd461afe6138a460f27a3de9485"
    of_one = np.random.RandomState(1).rand(9, 9)
    below = np.tril_indices(NODES + 1, -1)
    assert np.array_equal(wiring(1)[0][below], of_one[below] > 0.7)


def test_the_chain_is_always_there_and_three_tenths_of_the_skips():
    wired = wirings(1, 400)
    assert wired[..., np.arange(9), np.arange(9)].all() and not np.triu(wired, 1).any()
    skips = wired[..., *np.tril_indices(9, -1)].mean()
    assert skips == pytest.approx(0.3, abs=0.01)


def network(double: bool = True, count: int = 4, **changed: object) -> WiredNet:
    torch.manual_seed(0)
    net = WiredNet(Shape(**{**TINY, **changed}), wirings(1, count, 3))
    with torch.no_grad():
        for p in net.parameters():
            p += 0.1 * torch.randn_like(p)
    return net.double() if double else net


def images(n: int, side: int = 8) -> Tensor:
    return torch.from_numpy(np.random.default_rng(1).normal(size=(n, 3, side, side)))


def plainly(net: WiredNet, x: Tensor, ids: Tensor) -> Tensor:
    """The logits by masked tensors that are summed at each node."""
    weights = net.weights(ids.expand(len(x)))

    def normed(norm: Norm, y: Tensor) -> Tensor:
        y = functional.batch_norm(y, None, None, None, None, True, 0.1, EPSILON)
        chosen = ids if len(norm.weight) > 1 else torch.zeros_like(ids)
        return y * norm.weight[chosen][:, :, None, None] + norm.bias[chosen][:, :, None, None]

    x = normed(net.stem_norm, net.stem(x))
    for i, stage in enumerate(net.stages):
        outputs = [x]
        for row in range(len(stage.convs) + 1):
            masks = weights[:, i, row, :, None, None, None]
            summed = sum(masks[:, j] * outputs[j] for j in range(row + 1))
            if row < len(stage.convs):
                outputs.append(normed(stage.norms[row], stage.convs[row](summed.relu())))
        x = summed
        if i < 2:
            tran = net.transitions[i]
            x = normed(tran.norm, functional.avg_pool2d(tran.conv(x.relu()), 2))
    return net.classifier(x.relu().mean((2, 3)))


KINDS = {
    "one architecture": ({}, 1),
    "few, sorted": ({}, 4),
    "each image its own": ({"count": FEW + 4}, None),
    "weights of edges": ({"learn_aggregation": True}, 4),
    "weights of edges, one architecture": ({"learn_aggregation": True}, 1),
    "weights of edges, each image its own": ({"learn_aggregation": True, "count": FEW + 4}, None),
    "norms of architectures": ({"learn_aggregation": True, "conditional_norm": True}, 4),
    "norms of architectures, each image its own": (
        {"learn_aggregation": True, "conditional_norm": True, "count": FEW + 4},
        None,
    ),
    "norms of one architecture": ({"learn_aggregation": True, "conditional_norm": True}, 1),
    "sums": ({"mean": False}, 4),
}


@pytest.mark.parametrize("kind", KINDS)
def test_running_sums_are_masked_sums(kind):
    """Values and all gradients, that of the images too."""
    changed, several = KINDS[kind]
    net = network(auxiliary=False, **changed)
    n = FEW + 4
    x = images(n).requires_grad_()
    ids = (
        torch.arange(n)
        if several is None
        else torch.arange(n) * 7 % several
        if several > 1
        else torch.tensor([2])
    )
    target = torch.arange(n) % 4
    found = {}
    for name, forward in (("ours", lambda: net(x, ids)), ("plain", lambda: plainly(net, x, ids))):
        logits = forward()
        functional.cross_entropy(logits, target).backward()
        slopes = [p.grad.clone() if p.grad is not None else torch.zeros_like(p) for p in net.parameters()]
        found[name] = [logits.detach(), x.grad.clone(), *slopes]
        net.zero_grad()
        x.grad = None
    for ours, plain in zip(*found.values(), strict=True):
        assert torch.allclose(ours, plain, rtol=1e-9, atol=1e-12)
    assert found["ours"][1].abs().sum() > 0


def test_an_architecture_s_logits_do_not_hang_on_its_neighbours():
    """In test mode a mixed batch gives each image what a batch of its architecture alone gives."""
    net = network(conditional_norm=True, learn_aggregation=True).eval()
    x, ids = images(6), torch.tensor([3, 0, 2, 0, 1, 3])
    alone = torch.cat([net(one[None], i[None]) for one, i in zip(x, ids, strict=True)])
    assert torch.allclose(net(x, ids), alone, rtol=1e-9)


def test_a_foreign_wiring_is_computed_as_if_it_were_trained():
    net = network().eval()
    x = images(3)
    assert torch.allclose(net(x, net.foreign(wiring(2, 3))), net(x, torch.tensor([1])))


def test_the_residual_wiring_is_residual_blocks():
    """With sums, rows of even nodes are the running sum of a residual network of two nodes per block."""
    x = torch.randn(9, dtype=torch.float64)
    outputs, wired = [torch.tensor(1.0)], residual()[0, 0]
    for row in range(NODES):
        outputs.append(x[row] * sum(outputs[j] for j in np.flatnonzero(wired[row])))
    end = sum(outputs[j] for j in np.flatnonzero(wired[NODES]))
    state = torch.tensor(1.0)
    for block in range(0, NODES, 2):
        state = state + x[block + 1] * (x[block] * state)
    assert end == pytest.approx(state.item())


def test_the_second_classifier_sees_what_comes_behind_the_second_transition():
    net = network().train()
    logits, second = net(images(5), torch.tensor([0]))
    assert logits.shape == second.shape == (5, 4)
    second.sum().backward()
    assert net.stages[2].convs[0].weight.grad is None and net.stages[1].convs[0].weight.grad is not None
    assert torch.is_tensor(net.eval()(images(5), torch.tensor([0])))


@pytest.mark.parametrize(("side", "parts"), [(32, (5, 3)), (28, (5, 2)), (16, (3, 1)), (8, (1, 1))])
def test_the_second_classifier_sees_four_parts_of_any_image(side, parts):
    net = WiredNet(Shape(width=1, side=side, nodes=1), wirings(1, 1, 1))
    assert (net.second.pool.kernel_size, net.second.pool.stride) == parts
    assert net.train()(images(2, side).float(), torch.tensor([0]))[1].shape == (2, 10)


def test_training_mode_moves_no_statistic_and_uses_none():
    net = network()
    before = [(n.mean.clone(), n.var.clone()) for n in norms(net)]
    with by_batch(net):
        out = net(images(6), torch.tensor([1]))
    assert torch.allclose(out, plainly(net, images(6), torch.tensor([1])))
    for norm, (mean, var) in zip(norms(net), before, strict=True):
        assert torch.equal(norm.mean, mean) and torch.equal(norm.var, var) and not norm.by_batch


def test_estimated_statistics_are_the_batch_s_and_go_away_again():
    """Of one batch, test mode is then training mode but for the variance, which is the unbiased one."""
    net = network().eval()
    x = images(40)
    before = net(x, torch.tensor([2]))
    with kept_statistics(net):
        estimate(net, [x], [torch.tensor([2])])
        assert torch.allclose(net.stem_norm.mean[0], net.stem(x).mean((0, 2, 3)))
        net.eval()
        assert not torch.allclose(net(x, torch.tensor([2])), before, rtol=0.01)
    assert torch.equal(net(x, torch.tensor([2])), before)
    assert all(n.momentum == 0.1 for n in norms(net))


def test_own_statistics_are_those_of_an_architecture():
    net = network(own_statistics=True).train()
    net(images(6), torch.tensor([1]))
    moved = net.stem_norm.mean.abs().sum(1) > 0
    assert moved.tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Shape(dropout=1.0), "dropout: 1.0 leaves nothing: choose one from 0 to below 1"),
        (lambda: Shape(side=4), "images of 4 pixels are too small"),
        (lambda: wiring(-1), "there is no architecture -1: ids go from 0"),
        (
            lambda: wirings(2**32 - 2, 5),
            "5 architectures from id 4294967294 on: there are 1 to 2, choose fewer",
        ),
        (lambda: wirings(1, 0), "0 architectures from id 1 on"),
        (
            lambda: network().foreign(np.zeros((3, 4, 4), bool)),
            "stage 1: row 1 of the wiring is empty: give it an input",
        ),
        (lambda: network().foreign(np.ones((3, 4, 4), bool)), "takes an input from behind it"),
        (lambda: network().foreign(wiring(1)), "is none of 3 stages of 3 nodes"),
        (
            lambda: network(conditional_norm=True)(images(2), network().foreign(wiring(1, 3))),
            "an architecture that was not trained has no weights of its own: use an id",
        ),
    ],
)
def test_what_cannot_be_built_is_one_sentence(make, told):
    with pytest.raises(HarnessError, match=told):
        make()


@pytest.mark.parametrize("p", [0.2, 0.75])
def test_dropout_drops_its_share_and_keeps_the_mean(p):
    """Alike in all places; what stays grows, and only there does a slope go through."""
    x = torch.ones(50, 7, 9, 11).to(memory_format=torch.channels_last).requires_grad_()
    dropout = Dropout(p)
    y = dropout(x)
    y.sum().backward()
    dropped = y.detach() == 0
    assert dropped.double().mean().item() == pytest.approx(p, abs=0.01)
    for place in ((1, 2, 3), (0, 2, 3), (0, 1, 2)):
        assert dropped.double().mean(place).sub(p).abs().max() < 0.1
    assert torch.allclose(y[~dropped], torch.tensor(1 / (1 - p)), rtol=1e-4)
    assert torch.equal(x.grad, y) and y.is_contiguous(memory_format=torch.channels_last)
    assert not torch.equal(y, dropout(x)) and dropout.eval()(x) is x
    repeats = (dropped.flatten()[1:] == dropped.flatten()[:-1]).double().mean().item()
    assert repeats == pytest.approx(p**2 + (1 - p) ** 2, abs=0.02), "neighbours are drawn apart"


def test_sum_and_mean_are_one_function_but_for_what_the_classifier_is_given():
    """With one architecture per batch, batch norm takes out by what a node's inputs are divided (D1)."""
    wired = wirings(1, 1, 4)
    logits = []
    for mean in (True, False):
        torch.manual_seed(1)
        net = WiredNet(Shape(width=1, side=8, nodes=4, auxiliary=False, mean=mean), wired).double().train()
        logits.append(net(torch.randn(8, 3, 8, 8, dtype=torch.float64), torch.tensor([0])))
    inputs = int(wired[0, -1, -1].sum())
    assert inputs > 1 and torch.allclose(logits[1], inputs * logits[0], rtol=1e-3, atol=1e-3)
    assert not torch.allclose(logits[1], logits[0], rtol=0.1)
