"""PGNAS's DenseNet beside the authors': counts, segments, a step's loss and gradients under relaxed masks."""

import pytest
import torch
from torch.nn import functional
from witness import pgnas_start as start
from witness.formula import fill, numbers, sketch

from reproduce.pgnas import posterior
from reproduce.pgnas.counts import Counter
from reproduce.pgnas.imagenet_nets import DenseNet, DenseNetShape
from reproduce.pgnas.networks import Network, build

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
