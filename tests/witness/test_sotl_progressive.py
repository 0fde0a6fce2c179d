"""What P-DARTS' own script keeps of every edge from stage to stage, and what it chooses with few skips."""

from pathlib import Path

import pytest
import torch
from gradient_searches import SEARCHES, made_up_searches  # noqa: F401
from witness.formula import noise, numbers

from harness.spaces import darts
from harness.supernet.relaxed import CellWeights
from reproduce.sotl.progressive import StageNetwork, with_few_skips

THEIRS = numbers("sotl_progressive")
SMALL = {"space": "darts", "channels": 2, "cells": 3, "truth_source": "none"}

pytestmark = pytest.mark.usefixtures("one_thread", "made_up_searches")


def stage(folder: Path, columns: CellWeights, case: int, number: int) -> StageNetwork:
    run, config = SEARCHES.begun(folder, **SMALL)
    network = StageNetwork(run, config, 10, columns)
    for place, (parameter, own) in enumerate(zip(network.parameters, columns, strict=True)):
        drawn = noise(60_000 + 100 * case + 10 * number + place, *own.shape)
        raised = 0.8 * (own == 3) if case % 2 and not place else 0.0
        parameter.data = drawn + raised
    return network


@pytest.mark.parametrize("case", range(6))
def test_three_stages(tmp_path: Path, case: int) -> None:
    """Columns that are left, and the architecture under every bound on skip connections."""
    columns = CellWeights(*(torch.arange(8).expand(14, -1) for _ in range(2)))
    for number, (theirs, left) in enumerate(zip(THEIRS["columns"][str(case)], (5, 3, None), strict=True)):
        assert [part.tolist() for part in columns] == theirs
        network = stage(tmp_path / str(number), columns, case, number)
        if left is not None:
            columns = network.strongest(left)
    chosen = THEIRS["chosen"][str(case)]
    for bound, genotype in [*chosen.items(), (None, chosen[max(chosen, key=int)])]:
        most = None if bound is None else int(bound)
        ours = with_few_skips(network.chosen(), network.config.ops, most)
        assert darts.parse(ours) == darts.parse(genotype)
