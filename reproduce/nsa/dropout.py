"""Dropout whose masks come from whole numbers of torch's generator, each of which decides about four.

torch draws a mask number by number, which took a quarter of a training step on a processor.
"""

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """Drops each number with probability `p`, rounded to 65,536ths, and enlarges the others likewise."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.parts = min(round(p * 2**16), 2**16 - 1)

    def forward(self, x: Tensor) -> Tensor:
        if not (self.training and self.parts):
            return x
        drawn = torch.empty(-(-x.numel() // 4), dtype=torch.int64, device=x.device)
        drawn.random_(-(2**63), None)  # each of their 64 bits
        # As the numbers of x lie in memory, whatever their order is.
        parts = drawn.view(torch.int16)[: x.numel()].as_strided(x.shape, x.stride())
        stays = (parts >= self.parts - 2**15).to(x.dtype)
        return x * stays.mul_(2**16 / (2**16 - self.parts))
