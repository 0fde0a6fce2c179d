"""SoTL-PDARTS (sections 3.3.4 and 4.3.3): a search in stages of growing depth with ever fewer operations.

Chen et al. 2019 (P-DARTS): each stage begins anew with what the one before left of every edge. D49 tells what
of its regularisation the thesis' author used.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from harness.base.errors import HarnessError
from harness.runs.checkpoint import Checkpoint, Phase
from harness.runs.record import Run
from harness.spaces import darts
from harness.spaces.darts_net import Beside
from harness.supernet.darts_net import SuperCell, SuperNetwork
from harness.supernet.relaxed import SPREAD, CellWeights, Weights, darts_genotype, over, skips
from harness.supernet.side_by_side import total
from harness.training.batches import Batches
from reproduce.sotl.gradient_steps import Found, Search, SearchLoop
from reproduce.sotl.mixed_networks import MixedNetwork

SLOWDOWN = 0.2  # dropout behind the resting epochs falls by this exponent per epoch, as P-DARTS' code has it


@dataclass(frozen=True, kw_only=True)
class Stages:
    """Of each stage its depth, how many operations an edge has, and dropout behind skip connections."""

    cells: tuple[int, ...] = (5, 11, 17)
    operations: tuple[int, ...] = (8, 5, 3)  # `none` is one of them
    dropout: tuple[float, ...] = (0.0, 0.0, 0.0)
    resting: int = 0  # epochs at the start of a stage that move no architecture
    most_skips: int = 2  # of the normal cell that is chosen at the end

    def __post_init__(self) -> None:
        lengths = {len(self.cells), len(self.operations), len(self.dropout)}
        if len(lengths) != 1 or not self.cells:
            raise HarnessError("progressive: cells, operations and dropout have one number per stage each")
        falling = [*self.operations, 1]
        if any(later >= now for now, later in zip(falling, falling[1:], strict=False)):
            raise HarnessError(
                f"progressive: operations are {list(self.operations)}:"
                " give each stage fewer than the one before, the last two or more"
            )
        if any(share >= 1 for share in self.dropout):
            raise HarnessError(f"progressive: dropout is {list(self.dropout)}: take shares below 1")


def search_in_stages(
    run: Run,
    config: Search,
    stages: Stages,
    images: tuple[Batches, Batches, int],
    part: Phase | Checkpoint,
) -> Found:
    """All stages; epochs, updates and ways go on counting from one to the next."""
    if config.space != "darts" or stages.operations[0] != len(config.ops):
        raise HarnessError(
            f"{run.spec.id}: progressive: the first stage has {stages.operations[0]} operations, the space"
            f" {config.space} {len(config.ops)}: search the DARTS space with all of them"
        )
    if stages.resting >= config.darts_epochs:
        raise HarnessError(
            f"{run.spec.id}: progressive: resting is {stages.resting} of {config.darts_epochs} epochs:"
            " lower it"
        )
    train, held, classes = images
    every = torch.arange(len(config.ops)).expand(14, -1)
    kept, whole = CellWeights(every, every), Found([], [], 0.0)
    for number, cells in enumerate(stages.cells):
        here, own = _Stage(run, number), replace(config, cells=cells)
        network = StageNetwork(here, own, classes, kept)
        network.most_skips = stages.most_skips if number + 1 == len(stages.cells) else None
        loop = StageLoop(here, own, network, train, held)
        loop.dropout, loop.resting = stages.dropout[number], stages.resting
        loop.unit += f", stage {number + 1} of {len(stages.cells)}"
        loop.train(part, f"stage {number}")
        whole = _joined(whole, loop.found())
        if number + 1 < len(stages.cells):
            kept = network.strongest(stages.operations[number + 1])
    return whole


def _joined(before: Found, stage: Found) -> Found:
    """Without what a new stage would choose before its first epoch."""
    if not before.rows:
        return stage
    last = before.rows[-1]
    rows = [
        {**row, **{name: last[name] + row[name] for name in ("epoch", "updates", "travelled")}}
        for row in stage.rows[1:]
    ]
    curves = [{**row, "epoch": last["epoch"] + row["epoch"]} for row in stage.curves if row["epoch"]]
    return Found(before.rows + rows, before.curves + curves, stage.loss)


class _Stage:
    """The run with random streams of this stage's own."""

    def __init__(self, run: Run, number: int) -> None:
        self._run, self._number = run, number

    def stream(self, name: str) -> np.random.Generator:
        return self._run.stream(f"{name} of stage {self._number}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)


class StageLoop(SearchLoop):
    """A stage: dropout behind skip connections falls from epoch to epoch."""

    dropout, resting = 0.0, 0  # at the first epoch; epochs in which it falls in a line

    def _one(self) -> float:
        self.mixed.dropout = self.dropout * self._share(self.step // self.chunks)
        return super()._one()

    def _share(self, epoch: int) -> float:
        """Of the stage's dropout: at first it falls in a line, then exponentially from the whole again."""
        if epoch < self.resting:
            epochs = self.config.darts_epochs
            return (epochs - epoch - 1) / epochs
        return float(np.exp(-SLOWDOWN * (epoch - self.resting)))


class StageNetwork(MixedNetwork):
    """A mixed network whose edges have operations of their own: `kept` are their columns, in order."""

    dropout = 0.0
    most_skips: int | None = None

    def __init__(self, run: Run, config: Search, classes: int, kept: CellWeights) -> None:
        self.kept = over(kept, lambda part: part.to(config.device))
        super().__init__(run, config, classes)

    def _mixed(self, network: SuperNetwork) -> nn.Module:
        return Shrunk(network, self.config.ops, self.kept)

    def _start(self, rng: np.random.Generator) -> CellWeights:
        return over(self.kept, lambda part: torch.from_numpy(SPREAD * rng.standard_normal(part.shape)))

    def logits(self, x: Tensor, draws: np.random.Generator | None, *more: Any, **named: Any) -> Tensor:
        """Without `draws` nothing is dropped."""
        self.network.drop = None
        if draws is not None and self.dropout:
            generator = torch.Generator(x.device).manual_seed(int(draws.integers(2**62)))
            self.network.drop = lambda value: _dropped(value, self.dropout, generator)
        return super().logits(x, draws, *more, **named)

    def weights(self, draws: np.random.Generator | None, alphas: list[Tensor] | None = None) -> Weights:
        """Zero where an edge has lost the operation."""
        own = super().weights(draws, alphas)
        return CellWeights(
            *(
                torch.zeros(len(part), len(self.config.ops)).to(part).scatter(1, columns, part)
                for part, columns in zip(own, self.kept, strict=True)
            )
        )

    @torch.no_grad()
    def strongest(self, number: int) -> CellWeights:
        """Of each edge's operations the columns of the heaviest so many."""
        own = [
            weights.gather(1, columns) for weights, columns in zip(self.weights(None), self.kept, strict=True)
        ]
        best = (part.sort(dim=1, descending=True, stable=True).indices[:, :number] for part in own)
        return CellWeights(
            *(
                columns.gather(1, chosen).sort(dim=1).values
                for columns, chosen in zip(self.kept, best, strict=True)
            )
        )

    def architecture(self) -> str:
        return with_few_skips(self.chosen(), self.config.ops, self.most_skips)


def _dropped(value: Tensor, share: float, generator: torch.Generator) -> Tensor:
    mask = torch.empty_like(value).bernoulli_(1 - share, generator=generator)
    return value * mask / (1 - share)


def with_few_skips(weights: CellWeights, ops: tuple[str, ...], most: int | None) -> str:
    """DARTS' choice; while its normal cell has more skip connections, the lightest of them is left out."""
    normal, column = weights.normal.clone(), ops.index("skip_connect")
    while True:
        arch = darts_genotype(CellWeights(normal, weights.reduce), ops)
        chosen = darts.parse(arch).normal
        if most is None or skips([op for op, _ in chosen]) <= most:
            return arch
        places = enumerate(chosen)  # a node has two edges; the nodes before it have 2 + 3 + ... rows
        rows = [i // 2 * (i // 2 + 3) // 2 + source for i, (op, source) in places if op == ops[column]]
        normal[min(rows, key=lambda row: float(normal[row, column])), column] = 0


class Shrunk(nn.Module):
    """Of each edge the operations that it still has; others are neither held nor computed."""

    def __init__(self, network: SuperNetwork, ops: tuple[str, ...], kept: CellWeights) -> None:
        super().__init__()
        self.network, self.ops = network, ops
        self.drop: Callable[[Tensor], Tensor] | None = None  # what comes of a skip connection
        columns = over(kept, Tensor.cpu)
        for cell in network.body:
            own = columns.reduce if cell.reduction else columns.normal
            for edge, left in zip(cell.edges.values(), own.tolist(), strict=True):
                for op in set(edge) - {ops[column] for column in left}:
                    del edge[op]

    def forward(self, x: Tensor, weights: CellWeights) -> Tensor:
        weights = over(weights, lambda part: part.to(x.dtype))
        before = last = self.network.stem(x)
        for cell in self.network.body:
            own = weights.reduce if cell.reduction else weights.normal
            before, last = last, self._cell(cell, [cell.before(before), cell.last(last)], own)
        return self.network.head(last)

    def _cell(self, cell: SuperCell, nodes: list[Tensor], weights: Tensor) -> Tensor:
        rows = zip(weights, cell.edges.items(), strict=True)  # by the node that edges end at
        for node in (2, 3, 4, 5):
            terms = []
            for source, (own, (_, edge)) in enumerate(islice(rows, node)):
                for op, part in edge.items():
                    made = part(nodes[source])
                    if self.drop is not None and isinstance(part, nn.Identity):
                        made = self.drop(made)
                    terms.append((own[self.ops.index(op)], made))
            nodes.append(total(terms))
        return Beside.apply(*nodes[2:])
