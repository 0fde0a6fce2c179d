"""What a gradient through T steps costs, in time and memory: `python benchmarks/bench_unrolled.py [T]`.

Fully connected networks on random images, batch 128, one thread, the gradient by the learning rate. Each
measurement is a forked process of its own: processor seconds, and how far its resident memory rose above
where it began; the smaller of two. The ways take turns. "Eq. 3.20 as written": one loss after the other,
each with its own way back. "one graph": nothing is run twice, and the graph of all steps is held. The
exponent of memory is of what comes on top of training alone.
"""

import math
import os
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, linear

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.training.unrolled import Batch, Outer, State, Step, forward_mode, sgd, unrolled
from reproduce.sotl import perceptron

BATCH, PIXELS, CLASSES = 128, 784, 10
LENGTHS = (4, 8, 16, 32, 64)
MINIMAL = 10  # MB, below which a growth is not told from what the allocator does
Task = tuple[Step, State, Outer, list[Batch]]


def mlp(state: State, outer: Outer, batch: Batch) -> Tensor:
    x, y = batch
    for layer in (1, 2):
        x = torch.relu(linear(x, state[f"w{layer}"], state[f"b{layer}"]))
    return cross_entropy(linear(x, state["w3"], state["b3"]), y)


def task(hidden: int, steps: int) -> Task:
    torch.manual_seed(0)
    state = {}
    for layer, (i, o) in enumerate([(PIXELS, hidden), (hidden, hidden), (hidden, CLASSES)], start=1):
        state |= {f"w{layer}": torch.randn(o, i) / math.sqrt(i), f"b{layer}": torch.zeros(o)}
    batches = [(torch.randn(BATCH, PIXELS), torch.randint(CLASSES, (BATCH,))) for _ in range(steps)]
    return sgd(mlp, lambda outer: outer["lr"]), state, {"lr": torch.tensor(1e-3)}, batches


def train(step: Step, state: State, outer: Outer, batches: list[Batch]) -> None:
    for batch in batches:
        state, _ = step(state, outer, batch)


def one_by_one(step: Step, state: State, outer: Outer, batches: list[Batch]) -> None:
    """Eq. 3.20 as written: every loss goes all the way back by itself."""
    for t in range(len(batches)):
        unrolled(step, state, outer, batches[: t + 1], weights=[0.0] * t + [1.0], keep=1)


def one_graph(step: Step, state: State, outer: Outer, batches: list[Batch]) -> None:
    unrolled(step, state, outer, batches, keep=len(batches))


WAYS: dict[str, Callable[..., object]] = {
    "training alone": train,
    "first order, Eq. 3.22": partial(unrolled, reach=0),
    "exact, √T states": unrolled,
    "exact, all states": partial(unrolled, keep=1),
    "exact, one graph": one_graph,
    "exact, forwards": forward_mode,
    "reach 1": partial(unrolled, reach=1),
    "Eq. 3.20 as written": one_by_one,
}


def measured(call: Callable[[], object]) -> tuple[float, float]:
    """Processor seconds of a call, and MB by which its process grew."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        before, start = _peak(), time.process_time()
        call()
        os.write(writer, f"{time.process_time() - start} {_peak() - before}".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as told:
        seconds, grown = map(float, told.read().split())
    os.waitpid(child, 0)
    return seconds, grown


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def exponent(values: list[float]) -> float:
    """The slope of a line through log(value) against log(T), over the three largest T."""
    x, y = [math.log(t) for t in LENGTHS[-3:]], [math.log(v) for v in values[-3:]]
    middle = sum(x) / len(x)
    return sum((a - middle) * b for a, b in zip(x, y, strict=True)) / sum((a - middle) ** 2 for a in x)


def growth(hidden: int = 300, rounds: int = 2) -> None:
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    grown: dict[str, list[float]] = {name: [] for name in WAYS}
    for steps in LENGTHS:
        given = task(hidden, steps)
        train(*given)  # what is allocated once is there before the forks
        found = [[measured(partial(way, *given)) for way in WAYS.values()] for _ in range(rounds)]
        for name, *measurements in zip(WAYS, *found, strict=True):
            seconds[name].append(min(s for s, _ in measurements))
            grown[name].append(min(mb for _, mb in measurements))
    state = sum(w.numel() for w in given[1].values()) * 4 / 2**20
    print(f"784-{hidden}-{hidden}-10: a state has {state:.1f} MB; exponents of T over {LENGTHS[-3:]}")
    print(f"{'ms per step':24}" + "".join(f"{f'T={t}':>9}" for t in LENGTHS) + f"{'time ~':>10}")
    for name, values in seconds.items():
        cells = "".join(f"{1e3 * s / t:9.2f}" for s, t in zip(values, LENGTHS, strict=True))
        print(f"{name:24}{cells}{f'T^{exponent(values):.2f}':>10}")
    print(f"{'MB above the start':24}" + "".join(f"{f'T={t}':>9}" for t in LENGTHS) + f"{'memory ~':>10}")
    for name, values in grown.items():
        on_top = [mb - alone for mb, alone in zip(values, grown["training alone"], strict=True)]
        told = f"T^{exponent(on_top):.2f}" if min(on_top) > MINIMAL else "constant"
        print(f"{name:24}" + "".join(f"{mb:9.1f}" for mb in values) + f"{told:>10}")


def large(steps: int, hidden: int = 1000) -> None:
    given = task(hidden, steps)
    train(*given[:3], given[3][:1])
    print(f"784-{hidden}-{hidden}-10, T={steps}: seconds, and MB above the start")
    ways = {
        name: partial(WAYS[name], *given)
        for name in ("training alone", "first order, Eq. 3.22", "exact, √T states", "exact, forwards")
    }
    network = perceptron.Perceptron((PIXELS, hidden, hidden, CLASSES))
    words = network.start(0), 1e-3, given[3], perceptron.Goal([1.0] * steps)
    ways["written out, forwards"] = partial(network.hypergradient, *words)
    for name, way in ways.items():
        seconds, grown = measured(way)
        print(f"{name:24}{seconds:9.2f} s{grown:9.0f} MB{1e3 * seconds / steps:9.1f} ms per step", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    growth()
    large(int(sys.argv[1]) if len(sys.argv) > 1 else 250)
