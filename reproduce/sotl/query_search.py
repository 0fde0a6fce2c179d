"""Table 4.6, first rows: random search and regularised evolution, simulated on the benchmark's table."""

from collections import deque
from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness.bench import seconds
from harness.runs.ground_truth import ask
from harness.runs.record import Run
from harness.spaces import nb201


@dataclass(frozen=True)
class Answers:
    """Which of the benchmark's accuracies is asked (the arguments of `ask`)."""

    epochs: int
    split: str
    trials: str | int


@dataclass(frozen=True)
class Config:
    """NATS-Bench's protocol: search until the simulated training time is spent, keep the best seen."""

    dataset: str
    source: str
    search: Literal["random", "evolution"]
    reward: Answers  # what the search sees
    final: Answers  # what is reported of its choice
    cost_epochs: int  # epochs of training that a query costs
    timed_epochs: int  # the schedule whose measured time the cost is scaled from (D3)
    budget: float  # seconds of simulated training (D6)
    repeats: int
    population: int = 10
    tournament: int = 3
    budget_everywhere: float | None = None  # instead of `budget`, the same for every image set

    @property
    def seconds(self) -> float:
        return self.budget if self.budget_everywhere is None else self.budget_everywhere


def run(run: Run, config: Config) -> None:
    archs = list(nb201.SPACE.enumerate())
    reward, final = (
        ask(run, "nb201", archs, config.dataset, a.epochs, a.split, a.trials, source=config.source)
        for a in (config.reward, config.final)
    )
    timed = seconds("nb201", archs, config.dataset, config.timed_epochs, source=config.source)
    cost = timed.values * config.cost_epochs / config.timed_epochs
    search = random_search if config.search == "random" else regularised_evolution
    accuracy, queries = [], []
    for repeat in range(config.repeats):
        best, asked = search(reward, cost, config, run.stream(f"repeat {repeat}"))
        accuracy.append(final[best])
        queries.append(asked)
        run.progress(repeat + 1, config.repeats, "repeat")
    run.table("repeats", {"repeat": range(config.repeats), "accuracy": accuracy, "queries": queries})


def random_search(
    reward: np.ndarray, cost: np.ndarray, config: Config, rng: np.random.Generator
) -> tuple[int, int]:
    """Uniform draws with replacement until the budget is spent; (best index, number of queries)."""
    spent, best, asked = 0.0, -1, 0
    while spent < config.seconds:
        arch = int(rng.integers(len(reward)))
        spent += cost[arch]
        asked += 1
        if best < 0 or reward[arch] > reward[best]:
            best = arch
    return best, asked


def regularised_evolution(
    reward: np.ndarray, cost: np.ndarray, config: Config, rng: np.random.Generator
) -> tuple[int, int]:
    """Real et al. 2019, Algorithm 1: the oldest dies, the best of a tournament has a mutated child."""
    population = deque(int(a) for a in rng.integers(len(reward), size=config.population))
    spent, asked = float(cost[list(population)].sum()), config.population
    best = max(population, key=reward.__getitem__)
    while spent < config.seconds:
        tournament = rng.integers(config.population, size=config.tournament)
        child = mutate(max((population[i] for i in tournament), key=reward.__getitem__), rng)
        population.append(child)
        population.popleft()
        spent += cost[child]
        asked += 1
        if reward[child] > reward[best]:
            best = child
    return best, asked


def mutate(arch: int, rng: np.random.Generator) -> int:
    """Another op on one edge; the index is the cell's digits in base 5.

    A node is drawn first, then one of its edges, as NATS-Bench does: the one edge into node 1 changes three
    times as often as each of the three into node 3.
    """
    node = int(rng.integers(3))
    edge = int(rng.choice([i for i, (_, target) in enumerate(nb201.EDGES) if target == node + 1]))
    place = 5 ** (len(nb201.EDGES) - 1 - edge)
    old = arch // place % 5
    return arch + ((old + int(rng.integers(1, 5))) % 5 - old) * place
