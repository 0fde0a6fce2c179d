"""A network whose first weights are drawn from a stream of their own."""

from collections.abc import Callable

import torch
from torch import nn

from harness.runs.record import Run


def seeded(run: Run, name: str, make: Callable[[], nn.Module], device: str) -> nn.Module:
    """What `make` builds with torch's generator seeded by this stream, and the generator as it was before."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(run.stream(name).integers(2**63)))
        network = make()
    return network.to(device, memory_format=torch.channels_last)
