"""A loop ends with the same numbers wherever it was killed; a loss that is lost ends it in one sentence."""

import math
from pathlib import Path

import pytest
import torch
from torch import nn

from harness.base.errors import HarnessError
from harness.runs.checkpoint import Checkpoint
from harness.runs.record import Run
from harness.spec.experiments import RunSpec
from harness.training.loop import Loop

SPEC = RunSpec("ldn", "e", "m", "s", 0, "smoke", {}, {"threads": 1}, "harness.numbers.stats")


class Walk(Loop):
    """Momentum towards points that follow from the number of a step."""

    def __init__(self, folder: Path, total: int = 7, lost: int = -1, stop: int = -1) -> None:
        super().__init__(Run(SPEC, folder), total, "step", "network", "optimiser", "seen")
        self.network = nn.Linear(1, 1, bias=False)
        nn.init.zeros_(self.network.weight)
        self.optimiser = torch.optim.SGD(self.network.parameters(), lr=0.1, momentum=0.9)
        self.seen, self.lost, self.stop = [], lost, stop

    def _one(self) -> float:
        if self.step == self.stop:
            raise KeyboardInterrupt
        self.optimiser.zero_grad()
        loss = (self.network(torch.ones(1)) - float(self.run.stream(f"point {self.step}").normal())).square()
        loss.sum().backward()
        self.optimiser.step()
        self.seen.append(self.step)
        return math.nan if self.step == self.lost else loss.item()


@pytest.mark.parametrize("stop", range(7))
def test_a_killed_loop_ends_as_one_that_was_not(tmp_path, monkeypatch, stop):
    monkeypatch.setattr(Checkpoint, "due", True)
    whole = Walk(tmp_path / "whole")
    whole.train(Checkpoint(whole.run))
    killed = Walk(tmp_path / "killed", stop=stop)
    with pytest.raises(KeyboardInterrupt):
        killed.train(Checkpoint(killed.run))
    for lost in (-1, 0):  # to the end; and once more, where nothing is left to do
        again = Walk(tmp_path / "killed", lost=lost)
        again.train(Checkpoint(again.run))
        assert torch.equal(again.network.weight, whole.network.weight)
        assert (again.losses, again.seen, again.step) == (whole.losses, list(range(7)), 7)


def test_a_lost_loss_is_one_sentence(tmp_path):
    walk = Walk(tmp_path, lost=2)
    message = "^ldn/e/m/s/s0: the network: the loss became nan at step 2 of 7: lower weights.lr_max$"
    with pytest.raises(HarnessError, match=message):
        walk.train(Checkpoint(walk.run))
