"""PGNAS's DenseNet beside the authors': counts, segments, a step's loss and gradients under relaxed masks."""

import copy

import pytest
import torch
from torch.nn import functional
from witness import pgnas_start as start
from witness.formula import fill, numbers, sketch

from harness.training.optimisers import SGD
from reproduce.pgnas import posterior
from reproduce.pgnas.counts import Counter
from reproduce.pgnas.imagenet_nets import DenseNet, DenseNetShape
from reproduce.pgnas.masked import add_gradient
from reproduce.pgnas.networks import Network, build
from reproduce.pgnas.training import optimiser

THEIRS = numbers("pgnas_densenet")["cases"]
CLOSE = {"rtol": 1e-6, "atol": 1e-7}  # their logit is guarded by 1e-8 inside each logarithm


def test_full_size():
    with torch.device("meta"):
        network = build(Network(network="densenet", width=32, depths=(6, 12, 24, 16), classes=1000, side=224))
    counted = Counter.of(network, 224).whole().parameters.item()
    assert counted == THEIRS["full"]["parameters"] == 7998088
    assert len(network.drop_logits) == THEIRS["full"]["drop probabilities"] == 638


@pytest.fixture(scope="module")
def network() -> DenseNet:
    shape = DenseNetShape(growth=4, depths=start.DENSE, stem=8, classes=5)
    made = DenseNet(shape).double().train()
    made.channels = made.channels.double()
    fill([p for name, p in made.named_parameters() if name != "drop_logits"])
    with torch.no_grad():
        made.drop_logits.copy_(start.dense_logits(len(made.drop_logits)))
    return made


def test_segments_and_weights(network: DenseNet):
    assert network.counts == THEIRS["segments"]
    assert sum(p.numel() for n, p in network.named_parameters() if n != "drop_logits") == THEIRS["weights"]


def test_loss_and_gradients_of_a_step(network: DenseNet):
    x, y = start.dense_images()
    widths = network.widths
    u1, u2 = (
        torch.cat([start.uniform(2000 + 2 * i + k, len(x), width) for i, width in enumerate(widths)], 1)
        for k in (0, 1)
    )
    prior = posterior.Prior(l2=start.DENSE_L2, n=start.N)
    masks = posterior.relaxed(network.drop_logits[network.of_channel], u1, u2, 0.2)
    with network.wearing(masks):
        logits = network(x)
    loss = functional.cross_entropy(logits, y) + network.regulariser(prior)
    found = {"logits": logits.reshape(-1), "loss": loss, "regulariser": network.regulariser(prior)}
    weights = [p for name, p in network.named_parameters() if name != "drop_logits"]
    of_logits, *of_weights = torch.autograd.grad(loss, [network.drop_logits, *weights])
    found["by drop logit"] = of_logits
    found["by weight"] = torch.tensor(
        sketch(torch.cat([g.reshape(-1) for g in of_weights])), dtype=torch.double
    )
    for name, ours in found.items():
        wanted = torch.tensor(THEIRS[name], dtype=torch.double)
        torch.testing.assert_close(ours, wanted, **CLOSE, msg=lambda text, name=name: f"{name}: {text}")


def test_two_steps_of_training(network: DenseNet):
    """Momentum, drop logits and the regulariser, added behind `backward` as the training does."""
    made = copy.deepcopy(network)
    x, y = start.dense_images()
    prior, widths = posterior.Prior(l2=start.DENSE_L2, n=start.N), made.widths
    sgd = optimiser(made, SGD(lr_max=0.1, lr_min=0.0, momentum=0.9, weight_decay=0.0, nesterov=True), 1.0)
    losses = []
    for step in range(2):
        calls = [2000 + 2 * (len(widths) * step + i) for i in range(len(widths))]
        u1, u2 = (
            torch.cat([start.uniform(n + k, len(x), w) for n, w in zip(calls, widths, strict=True)], 1)
            for k in (0, 1)
        )
        sgd.zero_grad()
        with made.wearing(posterior.relaxed(made.drop_logits[made.of_channel], u1, u2, 0.2)):
            loss = functional.cross_entropy(made(x), y)
        loss.backward()
        losses.append(loss.item() + made.regulariser(prior).item())
        add_gradient(made, prior)
        sgd.step()
    assert losses == pytest.approx(THEIRS["losses of two steps"], rel=1e-6)
    found = made.drop_logits.detach()
    torch.testing.assert_close(found, torch.tensor(THEIRS["drop logits behind them"]).double(), **CLOSE)
    weights = [p.detach().reshape(-1) for name, p in made.named_parameters() if name != "drop_logits"]
    assert sketch(torch.cat(weights)) == pytest.approx(THEIRS["weights behind them"], rel=1e-5, abs=1e-6)
