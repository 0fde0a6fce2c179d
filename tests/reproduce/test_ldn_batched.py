"""The batched program against the sequential reference: gradients, trainings, endings, continuations."""

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from harness.data.spirals import spirals, split
from reproduce.ldn import batched, products
from reproduce.ldn.networks import FullyConnected, Outcome, Recipe, Task, batches, objective, seeded, train
from reproduce.ldn.pieces import BUFFERS, ENDS, ROWS, join, load_piece, momentum_of, piece_of
from reproduce.ldn.pieces import split as pieces_of
from reproduce.ldn.stacked import Stack

GENTLE = Recipe(lr=0.002, epochs=300, patience=10_000)  # at 0.1 the last digit grows to the first (D8)


pytestmark = pytest.mark.usefixtures("one_thread")


def task(
    depth: int, learnt: bool, *, points: int = 60, width: int = 6, seed: int = 0, double: bool = True
) -> Task:
    data, _ = split(spirals(points, np.random.default_rng(seed), rotation=360), points)
    network = seeded(depth, width, learnt, seed)
    x = torch.from_numpy(data.x)
    return Task(
        network.double() if double else network, x.double() if double else x, torch.from_numpy(data.y), seed
    )


def twice(tasks: list[Task]) -> tuple[list[Task], list[Task]]:
    return tasks, [replace(t, network=copy.deepcopy(t.network)) for t in tasks]


def largest_difference(a: FullyConnected, b: FullyConnected) -> float:
    states = (a.state_dict(), b.state_dict())
    return max(float((states[0][k] - states[1][k]).abs().max()) for k in states[0] if "tracked" not in k)


def agree(tasks: list[Task], recipe: Recipe, tolerance: float = 1e-7, **options) -> list[Outcome]:
    """Both programs on the same tasks end alike; the outcomes."""
    one, many = twice(tasks)
    expected = [train(t, recipe) for t in one]
    found = batched.train(many, recipe, **options)
    for a, b, e, f in zip(one, many, expected, found, strict=True):
        assert (e.epochs, e.best_epoch, e.diverged) == (f.epochs, f.best_epoch, f.diverged)
        assert f.elbo == pytest.approx(e.elbo, abs=tolerance)
        assert largest_difference(a.network, b.network) < tolerance
    return found


@pytest.mark.parametrize("learnt", [True, False])
def test_a_few_hundred_iterations_of_different_depths(learnt: bool) -> None:
    found = agree([task(d, learnt, seed=d) for d in (3, 7, 2, 5, 3, 1)], GENTLE)
    assert all(outcome.epochs == 300 for outcome in found)


@pytest.mark.parametrize("learnt", [True, False])
def test_the_published_recipe_before_chaos_sets_in(learnt: bool) -> None:
    agree([task(d, learnt, seed=d) for d in (4, 2)], Recipe(epochs=12), 1e-8)


def test_single_precision_as_it_is_used() -> None:
    agree([task(d, True, seed=d, double=False) for d in (4, 9)], Recipe(lr=0.01, epochs=30), 2e-4)


def test_more_networks_than_slots() -> None:
    agree([task(d, True, seed=d) for d in (2, 5, 1, 4, 3, 6, 0)], replace(GENTLE, epochs=40), slots=3)


def test_learnt_and_fixed_of_several_widths_in_one_call() -> None:
    tasks = [task(3, True), task(3, False), task(3, True, width=5), task(4, False, width=5)]
    agree(tasks, replace(GENTLE, epochs=40))


def test_different_amounts_of_data_share_a_stack() -> None:
    """Absent points must leave no trace in the batch norm's statistics and gradients."""
    agree([task(3, True, points=n, seed=n) for n in (20, 60, 33)], replace(GENTLE, epochs=100))


def test_two_batches_an_epoch_in_the_order_of_each_network() -> None:
    recipe = Recipe(lr=0.01, epochs=40, batch=32)
    agree([task(3, True, points=n, seed=n) for n in (40, 64, 50)], recipe)
    one, other = task(2, True, points=40, seed=1), task(2, True, points=40, seed=1)
    other = replace(other, seed=2)
    batched.train([one, other], recipe)
    assert largest_difference(one.network, other.network) > 1e-6  # the seed of the order matters


