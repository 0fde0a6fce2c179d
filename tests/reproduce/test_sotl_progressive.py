"""SoTL-PDARTS: stages, their networks beside the plain way, dropout, and what is refused."""

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gradient_searches import SEARCHES, SOTL, made_up_searches  # noqa: F401
from plain_mixed import plain_darts, with_torch_s_modules
from small_runs import metrics, table
from torch import Tensor, nn

from harness.base.errors import HarnessError
from harness.spaces import darts
from harness.supernet import darts_net, relaxed
from harness.supernet.relaxed import CellWeights
from reproduce.sotl import gradient_search, progressive
from reproduce.sotl.progressive import Shrunk, StageLoop

pytestmark = pytest.mark.usefixtures("one_thread", "made_up_searches")
STAGES = {"cells": [3, 4], "operations": [8, 3], "dropout": [0.0, 0.5]}
SEARCH = {**SOTL, "space": "darts", "channels": 2, "batch_size": 16, "unroll": 2, "truth_source": "none"}


def searched(folder: Path, **changed: Any) -> tuple[Any, list[StageLoop]]:
    """A search of two stages, and their loops."""
    loops: list[StageLoop] = []
    begun = StageLoop.__init__

    def noted(loop: StageLoop, *given: Any) -> None:
        begun(loop, *given)
        loop.stem = loop.network.network.stem[0].weight.detach().clone()
        loops.append(loop)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StageLoop, "__init__", noted)
        run = SEARCHES.done(folder, **SEARCH, cells=3, progressive={**STAGES, **changed})
    return run, loops


def test_a_stage_begins_anew_with_the_heaviest_operations(tmp_path: Path) -> None:
    """Deeper, with other weights; of each edge the three operations that the stage before weighed most."""
    _, (first, second) = searched(tmp_path)
    assert [loop.network.network.cells for loop in (first, second)] == [3, 4]
    weights = [alpha.detach().softmax(dim=-1) for alpha in first.alphas]
    for kept, own in zip(second.mixed.kept, weights, strict=True):
        expected = [sorted(row.argsort(descending=True)[:3].tolist()) for row in own]
        assert kept.tolist() == expected
    assert not torch.equal(first.stem, second.stem)
    orders = [loop.run.stream("order of epoch 0").permutation(32).tolist() for loop in (first, second)]
    assert orders[0] != orders[1]
    for cell in second.network.network.body:
        own = second.mixed.kept[cell.reduction]
        for edge, row in zip(cell.edges.values(), own.tolist(), strict=True):
            assert set(edge) == {relaxed.DARTS_OPS[column] for column in row} - {"none"}


def test_epochs_and_updates_go_on_counting(tmp_path: Path) -> None:
    run, (first, second) = searched(tmp_path)
    rows, curves = table(run, "epochs"), table(run, "curvature")
    assert rows["epoch"].tolist() == [0, 1, 2, 3, 4] and rows["updates"].tolist() == [0, 1, 2, 3, 4]
    assert rows["travelled"].is_monotonic_increasing
    assert rows["travelled"].iloc[-1] == pytest.approx(first.travelled + second.travelled)
    assert curves["epoch"].tolist() == [0, 2, 4]
    assert metrics(run)["final_training_loss"] == pytest.approx(np.mean(second.losses[-1:]))
    assert second.unit == "update of the architecture, stage 2 of 2"


def test_the_architecture_rests_at_the_start_of_a_stage(tmp_path: Path) -> None:
    """One epoch of two: weights are trained, the architecture is not moved."""
    run, loops = searched(tmp_path, resting=1)
    assert table(run, "epochs")["updates"].tolist() == [0, 0, 1, 1, 2]
    assert table(run, "epochs")["moved"].tolist()[1] == 0.0
    assert all(loop.travelled > 0 for loop in loops)


def test_dropout_falls_as_p_darts_has_it() -> None:
    """In a line while the architecture rests, then by a factor per epoch from the whole again."""
    loop = StageLoop.__new__(StageLoop)
    loop.resting, loop.config = 10, type("Config", (), {"darts_epochs": 25})
    assert [loop._share(epoch) for epoch in (0, 9)] == pytest.approx([0.96, 0.6])
    assert [loop._share(epoch) for epoch in (10, 11, 24)] == pytest.approx(
        [1.0, math.exp(-0.2), math.exp(-2.8)]
    )


