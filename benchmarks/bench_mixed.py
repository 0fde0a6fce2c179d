"""How fast mixed networks train: `python benchmarks/bench_mixed.py [--spaces nb201 darts nb1shot1-3]`.

A step (forward, loss, gradients of weights and of architecture parameters, SGD) of `harness.supernet.mixed`
against the plain way: torch's own modules, every operation of every edge called for itself, times its weight,
summed. Plain is measured in both memory formats; NCHW is what the authors' code has. All sides share their
weights, take turns in one process, and are measured as medians of one thread's processor time.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "tests"))

from plain_mixed import plain_darts, plain_nb1shot1, plain_nb201, with_torch_s_modules

from harness.runs.allocator import keep_memory
from harness.supernet import darts_net, mixed, nb1shot1_net, nb201_net
from harness.supernet.relaxed import over, softmax, start

BATCH, SIDE = 64, 32


def sides(space: str, cells: int) -> tuple[nn.Module, nn.Module, Callable]:
    """One-shot network, its mixed network, the plain way to mix."""
    if space == "nb201":
        network = nb201_net.build(16, cells, 10)
        return network, mixed.NB201(network), plain_nb201
    if space == "darts":
        network = darts_net.SuperNetwork(darts_net.Skeleton(layers=8 * cells // 5 if cells > 1 else 3))
        return network, mixed.Darts(network), plain_darts
    network = nb1shot1_net.SuperNetwork(int(space[-1]), nb1shot1_net.Skeleton(cells=1 if cells == 1 else 3))
    return network, mixed.NB1Shot1(network), plain_nb1shot1


def step(forward: Callable, network: nn.Module, space: str, form: torch.memory_format) -> Callable[[], None]:
    rng = np.random.default_rng(0)
    parameters = over(start(space, rng), lambda part: part.float().requires_grad_())
    optimiser = torch.optim.SGD(network.parameters(), lr=0.025, momentum=0.9, weight_decay=5e-4)
    x = torch.from_numpy(rng.standard_normal((BATCH, 3, SIDE, SIDE))).float().contiguous(memory_format=form)
    y = torch.from_numpy(rng.integers(10, size=BATCH))

    def train() -> None:
        optimiser.zero_grad(set_to_none=False)
        functional.cross_entropy(forward(x, over(parameters, softmax)), y).backward()
        optimiser.step()

    return train


def compare(space: str, cells: int, rounds: int) -> None:
    torch.manual_seed(0)
    network, ours, way = sides(space, cells)
    last = torch.channels_last
    steps = []
    for form in (torch.contiguous_format, last):
        other = with_torch_s_modules(network).to(memory_format=form)
        steps.append(step(lambda x, w, other=other: way(other, x, w), other, space, form))
    steps.append(step(ours.to(memory_format=last), network, space, last))
    times = np.empty((rounds + 1, 3))
    for row in times:
        for side, train in enumerate(steps):
            began = time.process_time()
            train()
            row[side] = time.process_time() - began
    nchw, nhwc, fast = np.median(times[1:], axis=0)
    ratios = np.median(times[1:, :2] / times[1:, 2:], axis=0)
    print(f"{space}, {cells} cells: plain {nchw:.3f} s, plain channels_last {nhwc:.3f} s, ours {fast:.3f} s,")
    print(f"    ratios {ratios[0]:.2f} and {ratios[1]:.2f}; convolutions are {share(steps[2]):.0%} of ours")


def share(train: Callable[[], None]) -> float:
    """Of a step, what convolutions take."""
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        train()
    each = {event.key: event.self_cpu_time_total for event in seen.key_averages()}
    return sum(t for name, t in each.items() if "convolution" in name) / sum(each.values())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spaces", nargs="+", default=["nb201", "darts", "nb1shot1-3"])
    parser.add_argument("--cells", type=int, nargs="+", default=[1], help="per stage, 1 or 5 (darts: 3 or 8)")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    keep_memory()
    for name in asked.spaces:
        for count in asked.cells:
            compare(name, count, asked.rounds)
