"""Appendix B: what a trained super-network predicts for an architecture, with batch norm adjusted to it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from harness.runs.checkpoint import Checkpoint
from harness.runs.record import Run
from harness.supernet.ranking import accuracy
from harness.supernet.sampling import Path
from harness.training.batches import Batches

Mode = Literal["adjusted", "augmented", "none", "reset"]


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """How an architecture is scored with a super-network's weights."""

    calibrations: tuple[Mode, ...] = ("adjusted",)  # the first one predicts, others stand beside it (D14)
    calibration_passes: int = 20  # training mode, without gradients
    val_batch: int = 250  # images at once; no prediction depends on it


class Evaluator:
    """Scores architecture by architecture, each from the same state, so that their order plays no role."""

    def __init__(
        self, run: Run, scoring: Scoring, network: nn.Module, passes: dict[Mode, list[Tensor]], held: Batches
    ) -> None:
        """`passes`: the minibatches that batch norm sees before; of `none` there are none."""
        self.run, self.scoring, self.network = run, scoring, network
        self.passes, self.batches = passes, held.in_order(scoring.val_batch)
        self.statistics = network.statistics()  # of batch norm, those of copies included
        self.trained = [value.clone() for value in self.statistics]

    def score(
        self,
        asked: list[tuple[Path, tuple[Mode, ...]]],
        done: list[list[float]],
        checkpoint: Checkpoint,
        trained: Callable[[], dict[str, Any]],
    ) -> list[list[float]]:
        """A row per architecture, with a score per calibration; a killed run goes on after what is `done`.

        `trained` gives the state of the trained network, which a checkpoint keeps beside the scores.
        """
        rows = list(done)
        if not rows:
            checkpoint.save({**trained(), "scores": rows})
        for path, modes in asked[len(rows) :]:
            rows.append([self.one(path, mode) for mode in modes])
            self.run.progress(len(rows), len(asked), "scored architecture")
            if checkpoint.due:
                self.restore()
                checkpoint.save({**trained(), "scores": rows})
        self.restore()
        return rows

    @torch.no_grad()
    def one(self, path: Path, mode: Mode) -> float:
        """Percent of the validation images that are right, with nothing left of the architectures before."""
        self.restore()
        if mode == "reset":
            self.network.eval()
            self.network(self.passes[mode][0][:1], path)  # of a split network, brings in the path's copies
            for part in self.network.modules():
                if isinstance(part, nn.modules.batchnorm._BatchNorm):
                    part.reset_running_stats()
        self.network.train()
        for x in self.passes.get(mode, []):
            self.network(x, path)
        return accuracy(self.network, path, self.batches)

    @torch.no_grad()
    def restore(self) -> None:
        torch._foreach_copy_(self.statistics, self.trained)
