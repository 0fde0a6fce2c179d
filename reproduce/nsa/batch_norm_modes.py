"""Section 3: networks whose batch norm works as in training, as in tests, or is estimated anew."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from reproduce.nsa.network import WiredNet
from reproduce.nsa.norms import MOMENTUM, norms


@contextmanager
def by_batch(network: WiredNet, keeps: bool = False) -> Iterator[None]:
    """Each batch is normalised by itself; running statistics rest unless it `keeps` them (D9)."""
    was = network.training
    network.eval()
    for norm in norms(network):
        norm.by_batch, norm.keeps = True, keeps
    try:
        yield
    finally:
        for norm in norms(network):
            norm.by_batch, norm.keeps = False, True
        network.train(was)


@contextmanager
def kept_statistics(network: WiredNet) -> Iterator[None]:
    """Running statistics are those of before, afterwards."""
    kept = [(norm.mean.clone(), norm.var.clone()) for norm in norms(network)]
    try:
        yield
    finally:
        for norm, (mean, var) in zip(norms(network), kept, strict=True):
            norm.mean.copy_(mean)
            norm.var.copy_(var)


@torch.no_grad()
def estimate(network: WiredNet, batches: list[Tensor], which: list[Tensor]) -> None:
    """Running statistics become the means over these batches, each with its architecture or architectures."""
    with by_batch(network, keeps=True):
        for i, (x, ids) in enumerate(zip(batches, which, strict=True), 1):
            for norm in norms(network):
                norm.momentum = 1 / i
            network(x, ids)
    for norm in norms(network):
        norm.momentum = MOMENTUM
