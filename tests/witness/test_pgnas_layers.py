"""PGNAS's masked layers beside the authors' PyTorch ones: masks, outputs, regulariser, gradients."""

import pytest
import torch
from witness import pgnas_start as start
from witness.formula import noise, numbers, sketch

from reproduce.pgnas import posterior
from reproduce.pgnas.masked import MaskedConv, MaskedLinear, SuperNet

THEIRS = numbers("pgnas_layers")
# Their logit goes through p and is guarded by 1e-8 inside each logarithm; ours is the parameter itself.
CLOSE = {"rtol": 1e-6, "atol": 1e-7}
EXACT = {"rtol": 1e-12, "atol": 1e-14}  # the regulariser has no guard


class One(SuperNet):
    """A network of one layer."""

    def __init__(self, case: str) -> None:
        super().__init__()
        inputs, outputs, kernel, stride, padding, dilation, segments, _, first = start.LAYERS[case]
        more = {"stride": stride, "padding": padding, "dilation": dilation}
        self.conv = MaskedConv(inputs, outputs, kernel, segments=segments, **more)
        self.own(first)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def made(case: str) -> tuple[One, posterior.Prior, dict]:
    network = One(case).double()
    network.channels = network.channels.double()
    with torch.no_grad():
        network.conv.weight.copy_(start.weight(case))
        network.drop_logits.copy_(start.logits(case))
    return network, posterior.Prior(l2=start.LAYERS[case][7], n=start.N), THEIRS["cases"][case]


def close(found: torch.Tensor, expected: object, how: dict) -> None:
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.double), **how)


@pytest.mark.parametrize("case", start.LAYERS)
def test_first_probabilities(case: str):
    first = One(case).drop_logits.double()
    close(first, THEIRS["cases"][case]["start"], {"rtol": 1e-6, "atol": 1e-7})


@pytest.mark.parametrize("case", start.LAYERS)
def test_relaxed_masks_loss_and_gradients(case: str):
    network, prior, theirs = made(case)
    inputs = start.LAYERS[case][0]
    u1, u2 = (start.uniform(n, start.IMAGES, inputs) for n in (730, 731))
    network.wear(posterior.relaxed(network.drop_logits[network.of_channel], u1, u2, 0.2))
    found = network(start.images(case))
    close(torch.tensor(sketch(found), dtype=torch.double), theirs["relaxed"], CLOSE)
    loss = found.square().mean() + network.regulariser(prior)
    close(loss, theirs["loss"], CLOSE)
    by_weight, by_logit = torch.autograd.grad(loss, [network.conv.weight, network.drop_logits])
    close(by_logit, theirs["loss by logit"], CLOSE)
    close(torch.tensor(sketch(by_weight), dtype=torch.double), theirs["loss by weight"], CLOSE)


@pytest.mark.parametrize("case", start.LAYERS)
def test_hard_masks(case: str):
    network, _, theirs = made(case)
    u = start.uniform(740, 1, start.LAYERS[case][0])
    network.wear(posterior.hard(network.p_of_channels, u))
    close(torch.tensor(sketch(network(start.images(case))), dtype=torch.double), theirs["hard"], EXACT)


@pytest.mark.parametrize("case", start.LAYERS)
def test_regulariser_and_its_closed_forms(case: str):
    network, prior, theirs = made(case)
    value = network.regulariser(prior)
    close(value, theirs["regulariser"], EXACT)
    closed = posterior.logit_gradient(
        network.drop_logits.detach(), network.norms().detach(), network.channels, prior
    )
    close(closed, theirs["regulariser by logit"], {"rtol": 1e-9, "atol": 1e-18})
    (by_weight,) = torch.autograd.grad(value, [network.conv.weight])
    close(torch.tensor(sketch(by_weight), dtype=torch.double), theirs["regulariser by weight"], EXACT)


def test_a_masked_linear_layer_with_a_p_for_each_input():
    theirs, layer = THEIRS["linear"], MaskedLinear(6, 4).double()
    logits = (noise(782, 6) - 1).requires_grad_()
    with torch.no_grad():
        layer.weight.copy_(noise(780, 4, 6))
        layer.bias.copy_(noise(781, 4))
    layer.mask = posterior.relaxed(logits, *(start.uniform(n, 3, 6) for n in (770, 771)), 0.2)
    found = layer(2 * noise(783, 3, 6))
    close(found.reshape(-1), theirs["outputs"], CLOSE)
    by_logit, by_weight = torch.autograd.grad(found.square().mean(), [logits, layer.weight])
    close(by_logit, theirs["by logit"], CLOSE)
    close(torch.tensor(sketch(by_weight), dtype=torch.double), theirs["by weight"], CLOSE)
