"""Weights, images, paths and draws from which icw's witness and this project's super-networks both start."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from witness.formula import fill, noise

KINDS = ("none", "bias1", "bias2", "bias3", "split")
STEPS, SPLIT_AT, PER_EPOCH = 12, 4, 2  # steps of a training; an epoch has two
CHAIN = ("0-1-2-3", "5-4-3-2", "0-1-2-3", "2-2-0-1", "4-0-5-5", "1-3-1-0")  # of the sequential space
NO_ZERO = ("123412", "342113", "123412", "214334", "431221", "333333")  # of NAS-Bench-201
WITH_ZERO = ("103024", "020333")


def images(number: int, n: int = 6, side: int = 32) -> tuple[Tensor, Tensor]:
    return 2 * noise(2 * number + 20_000, n, 3, side, side), (5 * noise(2 * number + 20_001, n) + 5).long()


def weights(
    stem: Iterable[nn.Parameter],
    layers: Sequence[Sequence[Iterable[nn.Parameter]]],
    head: Iterable[nn.Parameter],
    fixed: Sequence[Iterable[nn.Parameter]] = (),
) -> None:
    """Stem, the candidates of each position in their order, what is no choice, head."""
    fill(list(stem), 0)
    for i, candidates in enumerate(layers, 1):
        for j, candidate in enumerate(candidates):
            fill(list(candidate), 1000 * i + 100 * j)
    for i, part in enumerate(fixed):
        fill(shortcut_last(part), 50_000 + 100 * i)
    fill(list(head), 60_000)


def shortcut_last(parameters: Iterable[nn.Parameter]) -> list[nn.Parameter]:
    """A reduction's parameters in one order on both sides: its only 1x1 convolution is the shortcut."""
    return sorted(parameters, key=lambda p: p.dim() == 4 and p.shape[-1] == 1)


def excite(vectors: Sequence[Tensor | None]) -> None:
    """The additional weights of each position, which begin as zeros, get values."""
    for i, vector in enumerate(vectors):
        if vector is not None:
            with torch.no_grad():
                vector.copy_(0.3 * noise(70_000 + i, *vector.shape))


def pixels(number: int, n: int, height: int, width: int) -> Tensor:
    """Images of bytes (n, height, width, channels), smooth enough that a resized one differs little."""
    rows, columns = torch.arange(height)[:, None, None], torch.arange(width)[:, None]
    phases = 3 * noise(number, n, 1, 1, 3)
    waves = torch.sin(rows / 9 + phases) * torch.cos(columns / 7 - phases) + 0.2 * noise(
        number + 1, n, height, width, 3
    )
    return ((waves + 1.2) / 2.4 * 255).to(torch.uint8)


def draws(number: int, n: int) -> list[float]:
    """Uniform in [0, 1)."""
    return ((noise(number, n) + 1) / 2).tolist()
