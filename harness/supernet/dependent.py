"""What a super-network's weights know of the choices before (icw section 3.3 and appendix D)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from harness.base.errors import HarnessError
from harness.supernet.additional import Bias, Gates, Positions
from harness.supernet.copies import Copies


@dataclass(frozen=True, kw_only=True)
class Dependence:
    """Which weights depend on previous choices, and on which of them (section 3.3)."""

    # bias: a vector per combination of the choices, added to an operation's input; bias_sum: a vector per
    # choice, their sum is added; attention: a factor per channel; excitation: the same with a second layer;
    # split: copies of all of a position's weights
    kind: Literal["none", "bias", "bias_sum", "attention", "excitation", "split"] = "none"
    depth: int = 1  # D: how many previous choices; weights are split by one only
    # whose choices come before: those of the positions built before, over all cells (uninas); graph: of those
    # only the ones whose output reaches the position
    order: Literal["construction", "graph"] = "construction"
    copies_from: Literal["active", "snapshot"] = "active"  # a copy starts from the copy used last (uninas)
    momentum: Literal["shared", "per_copy"] = "shared"  # of split weights; shared is uninas'
    decayed: bool = True  # weight decay of the bias vectors, which uninas' filter does not spare

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise HarnessError(f"a dependence on {self.depth} previous choices is none: say kind: none")
        if self.kind == "split" and self.depth != 1:
            raise HarnessError(f"weights are split by one previous choice, not by {self.depth}: say depth: 1")


class Dependent:
    """What both super-networks with dependent weights can do; `depend` comes last when they are built."""

    additional: Bias | Gates | None
    apart: list[Copies | None] | None  # of each position, once weights are split

    def depend(
        self,
        dependence: Dependence,
        candidates: Sequence[nn.ModuleList],
        channels: Sequence[int],
        before: Positions,
    ) -> None:
        """Of each position, as they are chosen: candidates, channels, those before it, oldest first.

        Additional weights are made after all others: with the same seed all kinds begin with the same others.
        """
        self.dependence, self.candidates, self.before = dependence, list(candidates), list(before)
        self.additional = self.apart = None
        kind, sizes = dependence.kind, [len(each) for each in candidates]
        if kind in ("bias", "bias_sum") and any(before):
            summed, decayed = kind == "bias_sum", dependence.decayed
            self.additional = Bias(channels, sizes, before, summed=summed, decayed=decayed)
        elif kind in ("attention", "excitation"):
            self.additional = Gates(channels, sizes, before, excitation=kind == "excitation")

    def split(self, optimiser: torch.optim.Optimizer | None = None) -> None:
        """From now on each position's weights are kept apart by the choice before it.

        Then there is only one path per step of the optimiser, and its backward pass comes before any other
        forward pass: gradients of several paths would be taken at, and meet in, the copy that came last.
        """
        own = self.dependence
        if own.kind != "split":
            raise HarnessError(f"a super-network of kind {own.kind} has no weights to split: say kind: split")
        if own.momentum == "per_copy" and optimiser is None:
            raise HarnessError("momentum: per_copy needs the optimiser that has it: give it to split")
        kept = optimiser if own.momentum == "per_copy" else None
        snapshot = own.copies_from == "snapshot"
        self.apart = [
            Copies(candidates, len(self.candidates[those[-1]]), snapshot, kept) if those else None
            for candidates, those in zip(self.candidates, self.before, strict=True)
        ]

    def turn(self, chosen: Sequence[int]) -> None:
        """Load the weights that belong to these choices, also where an operation is not run (as uninas)."""
        if self.apart is not None:
            for copies, those in zip(self.apart, self.before, strict=True):
                if copies is not None:
                    copies.turn(chosen[those[-1]])

    def complete(self) -> None:
        """Make the copies that no path has asked for yet, so that what follows makes none."""
        for copies in self.apart or []:
            if copies is not None:
                copies.complete()

    def copies(self) -> dict:
        """What a checkpoint needs beside `state_dict`; nothing where weights are not split. Not cloned."""
        if self.apart is None:
            return {}
        return {"positions": [None if copies is None else copies.state() for copies in self.apart]}

    def load_copies(self, state: dict, optimiser: torch.optim.Optimizer | None = None) -> None:
        """Split as that state was, after `load_state_dict`."""
        if state:
            self.split(optimiser)
            for copies, kept in zip(self.apart or [], state["positions"], strict=True):
                if copies is not None:
                    copies.load(kept)

    def statistics(self) -> list[Tensor]:
        """All running statistics, of every copy there is; their order stays while no copy is made."""
        if self.apart is None:
            return list(self.buffers())
        inside = {id(b) for candidates in self.candidates for b in candidates.buffers()}
        first = [b for copies in self.apart if copies is not None for b in copies.statistics()]
        unsplit = [c for c, copies in zip(self.candidates, self.apart, strict=True) if copies is None]
        rest = [b for b in self.buffers() if id(b) not in inside]
        return [*first, *(b for candidates in unsplit for b in candidates.buffers()), *rest]

    def additional_parameters(self) -> int:
        """How many weights there are beyond the plain super-network's, now."""
        own = 0 if self.additional is None else sum(p.numel() for p in self.additional.parameters())
        return own + sum(copies.additional() for copies in self.apart or [] if copies is not None)
