"""Section 3: the variance of batch means, with one architecture per batch and with one per image."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from harness.training.batches import Batches
from reproduce.nsa.batch_norm_modes import by_batch, estimate, kept_statistics
from reproduce.nsa.network import WiredNet
from reproduce.nsa.norms import Norm, norms

FACTORS = ("percent", "batch", "layer", "exact", "measured")  # columns


@dataclass(frozen=True)
class Probe:
    """How batch means are looked at; `at`: percent of the training."""

    at: tuple[int, ...] = (0, 10, 50, 100)
    architectures: int = 32
    images: int = 256
    batches: tuple[int, ...] = (32, 128, 512)  # sizes
    repeats: int = 16  # batches of each size


@contextmanager
def _heard(network: WiredNet) -> Iterator[list[Tensor]]:
    """Of each norm in turn, the mean over pixels of what comes: [images, channels]."""
    heard: list[Tensor] = []

    def listener(_: Norm, x: Tensor) -> None:
        heard.append(x.mean((2, 3)))

    for norm in norms(network):
        norm.listener = listener
    try:
        yield heard
    finally:
        for norm in norms(network):
            norm.listener = None


@torch.no_grad()
def shares(network: WiredNet, images: Batches, probe: Probe, rng: np.random.Generator) -> np.ndarray:
    """Of each layer, the variance of a feature's mean between architectures and that within one, over images.

    What comes to a layer was normalised by the statistics of all architectures together, so that it hangs on
    its image and its architecture alone. The variance of the mean of B images is then between + within / B
    with one architecture per batch and (between + within) / B with one per image, exactly (all channels).
    """
    n = min(probe.images, len(images))
    x = images.take(rng.permutation(len(images))[:n])[0]
    ids = rng.permutation(len(network.shares))[: probe.architectures]
    with kept_statistics(network):
        estimate(network, [x], [torch.from_numpy(ids[np.arange(n) % len(ids)])])
        network.eval()
        means, variances = [], []
        for one in ids:
            with _heard(network) as heard:
                network(x, torch.tensor([one]))
            means.append([h.double().mean(0) for h in heard])
            variances.append([h.double().var(0, unbiased=False).sum().item() for h in heard])
    between = [torch.stack(layer).var(0, unbiased=False).sum().item() for layer in zip(*means, strict=True)]
    return np.array([between, np.mean(variances, axis=0)]).T


def ratio(shares: np.ndarray, batch: int) -> np.ndarray:
    """By what factor the variance of batch means falls in each layer if each image has its architecture."""
    between, within = shares.T
    return (between + within / batch) / ((between + within) / batch)


@torch.no_grad()
def measured(
    network: WiredNet, images: Batches, probe: Probe, batch: int, rng: np.random.Generator
) -> np.ndarray:
    """The variances themselves, as in training, where every layer before normalises the batch itself.

    [layer, by batch or by image]; over `repeats` batches, the same images for both; summed over channels.
    """
    means: list[list[list[Tensor]]] = [[], []]
    for _ in range(probe.repeats):
        x = images.take(rng.integers(len(images), size=batch))[0]
        for kind, size in enumerate((1, batch)):
            ids = torch.from_numpy(rng.integers(len(network.shares), size=size))
            with by_batch(network), _heard(network) as heard:
                network(x, ids)
            means[kind].append([h.double().mean(0) for h in heard])
    return np.array(
        [[torch.stack(layer).var(0).sum().item() for layer in zip(*kind, strict=True)] for kind in means]
    ).T


def geometric_mean(values: np.ndarray) -> float:
    return float(np.exp(np.log(values).mean()))
