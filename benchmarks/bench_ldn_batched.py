"""How fast fully connected networks train, one by one and batched: `python benchmarks/bench_ldn_batched.py`.

Width 20, 200 points, one thread. The limit is the matrix products alone: three per layer and iteration, of
the same networks. The three are timed in turns, so that a busy machine slows all of them alike.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from reproduce.ldn import networks, pieces, stacked

WIDTH, POINTS = 20, 200


def points(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(POINTS, 2)
    return x.expand(count, -1, -1), (x[:, 0] > 0).long().expand(count, -1)


def sequential(depth: int, learnt: bool) -> Callable[[], object]:
    """One iteration of the reference, without its bookkeeping."""
    network = networks.seeded(depth, WIDTH, learnt, 0)
    x, y = (t[0] for t in points(1))
    sgd = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.5)

    def step() -> float:
        loss = networks.objective(network, x, y, POINTS)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        return loss.item()

    return step


def batched(depth: int, learnt: bool, models: int) -> Callable[[], object]:
    """One iteration of all models of a stack."""
    depths = [depth] * models
    parts = [pieces.piece_of(networks.seeded(depth, WIDTH, learnt, seed)) for seed in range(models)]
    now = pieces.join(parts, depths)
    recipe = networks.Recipe()
    stack = stacked.Stack(now, pieces.momentum_of(now), depths, learnt, POINTS, recipe)
    count = torch.full((models,), POINTS)
    stack.set_batch(*points(models), count, count)

    def step() -> list[float]:
        with torch.no_grad():
            return stack.step().tolist()

    return step


def limit(depth: int, models: int) -> Callable[[], object]:
    """The matrix products of the layers' forward and backward, and nothing else."""
    weight = torch.randn(models, WIDTH, WIDTH)
    a, z = (torch.randn(models, WIDTH, POINTS) for _ in range(2))
    product, gradient = torch.empty_like(a), torch.empty_like(weight)

    def step() -> None:
        for _ in range(depth):
            torch.bmm(weight, a, out=product)
            torch.bmm(z, a.mT, out=gradient)
            torch.bmm(weight.mT, z, out=product)

    return step


def in_turns(steps: dict[str, Callable[[], object]], rounds: int = 9, least: float = 0.1) -> dict[str, float]:
    """Median seconds per call of each, measured round by round."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            step()
            count, start = 0, time.perf_counter()
            while time.perf_counter() - start < least:
                step()
                count += 1
            times[name].append((time.perf_counter() - start) / count)
    return {name: sorted(found)[len(found) // 2] for name, found in times.items()}


def main() -> None:
    torch.set_num_threads(1)
    print(f"{'ms per network and iteration':30} {'one by one':>11} {'batched':>9} {'times':>6} {'limit':>7}")
    for depth in (5, 20, 50):
        for learnt in (True, False):
            for models in map(int, sys.argv[1:] or ["16"]):
                steps = {
                    "one": sequential(depth, learnt),
                    "batched": batched(depth, learnt, models),
                    "limit": limit(depth, models),
                }
                found = in_turns(steps)
                one, many, least = found["one"], found["batched"] / models, found["limit"] / models
                name = f"{'LDN' if learnt else 'DDN'} depth {depth}, {models} networks"
                print(
                    f"{name:30} {one * 1e3:11.3f} {many * 1e3:9.3f} {one / many:6.1f} {least * 1e3:7.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
