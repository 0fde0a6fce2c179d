"""Small super-networks whose weights depend on choices, and what trains them, for several test files."""

import numpy as np
import torch
from torch import Tensor, nn

from harness.supernet import nb201_net
from harness.supernet.dependent import Dependence
from harness.supernet.dependent_nb201_net import SuperNetwork
from harness.supernet.nb201_net import Skeleton
from harness.supernet.training import Method, descend
from harness.training.optimisers import SGD

SMALL = Skeleton(channels=4, cells=2)
ONE = Skeleton(channels=4, cells=1)  # cell per stage
KINDS = ("bias", "bias_sum", "attention", "excitation")
SETUP = SGD(0.1, 1e-5, 0.9, 0.1, decay_vectors=False)


def seeded(skeleton: Skeleton = SMALL, **said) -> SuperNetwork:
    torch.manual_seed(0)
    return SuperNetwork(skeleton, Dependence(**said)).to(memory_format=torch.channels_last)


def baseline(skeleton: Skeleton = SMALL) -> nb201_net.SuperNetwork:
    torch.manual_seed(0)
    return nb201_net.SuperNetwork(skeleton).to(memory_format=torch.channels_last)


def images(n: int = 4, seed: int = 1) -> Tensor:
    made = torch.randn(n, 3, 8, 8, generator=torch.Generator().manual_seed(seed))
    return made.to(memory_format=torch.channels_last)


def batch(seed: int = 1) -> tuple[Tensor, Tensor]:
    return images(seed=seed), torch.randint(10, (4,), generator=torch.Generator().manual_seed(seed))


def excite(network: nn.Module, size: float = 0.5) -> nn.Module:
    """Bias vectors that are not zero."""
    network.additional.table.data.normal_(0, size, generator=torch.Generator().manual_seed(2))
    return network


def paths(n: int, cells: int, ops: str = "01234", seed: int = 0) -> list[tuple[str, ...]]:
    """Half of them whole architectures, half with different cells."""
    rng = np.random.default_rng(seed)

    def row() -> str:
        return "".join(rng.choice(list(ops), 6))

    return [(row(),) * cells if i % 2 else tuple(row() for _ in range(cells)) for i in range(n)]


def train(module: nn.Module, optimiser: torch.optim.Optimizer, which: list, first: int = 0, **said) -> list:
    """A step per path, on minibatches that are counted through."""
    return [
        descend(module, optimiser, [path], batch(first + i), Method(**said)) for i, path in enumerate(which)
    ]


def content(module: SuperNetwork) -> dict[tuple[int, int], list[Tensor]]:
    """Position and choice before it → its weights and statistics."""
    return {
        (position, choice): tensors
        for position, copies in enumerate(module.apart)
        if copies is not None
        for choice, tensors in copies.held.items()
    }


def cloned(module: SuperNetwork) -> dict[tuple[int, int], list[Tensor]]:
    return {key: [tensor.clone() for tensor in tensors] for key, tensors in content(module).items()}
