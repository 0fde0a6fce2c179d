"""Batch norm whose scale and shift, or also whose statistics, belong to an architecture (section 4.1)."""

import torch
from torch import Tensor, nn
from torch.nn import functional

MOMENTUM, EPSILON = 0.1, 1e-5


class Norm(nn.Module):
    """Scale and shift per architecture, or one for all (1), and likewise running statistics.

    `by_batch`: what normalises is the batch itself even where nothing is trained (Figures 2 and 3); `keeps`:
    whether that moves the running statistics.
    """

    def __init__(self, channels: int, architectures: int = 1, statistics: int = 1) -> None:
        super().__init__()
        shape = (architectures, channels)
        self.weight, self.bias = nn.Parameter(torch.ones(shape)), nn.Parameter(torch.zeros(shape))
        kept = (statistics, channels)
        self.register_buffer("mean", torch.zeros(kept))
        self.register_buffer("var", torch.ones(kept))
        self.by_batch, self.keeps, self.momentum = False, True, MOMENTUM
        self.listener = None  # is given what is about to be normalised

    def forward(self, x: Tensor, ids: Tensor) -> Tensor:
        """`ids`: of each image, or of one architecture for all of them."""
        if self.listener is not None:
            self.listener(self, x)
        at = int(ids[0]) if len(self.mean) > 1 else 0
        by_batch = self.training or self.by_batch
        mean, var = (self.mean[at], self.var[at]) if self.keeps or not by_batch else (None, None)
        one = len(self.weight) == 1 or len(ids) == 1
        which = 0 if len(self.weight) == 1 else int(ids[0]) if one else None
        affine = (self.weight[which], self.bias[which]) if one else (None, None)
        out = functional.batch_norm(x, mean, var, *affine, by_batch, self.momentum, EPSILON)
        if one:
            return out
        return torch.addcmul(self.bias[ids][:, :, None, None], self.weight[ids][:, :, None, None], out)


def norms(network: nn.Module) -> list[Norm]:
    """Those of the wired part as modules are listed: the stem's, all stages', then both transitions'.

    Forward, that is 1–9, 26, 10–17, 27, 18–25.
    """
    return [module for module in network.modules() if isinstance(module, Norm)]
