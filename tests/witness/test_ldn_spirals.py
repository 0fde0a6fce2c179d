"""Fully connected LDNs and DDNs beside the authors': whole trainings, pruned and whole predictions."""

import math

import pytest
import torch
from torch import Tensor
from witness.formula import numbers, sketch
from witness.ldn_start import SPIRALS, order, points, weights

from reproduce.ldn import batched, networks, posterior
from reproduce.ldn.networks import FullyConnected, Recipe, Task
from reproduce.ldn.pieces import join, momentum_of, piece_of
from reproduce.ldn.spiral_evaluation import log_probabilities, scores
from reproduce.ldn.stacked import Stack

THEIRS = numbers("ldn_spirals")["cases"]
# Double precision: measured is at most 3e-14, and thirty gentle steps let a last digit grow a little (D8).
CLOSE = {"rtol": 1e-9, "atol": 1e-9}

pytestmark = pytest.mark.usefixtures("one_thread")


def started(case: str) -> FullyConnected:
    depth, learnt, *_ = SPIRALS[case]
    network = FullyConnected(depth, 6, learnt).double()
    weights(
        network.input.parameters(),
        network.blocks.parameters(),
        network.output.parameters(),
        network.depth_logits.data,
    )
    return network


def recipe_of(case: str) -> Recipe:
    _, _, lr, _, batch, epochs, patience = SPIRALS[case]
    return Recipe(lr=lr, batch=batch, epochs=epochs, patience=patience)


def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both programs see the points of epoch 0, 1, … in the witness's order."""
    epochs = iter(range(1000))

    def batches(n: int, size: int, _: torch.Generator):
        return iter(order(next(epochs), n).split(size) if n > size else [slice(None)])

    monkeypatch.setattr(networks, "batches", batches)
    monkeypatch.setattr(batched, "batches", batches)


def trained(
    case: str, program: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[FullyConnected, networks.Outcome]:
    in_order(monkeypatch)
    task = Task(started(case), *points(SPIRALS[case][3], 960))
    if program == "one by one":
        return task.network, networks.train(task, recipe_of(case))
    return task.network, batched.train([task], recipe_of(case))[0]


def close(found: object, expected: object, **tolerance: float) -> None:
    ours = torch.as_tensor(found, dtype=torch.float64)
    torch.testing.assert_close(ours, torch.tensor(expected, dtype=torch.float64), **(tolerance or CLOSE))


@pytest.mark.parametrize("program", ["one by one", "batched"])
@pytest.mark.parametrize("case", SPIRALS)
def test_a_training_ends_where_the_authors_ends(case: str, program: str, monkeypatch) -> None:
    theirs = THEIRS[case]
    network, outcome = trained(case, program, monkeypatch)
    assert (outcome.epochs, outcome.best_epoch) == (theirs["epochs"], theirs["best_epoch"])
    close(outcome.elbo, theirs["elbo"][theirs["best_epoch"]])
    close(network.q.detach(), theirs["q"])
    parts = [*network.input.parameters(), *network.blocks.parameters(), *network.output.parameters()]
    close(sketch(torch.cat([p.reshape(-1) for p in parts])), theirs["weights"])
    kept = [b.reshape(-1) for name, b in network.named_buffers() if "running" in name]
    close(sketch(torch.cat(kept)), theirs["statistics"])


@pytest.mark.parametrize("case", [case for case in SPIRALS if "unequal" not in case])
def test_the_objective_of_every_step(case: str) -> None:
    """Full batches, so that an epoch's ELBO is a step's objective."""
    network = started(case)
    now, (x, y) = join([piece_of(network)], [network.depth]), points(SPIRALS[case][3], 960)
    stack = Stack(now, momentum_of(now), [network.depth], network.learnt, len(x), recipe_of(case))
    count = torch.tensor([len(x)])
    stack.set_batch(x[None], y[None], count, count)
    with torch.no_grad():
        close([-stack.step().item() for _ in THEIRS[case]["elbo"]], THEIRS[case]["elbo"])


@pytest.mark.parametrize("case", SPIRALS)
def test_whole_and_pruned_predictions(case: str, monkeypatch) -> None:
    network, _ = trained(case, "one by one", monkeypatch)
    x, y = points(16, 962)
    log_p, q = log_probabilities(network, x.numpy()), network.q.detach()
    close(sketch(log_p.exp().transpose(0, 1)), THEIRS[case]["depths"])
    chosen = {"full": network.depth}
    if network.learnt:
        chosen |= {
            "d95": posterior.d_95(q),
            "expected": posterior.d_expected(q),
            "argmax": posterior.d_argmax(q),
        }
    assert chosen.keys() == THEIRS[case]["predictions"].keys()
    for name, theirs in THEIRS[case]["predictions"].items():
        assert int(chosen[name]) == theirs["depth"], name
        pruned = posterior.prune(q, chosen[name])
        close(sketch(mixture(log_p, pruned)), theirs["probabilities"])
        for score, value in scores(log_p, pruned, y.numpy()).items():
            assert value == pytest.approx(theirs[score], rel=1e-9), (name, score)


def mixture(log_p: Tensor, q: Tensor) -> Tensor:
    return (log_p.exp() * q[:, None]).sum(1)


def test_the_elbo_of_unequal_minibatches_is_the_mean_of_their_means(monkeypatch) -> None:
    """20 points are 16 and 4, which count alike (D20); weighted by their points they end another epoch."""
    case, by_points, steps = "unequal minibatches", [], []
    original = networks.objective

    def watched(network: FullyConnected, x: Tensor, y: Tensor, n: int) -> Tensor:
        loss = original(network, x, y, n)
        steps.append((loss.item(), len(x)))
        return loss

    monkeypatch.setattr(networks, "objective", watched)
    _, outcome = trained(case, "one by one", monkeypatch)
    for (first, many), (second, few) in zip(steps[::2], steps[1::2], strict=True):
        assert (many, few) == (16, 4)
        by_points.append(-(16 * first + 4 * second) / 20)
    assert outcome.best_epoch == THEIRS[case]["best_epoch"] == 8
    assert math.isclose(outcome.elbo, THEIRS[case]["elbo"][8], rel_tol=1e-9)
    # By points epoch 6 is better than the seven that follow, where a patience of 6 ends.
    assert max(range(14), key=by_points.__getitem__) == 6
