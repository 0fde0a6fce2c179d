"""A super-network that is a chain: one of several operations per layer, each on the output of the last."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor, nn

from harness.base.errors import HarnessError
from harness.supernet.dependent import Dependence, Dependent

Path = tuple[tuple[int, ...]]  # one "cell", whose choice are the operations of all layers


class Choices:
    """The space of a chain whose layers have so many operations each."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)

    def choice(self, arch: str) -> tuple[int, ...]:
        """The operations of an architecture: its numbers, joined by hyphens."""
        parts = arch.split("-")
        if len(parts) != len(self.sizes):
            raise HarnessError(f"architecture {arch!r} names {len(parts)} operations, not {len(self.sizes)}")
        for layer, (part, size) in enumerate(zip(parts, self.sizes, strict=True)):
            if not (part.isascii() and part.isdigit() and int(part) < size):
                raise HarnessError(
                    f"architecture {arch!r}: layer {layer}: operation {part!r} is not one of 0 to {size - 1}"
                )
        return tuple(map(int, parts))

    def uniform(self, rng: np.random.Generator) -> tuple[int, ...]:
        """Each layer's operation for itself."""
        return tuple(rng.integers(self.sizes).tolist())


class SuperNetwork(Dependent, nn.Module):
    """Stem, layers of candidates, head."""

    def __init__(
        self,
        stem: nn.Module,
        layers: Sequence[Sequence[nn.Module]],
        head: nn.Module,
        channels: Sequence[int],
        dependence: Dependence,
    ) -> None:
        """`channels`: of each layer's input. In a chain the order of construction is the graph's."""
        super().__init__()
        self.cells = 1
        self.stem, self.head = stem, head
        self.layers = nn.ModuleList(nn.ModuleList(candidates) for candidates in layers)
        before = [tuple(range(max(0, i - dependence.depth), i)) for i in range(len(layers))]
        self.depend(dependence, self.layers, channels, before)

    def forward(self, x: Tensor, path: Path) -> Tensor:
        chosen = self._chosen(path)
        self.turn(chosen)
        x = self.stem(x)
        if self.additional is None:
            for layer, op in zip(self.layers, chosen, strict=True):
                x = layer[op](x)
            return self.head(x)
        for layer, op, vector in zip(self.layers, chosen, self.additional(chosen), strict=True):
            if vector is not None:
                x = x + vector if self.additional.adds else x * vector
            x = layer[op](x)
        return self.head(x)

    def live(self, path: Path) -> list[nn.Parameter]:
        """The weights that this path uses; of bias vectors all."""
        used = [self.stem, *(layer[op] for layer, op in zip(self.layers, self._chosen(path), strict=True))]
        used += [self.head] if self.additional is None else [self.head, self.additional]
        return [parameter for module in used for parameter in module.parameters()]

    def _chosen(self, path: Path) -> tuple[int, ...]:
        if len(path) != 1 or len(path[0]) != len(self.layers):
            raise HarnessError(
                f"a path through {len(self.layers)} layers is one tuple of as many operations, not {path!r}"
            )
        return path[0]
