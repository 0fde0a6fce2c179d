"""Training of many fully connected networks as one program: early stopping, compaction, checkpoints.

Each network ends as `networks.train` would leave it, whichever networks it shares a stack with.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from harness.runs.checkpoint import Checkpoint
from reproduce.ldn.networks import Outcome, Recipe, Task, batches
from reproduce.ldn.pieces import ENDS, Piece, join, load_piece, momentum_of, piece_of, split
from reproduce.ldn.stacked import Stack

SLOTS = (
    16  # networks trained side by side: with more the cache is too small, with fewer the calls cost too much
)
Watch = Callable[[int, Callable[[], None]], None]


@dataclass
class Member:
    """A network in training: where it stands, and the state of its best epoch."""

    task: int
    now: Piece
    momentum: Piece
    best: Piece
    order: Tensor  # the state of the generator of its batches
    epochs: int = 0
    elbo: float = -math.inf
    best_epoch: int = -1


def train(
    tasks: Sequence[Task],
    recipe: Recipe,
    *,
    slots: int = SLOTS,
    checkpoint: Checkpoint | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Outcome]:
    """Train every task's network in place; the outcomes in the tasks' order."""
    ended: dict[int, Outcome] = {}
    members: list[Member] = []
    if checkpoint and (saved := checkpoint.load()):
        for index, (outcome, piece) in saved["ended"].items():
            ended[index] = Outcome(**outcome)
            load_piece(tasks[index].network, piece)
        members = [Member(**fields) for fields in saved["members"]]
    begun = {*ended, *(m.task for m in members)}
    waiting = sorted(set(range(len(tasks))) - begun, key=lambda i: (*_place(tasks[i], recipe), i))

    def watch(epochs: int, sync: Callable[[], None]) -> None:
        if progress:
            progress(len(ended) * recipe.epochs + epochs, len(tasks) * recipe.epochs)
        if checkpoint and checkpoint.due:
            sync()
            done = {i: (asdict(outcome), piece_of(tasks[i].network)) for i, outcome in ended.items()}
            checkpoint.save({"ended": done, "members": [vars(m) for m in members]})

    with torch.no_grad():
        while members or waiting:
            kind = _kind(tasks[members[0].task if members else waiting[0]], recipe)
            while waiting and len(members) < slots and _kind(tasks[waiting[0]], recipe) == kind:
                members.append(_begin(waiting.pop(0), tasks))
            for member, diverged in _until_one_ends(members, tasks, recipe, watch):
                members.remove(member)
                load_piece(tasks[member.task].network, member.best)
                ended[member.task] = Outcome(member.epochs, member.best_epoch, member.elbo, diverged)
    return [ended[i] for i in range(len(tasks))]


def _kind(task: Task, recipe: Recipe) -> tuple[int, bool, int]:
    """Networks that can share a stack: one width, all learnt or none, equally many batches an epoch."""
    return task.network.width, task.network.learnt, -(-len(task.x) // recipe.batch)


def _place(task: Task, recipe: Recipe) -> tuple[Any, ...]:
    """Kind by kind, deepest first, so that whoever joins a stack is no deeper than who is there."""
    return *_kind(task, recipe), -task.network.depth


def _begin(index: int, tasks: Sequence[Task]) -> Member:
    now = piece_of(tasks[index].network)
    order = torch.Generator().manual_seed(tasks[index].seed).get_state()
    return Member(index, now, momentum_of(now), {k: v.clone() for k, v in now.items()}, order)


def _until_one_ends(
    members: list[Member], tasks: Sequence[Task], recipe: Recipe, watch: Watch
) -> list[tuple[Member, int]]:
    """Train all members epoch by epoch; those that ended, with the epoch of their divergence or -1."""
    mine = [tasks[m.task] for m in members]
    depths = [task.network.depth for task in mine]
    now, momentum, best = (
        join([getattr(m, name) for m in members], depths) for name in ("now", "momentum", "best")
    )
    points = min(recipe.batch, max(len(task.x) for task in mine))
    stack = Stack(now, momentum, depths, mine[0].network.learnt, points, recipe)
    epochs, elbo, best_epoch = (
        np.array([getattr(m, name) for m in members]) for name in ("epochs", "elbo", "best_epoch")
    )
    epoch_of = _feed(stack, mine, members, points)

    def sync() -> None:
        for name, whole in (("now", now), ("momentum", momentum), ("best", best)):
            for member, piece in zip(members, split(whole, depths), strict=True):
                setattr(member, name, piece)
        for k, member in enumerate(members):
            member.epochs, member.best_epoch, member.elbo = int(epochs[k]), int(best_epoch[k]), float(elbo[k])

    while True:
        reached = -epoch_of()
        better = reached > elbo
        elbo, best_epoch = np.where(better, reached, elbo), np.where(better, epochs, best_epoch)
        _keep(best, now, better, stack.model)
        impatient = ~better & (epochs - best_epoch > recipe.patience)
        diverged = np.where(np.isfinite(reached), -1, epochs)
        epochs += 1
        stop = impatient | (diverged >= 0) | (epochs >= recipe.epochs)
        if stop.any():
            sync()
            return [(members[k], int(diverged[k])) for k in np.flatnonzero(stop)]
        watch(int(epochs.sum()), sync)


def _keep(best: Piece, now: Piece, better: np.ndarray, model: Tensor) -> None:
    """Where a network is better than ever its state becomes its best; nearly always that is all of them."""
    if better.all():
        for name, tensor in best.items():
            tensor.copy_(now[name])
    elif better.any():
        chosen = torch.from_numpy(better)
        for name, tensor in best.items():
            rows = chosen if name in ENDS else chosen[model]
            tensor[rows] = now[name][rows]


def _feed(stack: Stack, tasks: list[Task], members: list[Member], points: int) -> Callable[[], np.ndarray]:
    """A function that trains one epoch and returns each network's objective, its minibatches' mean (D20)."""
    k, sizes = len(tasks), torch.tensor([len(task.x) for task in tasks])
    x, y = torch.zeros(k, points, 2, dtype=tasks[0].x.dtype), torch.zeros(k, points, dtype=torch.long)

    def give(chosen: list[Tensor | slice]) -> None:
        counts = []
        for row, (task, index) in enumerate(zip(tasks, chosen, strict=True)):
            part = task.x[index]
            x[row, : len(part)], y[row, : len(part)] = part, task.y[index]
            counts.append(len(part))
        stack.set_batch(x, y, torch.tensor(counts), sizes)

    if int(sizes.max()) <= stack.recipe.batch:
        give([slice(None)] * k)
        return lambda: stack.step().double().numpy()
    generators = [torch.Generator() for _ in members]
    for generator, member in zip(generators, members, strict=True):
        generator.set_state(member.order)

    def epoch() -> np.ndarray:
        total = torch.zeros(k, dtype=torch.float64)
        orders = [batches(len(t.x), stack.recipe.batch, g) for t, g in zip(tasks, generators, strict=True)]
        steps = list(zip(*orders, strict=True))
        for chosen in steps:
            give(list(chosen))
            total += stack.step().double()
        for generator, member in zip(generators, members, strict=True):
            member.order = generator.get_state()
        return (total / len(steps)).numpy()

    return epoch
