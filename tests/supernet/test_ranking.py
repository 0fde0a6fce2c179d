"""Fine-tuning in place against a deep copy per architecture; sums of gradients against their formulas."""

import copy
import math

import numpy as np
import pytest
import torch
from torch.nn import functional

import harness.supernet.nb201_net as space
from harness.supernet.ranking import SCORES, FineTune, Start, accuracy, fine_tune
from harness.supernet.sampling import whole

SETUP = FineTune(lr=0.05, batch=6, updates=4)


def small() -> space.SuperNetwork:
    torch.manual_seed(0)
    return space.SuperNetwork(space.Skeleton(4, 1, affine=False, track=False, conv_bias=True))


def batches(count: int = SETUP.updates + 1) -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(1)
    return [
        (torch.randn(6, 3, 8, 8, generator=generator), torch.randint(10, (6,), generator=generator))
        for _ in range(count)
    ]


def archs(net: space.SuperNetwork, count: int) -> list:
    rng = np.random.default_rng(5)
    return [whole(space.uniform(rng), net.cells) for _ in range(count)]


def by_deep_copy(net: torch.nn.Module, path: tuple, data: list) -> list[list[float]]:
    """The plain way: a copy of everything, an optimiser over everything; loss and the sums of gradients."""
    mine, rows = copy.deepcopy(net), []
    sgd = torch.optim.SGD(mine.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4)
    seen: list[dict[str, torch.Tensor]] = []
    for x, y in data:
        mine.train()
        sgd.zero_grad()
        loss = functional.cross_entropy(mine(x, path), y)
        loss.backward()
        seen.append({n: p.grad.clone() for n, p in mine.named_parameters() if p.grad is not None})
        sgd.step()
        rows.append([loss.item(), *_sums(seen)])
    return rows


def _sums(seen: list[dict[str, torch.Tensor]]) -> list[float]:
    flat = [torch.cat([g[name].double().flatten() for name in sorted(seen[0])]) for g in seen]
    norms = [g.norm().item() for g in flat]
    return [
        sum(flat).abs().sum().item(),
        sum(norms),
        sum(g.abs().sum().item() for g in flat),
        sum(sum(norms[: i + 1]) for i in range(len(norms))),
        3 * (sum(flat) - flat[0]).abs().sum().item(),
    ]


def test_scores_are_those_of_a_deep_copy_per_architecture():
    net, data = small(), batches()
    start = Start(net)
    for path in archs(net, 6):
        start.restore()
        ours = fine_tune(net, path, data, SETUP)
        start.restore()
        theirs = by_deep_copy(net, path, data)
        column = {name: ours[:, i].tolist() for i, name in enumerate(SCORES)}
        assert column["loss"] == [row[0] for row in theirs]  # to the last bit
        assert column["tlmini"] == [-loss for loss in column["loss"]]
        assert column["sotl"] == pytest.approx([-v for v in np.cumsum(column["loss"])])
        for place, name in enumerate(("sog", "sogn", "sogn_l1", "sogn_double", "sog_author"), start=1):
            assert column[name] == pytest.approx([row[place] for row in theirs], rel=1e-4), name


def test_restoring_brings_statistics_back_too():
    net = small()
    start, path = Start(net), archs(net, 1)[0]
    fine_tune(net, path, batches(), SETUP)
    changed = [n for n, v in net.state_dict().items() if not torch.equal(v, start.kept[n])]
    assert any("running_mean" in name for name in changed) and any("weight" in name for name in changed)
    start.restore()
    assert all(torch.equal(v, start.kept[n]) for n, v in net.state_dict().items())
    assert all(p.grad is None for p in net.parameters())


def test_validation_before_an_update_does_not_change_the_scores():
    net, data = small(), batches()
    start, path, seen = Start(net), archs(net, 1)[0], []
    plain = fine_tune(net, path, data, SETUP)
    start.restore()
    watched = fine_tune(net, path, data, SETUP, lambda step: seen.append(accuracy(net, path, data)))
    assert torch.equal(plain, watched)
    assert len(seen) == len(data) and len(set(seen)) > 1


def test_a_loss_that_becomes_nan_is_the_worst_of_all_and_the_others_stay():
    net, data = small(), batches()
    data[2] = (data[2][0] * math.nan, data[2][1])
    start, path = Start(net), archs(net, 1)[0]
    rows = fine_tune(net, path, data, SETUP)
    assert rows[:2].isfinite().all()
    assert (rows[2:, 0] == math.inf).all() and (rows[2:, 1:] == -math.inf).all()
    start.restore()
    assert fine_tune(net, path, batches(), SETUP).isfinite().all()


def test_accuracy_counts():
    net = small()
    path, data = archs(net, 1)[0], batches(3)
    net.eval()
    with torch.no_grad():
        right = [(net(x, path).argmax(1) == y).double() for x, y in data]
    assert accuracy(net, path, data) == pytest.approx(100 * torch.cat(right).mean().item())
