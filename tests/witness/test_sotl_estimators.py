"""Fine-tuning from a super-network and its estimators beside the author's (sotl sections 4.2, 4.2.4)."""

from dataclasses import asdict
from functools import cache

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from witness import sotl_start
from witness.formula import fill, numbers, sketch
from witness.sotl_start import RANKED, UPDATES, flat, minibatches

from harness.supernet import nb201_net
from harness.supernet.ranking import SCORES, FineTune, Start, accuracy, fine_tune
from harness.supernet.sampling import whole

THEIRS = numbers("sotl_nb201_finetuning")
PLACES = THEIRS["minibatches"]  # of which minibatches there are numbers, from 0
# Double precision: measured is at most 5e-13, other processors add up in another order.
CLOSE = {"rtol": 1e-10, "atol": 1e-10}

pytestmark = pytest.mark.usefixtures("one_thread")


def equal(found: object, expected: object) -> None:
    np.testing.assert_allclose(found, expected, **CLOSE)


def started() -> nn.Module:
    network = nb201_net.build(sotl_start.CHANNELS, 1, 10).double()
    network.head[0] = nn.BatchNorm2d(4 * sotl_start.CHANNELS, affine=False, track_running_stats=False)
    fill(list(network.parameters()))
    network.train()
    with torch.no_grad():
        for x, _ in minibatches(sotl_start.STATISTICS, 5):
            network(x, whole("333333", 3))
    return network


class Tuned:
    """An architecture fine-tuned by ours; the network, its losses and its gradients after every update."""

    def __init__(self, arch: str, rate: float, updates: int = UPDATES) -> None:
        self.setup, self.path = FineTune(lr=rate, updates=updates), whole(arch, 3)
        self.network = network = started()
        Start(network).restore()
        held, whole_set = minibatches(sotl_start.VALIDATE, updates), minibatches(sotl_start.WHOLE, 5)
        self.live = network.live(self.path)
        self.accuracies, self.losses, self.gradients = [], [], []
        self.whole: dict[int, tuple[float, float]] = {}

        def validate(step: int) -> None:
            """Called before update `step`; the first validation minibatch is asked after the first update."""
            if step:
                self.gradients.append([p.grad.clone() for p in self.live])
                self.accuracies.append(accuracy(network, self.path, [held[step - 1]]))
                self.losses.append(self.loss([held[step - 1]]))
            else:
                self.before = accuracy(network, self.path, [held[0]]), self.loss([held[0]])
            if step in (0, 100, 101):
                self.whole[step] = accuracy(network, self.path, whole_set), self.loss(whole_set)
            if step == updates:
                self.weights = sketch(flat(self.but_dead_edges()))
                self.statistics = sketch(flat(list(network.buffers())))

        learn = minibatches(sotl_start.LEARN, updates + 1)
        self.rows = fine_tune(network, self.path, learn, self.setup, validate).numpy()

    def but_dead_edges(self) -> list[Tensor]:
        """Without the weights that no output hangs on: the author's decay there, ours rest."""
        cells = [part for part in self.network.body if isinstance(part, nb201_net.SuperCell)]
        dead = {
            id(p)
            for cell, row in zip(cells, self.path, strict=True)
            for number, edge in enumerate(cell.edges)
            if row[number] != "0" and number not in cell.used(row)
            for p in edge.parameters()
        }
        return [p for p in self.network.parameters() if id(p) not in dead]

    def loss(self, batches: list[sotl_start.Batch]) -> float:
        self.network.eval()
        with torch.no_grad():
            return np.mean(
                [functional.cross_entropy(self.network(x, self.path), y).item() for x, y in batches]
            )

    def score(self, name: str) -> np.ndarray:
        return self.rows[:UPDATES, SCORES.index(name)]


@cache
def tuned(arch: str, rate: float, updates: int = UPDATES) -> Tuned:
    return Tuned(arch, rate, updates)


