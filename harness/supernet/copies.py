"""Copies of one position's weights and statistics, one of which is loaded (icw section 3.3)."""

import torch
from torch import Tensor, nn


class Copies:
    """The weights and statistics of all candidates of a position, kept apart by the choice before.

    The network's parameters stay the same objects; turning to another copy points them at its memory. So an
    update of the loaded copy is an update in place, nothing has to be stored, and the optimiser, which knows
    parameters only, has one momentum for all copies. Do not move a split network to another device or format.
    """

    def __init__(
        self, candidates: nn.Module, choices: int, snapshot: bool, optimiser: torch.optim.Optimizer | None
    ) -> None:
        """`choices`: of the position before; `snapshot`: copies start from the weights of now, not of then.

        With an optimiser each copy has a momentum of its own, which begins as that of the copy it is made of.
        """
        self.choices, self.optimiser = choices, optimiser
        self.parameters = list(candidates.parameters())
        self.buffers = [
            (module._buffers, name)
            for module in candidates.modules()
            for name, value in module._buffers.items()
            if value is not None
        ]
        self.loaded = 0  # uninas names the weights from before the split after the first candidate
        self.held = {0: self._pointers()}
        self.momenta: dict[int, list[Tensor | None]] = {}  # of the copies that are not loaded
        self.snapshot = _cloned(self.held[0]) if snapshot else None
        self.snapshot_momenta = _cloned(self._momenta()) if snapshot else None

    def turn(self, choice: int) -> None:
        """Load the copy that belongs to this choice; made when it is first asked for."""
        if choice == self.loaded:
            return
        self._make(choice)
        if self.optimiser is not None:
            self.momenta[self.loaded] = self._momenta()
            for parameter, momentum in zip(self.parameters, self.momenta.pop(choice), strict=True):
                self.optimiser.state[parameter]["momentum_buffer"] = momentum
        self._load(choice)

    def complete(self) -> None:
        """Make all copies that there can be."""
        for choice in range(self.choices):
            self._make(choice)

    def state(self) -> dict:
        return {
            "loaded": self.loaded,
            "held": self.held,
            "momenta": self.momenta,
            "snapshot": self.snapshot,
            "snapshot_momenta": self.snapshot_momenta,
        }

    def load(self, state: dict) -> None:
        """The momentum of the loaded copy is the optimiser's own matter."""
        self.held = {choice: _cloned(copy) for choice, copy in state["held"].items()}
        self.momenta = {choice: _cloned(momenta) for choice, momenta in state["momenta"].items()}
        self.snapshot, self.snapshot_momenta = state["snapshot"], state["snapshot_momenta"]
        self._load(state["loaded"])

    def statistics(self) -> list[Tensor]:
        return [b for choice in sorted(self.held) for b in self.held[choice][len(self.parameters) :]]

    def additional(self) -> int:
        """Parameters beyond one copy's."""
        return (len(self.held) - 1) * sum(p.numel() for p in self.parameters)

    def _make(self, choice: int) -> None:
        if choice not in self.held:
            source = self.held[self.loaded] if self.snapshot is None else self.snapshot
            self.held[choice] = _cloned(source)
            if self.optimiser is not None:
                momenta = self._momenta() if self.snapshot_momenta is None else self.snapshot_momenta
                self.momenta[choice] = _cloned(momenta)

    def _load(self, choice: int) -> None:
        pointers = iter(self.held[choice])
        for parameter in self.parameters:
            parameter.data = next(pointers)
        for owner, name in self.buffers:
            owner[name] = next(pointers)
        self.loaded = choice

    def _pointers(self) -> list[Tensor]:
        return [p.data for p in self.parameters] + [owner[name] for owner, name in self.buffers]

    def _momenta(self) -> list[Tensor | None]:
        if self.optimiser is None:
            return []
        return [self.optimiser.state[p].get("momentum_buffer") for p in self.parameters]


def _cloned(tensors: list) -> list:
    return [None if tensor is None else tensor.clone() for tensor in tensors]
