"""What Algorithm 3 costs beyond its two passes: `python benchmarks/bench_rollout.py [--unroll 20]`.

An update of SoTL-DARTS on NAS-Bench-201 (T steps, Adam's step, weights put back, T steps again) against
2T steps of the same network that are never taken back, and the part of it that saves and restores. Images are
noise. Both take turns in one process; times are medians of one thread's processor time.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.base.settings import build
from harness.runs.allocator import keep_memory
from harness.runs.record import Run
from harness.spec.experiments import find_run
from harness.training.batches import Batches, Pixels
from reproduce.sotl.architecture_slopes import Start
from reproduce.sotl.gradient_search import Config
from reproduce.sotl.gradient_steps import SearchLoop
from reproduce.sotl.mixed_networks import MixedNetwork


def search(folder: Path, unroll: int) -> SearchLoop:
    spec = find_run("sotl/search_nb201/sotl/cifar10/s0", "cpu")
    changed = {"unroll": unroll, "batch_size": 64, "minibatches": None}
    config = build(Config, {**spec.config, **changed}, spec.id)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (64 * unroll, 8, 8, 3), np.uint8)
    images = Batches(x, rng.integers(10, size=len(x)), Pixels.of(x), pad=1)
    run = Run(spec, folder)
    loop = SearchLoop(run, config, MixedNetwork(run, config, 10), images, images)
    loop._curvature = dict
    loop.one()  # momentum is there, memory is taken
    return loop


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unroll", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_memory()
    with tempfile.TemporaryDirectory() as folder:
        loop = search(Path(folder), options.unroll)
        steps = range(options.unroll)

        def onwards() -> None:
            """T steps that also give the architecture's gradient, and T that do not, one after the other."""
            kept, Start.restore = Start.restore, lambda self: None
            loop.slopes(steps)
            Start.restore = kept
            for step in steps:
                loop.train_on(step)

        def whole() -> None:
            loop._move(loop.slopes(steps))
            for step in steps:
                loop.train_on(step)

        def aside() -> None:
            Start(loop.network, loop.optimiser, momentum=True).restore()

        taken = {work.__name__: [] for work in (whole, onwards, aside)}
        for _ in range(options.rounds):
            for work in (whole, onwards, aside):
                taken[work.__name__].append(seconds(work))
        median = {name: float(np.median(times)) for name, times in taken.items()}
        start = Start(loop.network, loop.optimiser, momentum=True)
        size = sum(value.nbytes for value in [*start.kept, *start.buffers.values()])
    print(f"an update with T = {options.unroll}: {1e3 * median['whole']:.0f} ms")
    print(f"2T steps onwards: {1e3 * median['onwards']:.0f} ms")
    share = 100 * median["aside"] / median["onwards"]
    print(f"saving and restoring: {1e3 * median['aside']:.2f} ms, {share:.2f} %")
    print(f"memory for weights, statistics and momentum: {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