def test_skip_connections_are_dropped_in_training_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind identities, not where a skip connection reduces; by the stream of the pass, none without one."""
    _, (_, loop) = searched(tmp_path)
    mixed, x = loop.mixed, torch.randn(2, 3, 8, 8)
    identities = sum(isinstance(part, nn.Identity) for part in loop.network.modules())
    seen: list[float] = []
    dropped = progressive._dropped
    monkeypatch.setattr(
        progressive, "_dropped", lambda value, share, rng: (seen.append(share), dropped(value, share, rng))[1]
    )
    assert mixed.dropout == pytest.approx(0.5 * math.exp(-0.2))  # of the last epoch
    usual = mixed.logits(x, None)
    assert not seen and identities
    first, again, other = (mixed.logits(x, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert len(seen) == 3 * identities and set(seen) == {mixed.dropout}
    assert torch.equal(first, again) and not torch.equal(first, other) and not torch.equal(first, usual)


def test_what_is_left_of_a_dropped_map_keeps_its_mean() -> None:
    value = torch.ones(1, 4, 100, 100)
    made = progressive._dropped(value, 0.3, torch.Generator().manual_seed(0))
    assert made.unique().tolist() == pytest.approx([0.0, 1 / 0.7])
    assert made.mean().item() == pytest.approx(1.0, abs=0.02)


def test_a_shrunk_network_is_the_plain_one() -> None:
    """Logits and gradients in double precision; what was taken away weighs nothing."""
    torch.manual_seed(0)
    whole = darts_net.SuperNetwork(darts_net.Skeleton(2, 4)).double().train()
    kept = CellWeights(
        *(torch.stack([torch.randperm(8)[:3].sort().values for _ in range(14)]) for _ in range(2))
    )
    plain, shrunk = with_torch_s_modules(whole), Shrunk(copy.deepcopy(whole), relaxed.DARTS_OPS, kept)
    x = torch.randn(4, 3, 8, 8, dtype=torch.float64)

    def weights(own: Tensor, columns: Tensor) -> Tensor:
        return torch.zeros(14, 8, dtype=torch.float64).scatter(1, columns, own.softmax(dim=-1))

    alphas = [torch.randn(14, 3, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    mixed = CellWeights(*map(weights, alphas, kept))
    ours, other = shrunk(x, mixed), plain_darts(plain, x, mixed)
    torch.testing.assert_close(ours, other, rtol=1e-9, atol=1e-11)
    slopes = [torch.autograd.grad(made.square().sum(), alphas, retain_graph=True) for made in (ours, other)]
    torch.testing.assert_close(*slopes, rtol=1e-8, atol=1e-10)


def test_few_skip_connections_at_the_end_alone(tmp_path: Path) -> None:
    """The bound holds for the normal cell of the last stage."""
    _, (first, last) = searched(tmp_path, most_skips=0)
    for loop, bounded in ((first, False), (last, True)):
        for alpha, kept in zip(loop.alphas, loop.mixed.kept, strict=True):
            alpha.data = 5.0 * (kept == relaxed.DARTS_OPS.index("skip_connect"))
        normal = darts.parse(loop.mixed.architecture()).normal
        assert (relaxed.skips([op for op, _ in normal]) == 0) == bounded


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"cells": [3]}, "cells, operations and dropout have one number per stage each"),
        ({"operations": [8, 8]}, r"operations are \[8, 8\]: give each stage fewer"),
        ({"operations": [8, 1]}, r"operations are \[8, 1\]: give each stage fewer"),
        ({"operations": [5, 3]}, "the first stage has 5 operations, the space darts 8"),
        ({"dropout": [0.0, 1.0]}, r"dropout is \[0.0, 1.0\]: take shares below 1"),
        ({"resting": 2}, "resting is 2 of 2 epochs: lower it"),
    ],
)
def test_stages_that_cannot_be(tmp_path: Path, changed: dict[str, Any], words: str) -> None:
    with pytest.raises(HarnessError, match=words):
        searched(tmp_path, **changed)


def test_stages_of_another_space(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="the space nb201 8: search the DARTS space"):
        SEARCHES.done(tmp_path, **SOTL, truth_source="none", progressive=STAGES)


def test_exact_gradients_are_dropped_out_too(tmp_path: Path) -> None:
    """Bug of its name: Eq. 3.20 asked the network behind the stage's back."""
    run, config = SEARCHES.begun(tmp_path, **{**SEARCH, "algorithm": "sotl_exact"}, cells=3)
    train, held, classes = gradient_search.parts(run, config)
    every = CellWeights(*(torch.arange(8).expand(14, -1) for _ in range(2)))
    network = progressive.StageNetwork(run, config, classes, every)
    loop = StageLoop(run, config, network, train, held)
    slopes = []
    for network.dropout in (0.0, 0.9, 0.9):
        slopes.append(loop.slopes(range(2))[0])
    assert torch.equal(slopes[1], slopes[2]) and not torch.equal(slopes[0], slopes[1])
