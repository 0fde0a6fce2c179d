"""How fast large depthwise kernels train: `python benchmarks/bench_depthwise.py [--batch 128]`.

The plain convolution, forward and both gradients, against `QuickDepthwise`, in turns in one process; then a
whole training step of a small sequential network with either. Medians of one thread's processor time.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from torch import nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.runs.allocator import keep_memory
from harness.supernet.quick_depthwise_net import QuickDepthwise
from reproduce.icw.small_sequential import Space, Stage, standalone

SHAPES = ((48, 16), (96, 8), (192, 4))  # channels, side
STAGES = (Stage(channels=16, stride=2, cells=3), Stage(channels=32, stride=2, cells=3))
SPACE = Space(stem=16, stem_stride=1, first=8, stages=STAGES, head=128)
TURNS = 15


def in_turns(*sides: Callable[[], None]) -> list[float]:
    """Milliseconds of each, alternating, so that a busy machine slows all alike."""
    for side in sides:
        side()
    times: list[list[float]] = [[] for _ in sides]
    for _ in range(TURNS):
        for side, found in zip(sides, times, strict=True):
            start = time.process_time()
            side()
            found.append(1000 * (time.process_time() - start))
    return [median(found) for found in times]


def one(kind: type[nn.Conv2d], channels: int, side: int, kernel: int, stride: int, batch: int) -> Callable:
    conv = kind(channels, channels, kernel, stride, kernel // 2, groups=channels, bias=False)
    x = torch.randn(batch, channels, side, side).to(memory_format=torch.channels_last).requires_grad_()
    gradient = torch.randn_like(conv(x))
    return lambda: torch.autograd.grad(conv(x), (x, conv.weight), gradient)


def step(plain: bool, op: int, batch: int) -> Callable:
    torch.manual_seed(0)
    network = standalone(SPACE, "-".join([str(op)] * 6), 10, 0.0).to(memory_format=torch.channels_last)
    for module in network.modules():
        if plain and isinstance(module, QuickDepthwise):
            module.__class__ = nn.Conv2d
    optimiser = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    x = torch.randn(batch, 3, 16, 16).to(memory_format=torch.channels_last)
    y = torch.randint(0, 10, (batch,))

    def train() -> None:
        optimiser.zero_grad()
        functional.cross_entropy(network(x), y).backward()
        optimiser.step()

    return train


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--batch", type=int, default=128)
    batch = parser.parse_args().batch
    torch.set_num_threads(1)
    keep_memory()
    print("channels side kernel stride   plain ms  quick ms")
    for channels, side in SHAPES:
        for kernel in (5, 7):
            for stride in (1, 2):
                kinds = (nn.Conv2d, QuickDepthwise)
                times = in_turns(*(one(kind, channels, side, kernel, stride, batch) for kind in kinds))
                print(f"{channels:8} {side:4} {kernel:6} {stride:6}   {times[0]:8.2f}  {times[1]:8.2f}")
    print("a whole step of six cells of one op:")
    for op in range(6):
        plain, quick = in_turns(*(step(plain, op, batch) for plain in (True, False)))
        print(f"op {op}: plain {plain:6.1f} ms, quick {quick:6.1f} ms")


if __name__ == "__main__":
    main()
