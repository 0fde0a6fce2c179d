"""Weights beside a super-network's own that depend on choices: biases and gates (icw 3.3, appendix D)."""

from collections.abc import Sequence
from itertools import groupby
from math import gcd, prod

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

Positions = Sequence[tuple[int, ...]]  # for each position, others


class Bias(nn.Module):
    """A vector to be added at each position, one per combination of choices, or summed of one per choice.

    All vectors are in one table, and one lookup finds those of a path: tensors of each position, as section
    3.3 has them, would be read, differentiated and updated one by one. The table is as wide as the greatest
    common divisor of the numbers of channels; longer vectors take several rows.
    """

    adds = True

    def __init__(
        self, channels: Sequence[int], sizes: Sequence[int], before: Positions, *, summed: bool, decayed: bool
    ) -> None:
        """Of each position: channels of its input, number of candidates, those before it, oldest first."""
        super().__init__()
        # No choice before it, no bias. Side by side what has equally many channels: it is taken as a whole.
        found = sorted((i for i in range(len(sizes)) if before[i]), key=lambda i: channels[i])
        self.groups = [(c, list(inside)) for c, inside in groupby(found, key=lambda i: channels[i])]
        self.positions, self.width = len(sizes), gcd(*(c for c, _ in self.groups))
        # A term picks a vector by the choices at `seen`, counted through as an index of several dimensions.
        terms = [(i, seen) for i in found for seen in _seen((*before[i], i), summed)]
        shapes = [[sizes[j] for j in seen] for _, seen in terms]
        self.seen = np.concatenate([seen for _, seen in terms])
        self.steps = np.array([prod(shape[k + 1 :]) for shape in shapes for k in range(len(shape))])
        self.bounds = np.cumsum([0, *map(len, shapes[:-1])])
        self.rows_each = np.array([channels[i] // self.width for i, _ in terms])
        rows = self.rows_each * list(map(prod, shapes))
        self.firsts = np.cumsum(rows) - rows
        self.repeated = np.repeat(np.arange(len(terms)), self.rows_each)
        self.further = np.concatenate(list(map(np.arange, self.rows_each)))
        self.owner = _owner([i for i, _ in terms], self.rows_each) if summed else None
        self.spans = {}
        for i in found:
            own = np.array([position == i for position, _ in terms])
            shape = (-1,) if summed else tuple(shapes[own.argmax()])
            self.spans[i] = (int(self.firsts[own][0]), int(rows[own].sum()), (*shape, 1, channels[i], 1, 1))
        self.name = "biases" if decayed else "bias"  # weight decay spares what is called `bias`
        self.register_parameter(self.name, nn.Parameter(torch.zeros(int(rows.sum()), self.width)))

    @property
    def table(self) -> nn.Parameter:
        return getattr(self, self.name)

    def forward(self, chosen: Sequence[int]) -> list[Tensor | None]:
        """Each position's vector (1, C, 1, 1), None where it has none."""
        table, places = self.table, np.add.reduceat(np.array(chosen)[self.seen] * self.steps, self.bounds)
        rows = (self.firsts + places * self.rows_each)[self.repeated] + self.further
        found = functional.embedding(torch.from_numpy(rows).to(table.device), table)
        if self.owner is not None:
            found = found.new_zeros(int(self.owner[-1]) + 1, self.width).index_add(
                0, self.owner.to(table.device), found
            )
        vectors: list[Tensor | None] = [None] * self.positions
        parts = found.split([len(inside) * c // self.width for c, inside in self.groups])
        for (c, inside), part in zip(self.groups, parts, strict=True):
            for i, vector in zip(inside, part.view(len(inside), 1, c, 1, 1).unbind(), strict=True):
                vectors[i] = vector
        return vectors

    def of(self, position: int, *, gradient: bool = False) -> Tensor | None:
        """A position's vectors as section 3.3 has them, [.., n before, n here, 1, C, 1, 1]: a view.

        Or their gradients; of a sum a vector per choice; None for a position that has none.
        """
        if position not in self.spans:
            return None
        first, rows, shape = self.spans[position]
        table = self.table.grad if gradient else self.table
        return table.narrow(0, first, rows).view(shape)


def _seen(positions: tuple[int, ...], summed: bool) -> list[tuple[int, ...]]:
    return [(i,) for i in positions] if summed else [positions]


def _owner(positions: list[int], rows_each: np.ndarray) -> Tensor:
    """For each row of each term the row of the sum that it belongs to."""
    found, start = [], 0
    for _, terms in groupby(range(len(positions)), key=lambda n: positions[n]):
        rows = int(rows_each[(own := list(terms))[0]])
        found += [*range(start, start + rows)] * len(own)
        start += rows
    return torch.tensor(found)


class Gates(nn.ModuleList):
    """Factors per channel at each position, from one-hot vectors of the choices before and its own.

    Appendix D: a layer and a sigmoid; `excitation`: a hidden layer before them.
    """

    adds = False

    def __init__(
        self, channels: Sequence[int], sizes: Sequence[int], before: Positions, *, excitation: bool
    ) -> None:
        self.seen = [[*those, i] for i, those in enumerate(before)]
        self.sizes = [[sizes[j] for j in seen] for seen in self.seen]
        super().__init__(
            _layers(sum(own), c, excitation) for own, c in zip(self.sizes, channels, strict=True)
        )

    def forward(self, chosen: Sequence[int]) -> list[Tensor]:
        """Each position's factors (1, C, 1, 1)."""
        found = []
        for layers, seen, sizes in zip(self, self.seen, self.sizes, strict=True):
            hot = np.zeros(sum(sizes), dtype=np.float32)
            hot[np.array([chosen[i] for i in seen]) + np.cumsum([0, *sizes[:-1]])] = 1.0
            found.append(layers(torch.from_numpy(hot).to(layers[0].weight)).view(1, -1, 1, 1))
        return found


def _layers(inputs: int, channels: int, excitation: bool) -> nn.Sequential:
    hidden = max(8, (inputs + 4) // 8 * 8)  # to a multiple of eight, but not below nine tenths: as uninas
    hidden += 8 if hidden < 0.9 * inputs else 0
    first = [nn.Linear(inputs, hidden), nn.ReLU()] if excitation else []
    return nn.Sequential(*first, nn.Linear(hidden if excitation else inputs, channels), nn.Sigmoid())
