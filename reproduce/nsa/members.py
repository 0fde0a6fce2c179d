"""Section 5: predictions of several members: architectures of one network, networks, or masks of dropout."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from reproduce.nsa.dropout import Dropout
from reproduce.nsa.network import WiredNet

Member = Callable[[Tensor], Tensor]  # images to logits


def architectures(network: WiredNet) -> list[Member]:
    """Each of a network's once."""
    return [lambda x, i=i: network(x, torch.tensor([i])) for i in range(len(network.shares))]


def at_random(network: WiredNet, rng: np.random.Generator, passes: int) -> list[Member]:
    """Passes in which each image has an architecture, and dropout a mask, by chance (D13)."""
    n = len(network.shares)

    def one(x: Tensor) -> Tensor:
        if network.shape.dropout:  # torch's own generator draws what is dropped
            torch.manual_seed(int(rng.integers(2**63)))
        return network(x, torch.from_numpy(rng.integers(n, size=1 if n == 1 else len(x))))

    return [one] * passes


@contextmanager
def predicting(networks: list[WiredNet]) -> Iterator[None]:
    """In test mode, but for dropout, which is what the members of a network with dropout differ by."""
    for network in networks:
        network.eval()
        for module in network.modules():
            if isinstance(module, Dropout):
                module.train()
    try:
        yield
    finally:
        for network in networks:
            network.eval()


@torch.no_grad()
def probabilities(members: list[Member], batches: list[Tensor]) -> np.ndarray:
    """[members, images, classes] in double precision."""
    return np.stack(
        [torch.cat([torch.softmax(one(x).double(), -1) for x in batches]).cpu().numpy() for one in members]
    )
