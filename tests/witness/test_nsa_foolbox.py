"""Projected gradient descent beside foolbox's, through the mean of five architectures, if it is installed."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from witness import nsa_start
from witness.test_nsa import PIXELS, started

from reproduce.nsa.attacks import Attack, attacked, normalised
from reproduce.nsa.members import architectures
from reproduce.nsa.network import WiredNet

foolbox = pytest.importorskip("foolbox", reason="foolbox is not installed: pip install foolbox")


class Mean(nn.Module):
    """Images from 0 to 1 to the logarithm of the mean probability, whose cross-entropy is its negative."""

    def __init__(self, network: WiredNet) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        x = normalised(255 * x, PIXELS)
        return torch.stack([one(x).softmax(-1) for one in architectures(self.network)]).mean(0).log()


@pytest.mark.parametrize("attack", [Attack(1, 1, 1), Attack(3, 4, 1), Attack(8, 5, 2)], ids=lambda a: a.name)
def test_attacked_images_are_foolbox_s(attack: Attack) -> None:
    network = started("NSA-id").eval()
    x, y = nsa_start.levels(), nsa_start.images()[1]

    class Nothing:
        def uniform(self, low: float, high: float, shape: tuple) -> np.ndarray:
            return np.zeros(shape)

    ours = attacked(architectures(network), 255 * x, y, PIXELS, attack, Nothing()) / 255
    model = foolbox.PyTorchModel(Mean(network).eval(), bounds=(0, 1))
    theirs = foolbox.attacks.LinfPGD(
        abs_stepsize=attack.step / 255, steps=attack.steps, random_start=False
    ).run(model, x, foolbox.criteria.Misclassification(y), epsilon=attack.budget / 255)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    assert (ours - x).abs().max() > 0.9 * attack.budget / 255