@pytest.mark.parametrize("scale", ["sum", "sum_for_depth"])
def test_scales_of_the_objective(scale: str) -> None:
    recipe = Recipe(lr=2e-4, epochs=60, scale=scale)
    tasks = [task(d, True, seed=d) for d in (3, 5)]
    agree(tasks, recipe)
    plain = [replace(t, network=copy.deepcopy(t.network)) for t in tasks]
    batched.train(plain, replace(recipe, scale="mean"))
    assert largest_difference(plain[0].network, tasks[0].network) > 1e-4


def test_early_stopping_is_of_each_network_and_restores_its_best_state() -> None:
    """Batches of 15 points make the ELBO go up and down; a free slot is taken by the next network."""
    recipe = Recipe(lr=0.01, epochs=60, batch=15, patience=2)
    found = agree([task(d, True, seed=d) for d in (3, 1, 4, 2, 0)], recipe, slots=2)
    stopped = [outcome for outcome in found if outcome.epochs < 60]
    assert len(stopped) >= 2 and len({outcome.epochs for outcome in found}) > 1
    assert all(outcome.epochs - 1 - outcome.best_epoch == 3 for outcome in stopped)  # more than the patience


def test_an_epoch_as_good_as_the_best_is_not_better() -> None:
    found = agree([task(2, True), task(1, False)], Recipe(lr=0.0, epochs=50, patience=4))
    assert [(o.epochs, o.best_epoch) for o in found] == [(6, 0)] * 2


def test_the_best_state_is_that_after_the_best_epoch_with_its_buffers() -> None:
    steps = task(2, True)
    recipe = replace(GENTLE, epochs=5)
    outcome = batched.train([steps], recipe)[0]
    assert outcome.best_epoch == 4
    network = seeded(2, 6, True, 0).double()
    sgd = torch.optim.SGD(network.parameters(), lr=GENTLE.lr, momentum=0.5)
    for _ in range(5):
        loss = objective(network, steps.x, steps.y, len(steps.x))
        sgd.zero_grad()
        loss.backward()
        sgd.step()
    assert largest_difference(network, steps.network) < 1e-9
    assert float(network.blocks[0][2].running_mean.abs().max()) > 0


def test_divergence_is_an_outcome_and_touches_nobody_else() -> None:
    wild = task(4, False, seed=1)
    with torch.no_grad():
        wild.network.input.weight.fill_(float("nan"))
    calm = [task(4, False, seed=2), task(3, False, seed=3)]
    alone = [replace(t, network=copy.deepcopy(t.network)) for t in calm]
    found = batched.train([calm[0], wild, calm[1]], replace(GENTLE, epochs=20))
    assert [o.diverged for o in found] == [-1, 0, -1]
    assert found[1].epochs == 1 and found[1].best_epoch == -1
    batched.train(alone, replace(GENTLE, epochs=20))
    assert all(largest_difference(a.network, b.network) < 1e-9 for a, b in zip(alone, calm, strict=True))
    assert train(replace(wild), GENTLE).diverged == 0


def test_gradients_of_every_parameter_against_autograd() -> None:
    depths, tasks = [4, 2], [task(4, True, seed=1), task(2, True, seed=2)]
    now = join([piece_of(t.network) for t in tasks], depths)
    stack = Stack(now, momentum_of(now), depths, True, 60, Recipe())
    count = torch.tensor([60, 60])
    stack.set_batch(torch.stack([t.x for t in tasks]), torch.stack([t.y for t in tasks]), count, count)
    with torch.no_grad():
        loss = stack.step()
    for k, (t, found) in enumerate(zip(tasks, pieces_of(stack.gradient, depths), strict=True)):
        expected = objective(t.network, t.x, t.y, 60)
        expected.backward()
        assert float(loss[k]) == pytest.approx(expected.item())
        named = dict(t.network.named_parameters())
        for name, key in ENDS.items():
            assert torch.allclose(found[name], named[key].grad, atol=1e-9), name
        for name, key in ROWS.items():
            grads = torch.stack([named[f"blocks.{i}.{key}"].grad for i in range(t.network.depth)])
            assert torch.allclose(found[name], grads, atol=1e-9), name
        assert float(found["weight"].abs().max()) > 1e-4