@pytest.fixture(params=[(rate, arch) for rate in THEIRS["rates"] for arch in RANKED], ids="/".join)
def both(request: pytest.FixtureRequest) -> tuple[Tuned, dict]:
    rate, arch = request.param
    return tuned(arch, float(rate)), THEIRS["rates"][rate][arch]


def test_fine_tuning_and_its_losses(both) -> None:
    """A fresh optimiser with Nesterov momentum at a constant rate; SoTL takes losses from before updates."""
    ours, theirs = both
    setup = {"dampening": 0, **asdict(ours.setup)}
    assert {name: setup[name] for name in theirs["optimiser"]} == theirs["optimiser"]
    equal(ours.score("sotl")[PLACES], theirs["sotl"])
    equal(ours.score("tlmini")[PLACES], theirs["train_loss"])
    equal(ours.weights, theirs["weights"])
    equal(ours.statistics, theirs["buffers"])


def test_validation_minibatches_are_asked_after_the_update(both) -> None:
    """So the author's first ValAccMini knows one update; ours is asked before (D34), of the same images."""
    ours, theirs = both
    equal(np.array(ours.accuracies)[PLACES], theirs["val_acc"])
    equal(-np.array(ours.losses)[PLACES], theirs["val_loss"])
    assert abs(ours.before[1] + theirs["val_loss"][0]) > 1e-4
    equal(ours.whole[0], (theirs["total_val"], -theirs["total_val_loss"]))


def test_valacc_is_measured_anew_after_101_updates() -> None:
    """Ours after 100 (D34)."""
    ours, theirs = Tuned(RANKED[0], 0.01, sotl_start.LONG - 1), THEIRS["whole"]
    assert theirs["minibatches"] == [0, 100, 101, 102]
    losses = [ours.whole[0][1], ours.whole[0][1], ours.whole[101][1], ours.whole[101][1]]
    equal(losses, [-loss for loss in theirs["total_val_loss"]])
    assert abs(ours.whole[100][1] - ours.whole[101][1]) > 1e-4


def test_the_norms_of_gradients(both) -> None:
    """The author's first key has the first norm once, the others twice; the second sums the first (D13)."""
    ours, theirs = both
    norms = np.diff(ours.score("sogn"), prepend=0.0)
    equal(norms[PLACES], theirs["train_gn"])
    twice = 2 * ours.score("sogn") - norms[0]
    equal(twice[PLACES], theirs["train_sogn"])
    equal(np.cumsum(twice)[PLACES], theirs["sogn"])
    equal(np.cumsum(ours.score("sogn")), ours.score("sogn_double"))
    assert theirs["train_sogn"][-1] / ours.score("sogn")[-1] == pytest.approx(1.9, abs=0.1)


def test_the_sum_of_gradients(both) -> None:
    """The author's first gradient stands alone; then each counts thrice, but the latest once (D12)."""
    ours, theirs = both
    now = ours.gradients
    found = [l1(now[0])] + [l1(total(now[1:t], 3.0, now[t])) for t in PLACES[1:]]
    equal(found, theirs["train_grad_accum"])
    equal(ours.score("sog")[PLACES], [l1(total(now[: t + 1])) for t in PLACES])
    thrice = [0.0] + [l1(total(now[1 : t + 1], 3.0)) for t in PLACES[1:]]
    equal(ours.score("sog_author")[PLACES], thrice)
    assert abs(thrice[-1] / theirs["train_grad_accum"][-1] - 1) > 1e-3


def l1(tensors: list[Tensor]) -> float:
    return sum(t.abs().sum().item() for t in tensors)


def total(steps: list[list[Tensor]], times: float = 1.0, last: list[Tensor] | None = None) -> list[Tensor]:
    """By tensor, over steps; `last` is added once."""
    begun = [torch.zeros_like(t) for t in (steps[0] if steps else last)] if last is None else last
    return [sum((times * step[i] for step in steps), start) for i, start in enumerate(begun)]