def test_a_ddn_pays_neither_for_deeper_layers_nor_for_unread_heads() -> None:
    depths = [6, 2, 0]
    now = join([piece_of(seeded(d, 4, False, d)) for d in depths], depths)
    stack = Stack(now, momentum_of(now), depths, False, 10, Recipe())
    assert [len(a) for a in stack.a] == [3, 2, 2, 1, 1, 1, 1]
    assert [len(head.a) if head else 0 for head in stack.heads] == [1, 0, 1, 0, 0, 0, 1]
    assert sum(len(layer.weight) for layer in stack.layers) == sum(depths)


def test_join_and_split_are_inverse() -> None:
    depths = [5, 3, 3, 0]
    pieces = [piece_of(seeded(d, 4, True, d)) for d in depths]
    for piece, back in zip(pieces, pieces_of(join(pieces, depths), depths), strict=True):
        assert piece.keys() == {*ENDS, *ROWS, *BUFFERS}
        assert all(torch.equal(piece[name], back[name]) for name in piece)
    network = seeded(5, 4, True, 99)
    load_piece(network, pieces[0])
    assert largest_difference(network, seeded(5, 4, True, 5)) == 0


def test_wide_products_are_the_same_by_either_library(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right, bias = torch.randn(2, 128, 128), torch.randn(2, 128, 40), torch.randn(2, 128, 1)
    found = []
    for wide in (1, 10_000):
        monkeypatch.setattr(products, "WIDE", wide)
        out = torch.empty(2, 128, 40)
        products.multiply(left, right, out=out)
        added = products.multiply_add(left, right, bias, out=torch.empty(2, 128, 40))
        onto = products.multiply_add(left.mT, right, out, out=out.clone())
        found.append((out, added, onto))
    for a, b in zip(*found, strict=True):
        assert torch.allclose(a, b, atol=1e-3)
    assert torch.allclose(found[0][1] - found[0][0], bias.expand(-1, -1, 40), atol=1e-3)


def test_batches_cover_an_epoch_once() -> None:
    generator = torch.Generator().manual_seed(0)
    parts = list(batches(70, 32, generator))
    assert [len(p) for p in parts] == [32, 32, 6]
    assert sorted(torch.cat(parts).tolist()) == list(range(70))
    assert list(batches(32, 32, generator)) == [slice(None)]


class Killed(Exception):
    pass


class Kept:
    """A checkpoint in memory that is due every few epochs, through the file format of the real one."""

    def __init__(self, path: Path, every: int) -> None:
        self.path, self.every, self.asked, self.saves = path, every, 0, 0

    @property
    def due(self) -> bool:
        self.asked += 1
        return self.asked % self.every == 0

    def save(self, state: object) -> None:
        torch.save(state, self.path)
        self.saves += 1

    def load(self) -> object:
        return torch.load(self.path, weights_only=True) if self.path.exists() else None


@pytest.mark.parametrize("batch", [512, 40])
def test_a_killed_training_continues_and_ends_bit_identical(tmp_path: Path, batch: int) -> None:
    recipe = Recipe(epochs=30, patience=8, batch=batch)

    def tasks() -> list[Task]:
        return [task(d, True, seed=d, double=False) for d in (3, 1, 5, 0, 2)]

    whole = tasks()
    expected = batched.train(whole, recipe, slots=2)
    steps: list[int] = []

    def kill(step: int, total: int) -> None:
        steps.append(step)
        if step > total * 0.35:  # both slots are in the middle of a training
            raise Killed

    with pytest.raises(Killed):
        batched.train(tasks(), recipe, slots=2, checkpoint=Kept(tmp_path / "c", 7), progress=kill)
    again, resumed = tasks(), []
    found = batched.train(
        again,
        recipe,
        slots=2,
        checkpoint=Kept(tmp_path / "c", 7),
        progress=lambda step, _: resumed.append(step),
    )
    assert found == expected
    assert resumed[0] > steps[-1] - 2 * 8  # it went on where the last checkpoint stood, with both networks
    for a, b in zip(whole, again, strict=True):
        assert largest_difference(a.network, b.network) == 0
