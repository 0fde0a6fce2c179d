"""How fast wired networks train: `python benchmarks/bench_wired.py [--width 1] [--threads 1] [--side 32]`.

A step of NSA, NSA-i and NSA-id beside one of WRN-28-10† of the same code, and beside the plain way, in which
each node sums the masked outputs of all nodes before it; in turns in one process, medians: of one thread its
processor's time. Then what each keeps for its backward pass, and how fast convolutions are by themselves.
Takes 2 minutes and less than 2 GB at the defaults.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from torch import Tensor, nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.runs.allocator import keep_memory
from reproduce.nsa.network import Shape, WiredNet
from reproduce.nsa.norms import Norm
from reproduce.nsa.training import classification
from reproduce.nsa.wiring import residual, wirings

KINDS = {  # architectures, whether each image has one, and what belongs to each of them
    "WRN-28-10†": (1, False, {"learn_aggregation": True}),
    "NSA, S = 500": (500, False, {}),
    "NSA-i, S = 500": (500, True, {}),
    "NSA-i, S = 5": (5, True, {}),
    "NSA-id, weights of edges, S = 500": (500, True, {"learn_aggregation": True}),
    "NSA-id, S = 5": (5, True, {"learn_aggregation": True, "conditional_norm": True}),
}
TURNS = 7


class Plain(WiredNet):
    """The same network; each node multiplies all outputs before it by a mask and sums them."""

    def forward(self, x: Tensor, which: Tensor) -> tuple[Tensor, Tensor]:
        which = which.expand(len(x))
        weights = self.weights(which)
        x = self._normed(self.stem_norm, self.stem(x), which)
        for i, stage in enumerate(self.stages):
            second = x
            outputs = [x]
            for row in range(len(stage.convs) + 1):
                masks = weights[:, i, row, :, None, None, None]
                summed = sum(outputs[j] * masks[:, j] for j in range(row + 1))
                if row < len(stage.convs):
                    outputs.append(self._normed(stage.norms[row], stage.convs[row](summed.relu()), which))
            x = summed
            if i < 2:
                transition = self.transitions[i]
                x = functional.avg_pool2d(transition.conv(x.relu()), 2)
                x = self._normed(transition.norm, x, which)
        return self.classifier(x.relu().mean((2, 3))), self.second(second)

    def _normed(self, norm: Norm, x: Tensor, which: Tensor) -> Tensor:
        return norm(x, which if len(norm.weight) > 1 else which[:1])


def step(kind: str, plain: bool, width: int, side: int, batch: int) -> Callable[[], None]:
    count, each, more = KINDS[kind]
    torch.manual_seed(0)
    shape = Shape(width=width, side=side, **more)
    wired = residual() if count == 1 else wirings(1, count)
    network = (Plain if plain else WiredNet)(shape, wired).to(memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    x = torch.randn(batch, 3, side, side).to(memory_format=torch.channels_last)
    y = torch.randint(0, 10, (batch,))

    def train() -> None:
        optimiser.zero_grad()
        which = torch.randint(0, count, (batch if each else 1,))
        classification(network(x, which), y, 0.1)[0].backward()
        optimiser.step()

    return train


def kept(work: Callable[[], None]) -> float:
    """Megabytes that forward passes keep for backward passes, each storage counted once."""
    found: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        found[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        work()
    return sum(found.values()) / 2**20


def seconds(work: Callable[[], object]) -> float:
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    start = clock()
    work()
    return clock() - start


def convolutions(width: int, side: int, batch: int) -> tuple[float, list[str]]:
    """Seconds that all convolutions of a step take by themselves, and GFLOP/s by shape."""
    total, lines = 0.0, []
    stages = [(16 * width * 2**stage, side // 2**stage, 8, batch) for stage in range(3)]
    for channels, of_side, times, images in [*stages, (256, side // 2, 0, 16)]:
        took = _convolution(channels, of_side, images)
        speed = 3 * 2 * images * of_side**2 * 9 * channels**2 / took / 1e9
        total += times * took
        told = f"{times} times" if times else "for comparison"
        lines.append(f"{channels:4} channels, {of_side:2} pixels: {speed:6.1f} GFLOP/s, {told}")
    return total, lines


def _convolution(channels: int, side: int, images: int) -> float:
    """Forward, and both gradients."""
    conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False).to(memory_format=torch.channels_last)
    x = torch.randn(images, channels, side, side).to(memory_format=torch.channels_last).requires_grad_()
    slope = torch.randn_like(conv(x))
    return median(
        seconds(lambda: torch.autograd.grad(conv(x), (x, conv.weight), slope)) for _ in range(TURNS)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, usual in (("width", 1), ("threads", 1), ("side", 32), ("batch", 64)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    keep_memory()
    size = given.width, given.side, given.batch
    sides = {(kind, plain): step(kind, plain, *size) for kind in KINDS for plain in (False, True)}
    memory = {side: kept(work) for side, work in sides.items()}
    times: dict[tuple[str, bool], list[float]] = {side: [] for side in sides}
    for _ in range(TURNS):
        for side, work in sides.items():
            times[side].append(seconds(work))
    first = times["WRN-28-10†", False]
    print(f"{'':34} {'ours s':>7} {'plain s':>8} {'of WRN†':>8} {'kept MB':>8} {'plain MB':>9}")
    for kind in KINDS:
        ours, plain = (times[kind, way] for way in (False, True))
        ratio = median(a / b for a, b in zip(ours, first, strict=True))  # of neighbours in time
        mb = f"{memory[kind, False]:8.0f} {memory[kind, True]:9.0f}"
        print(f"{kind:34} {median(ours):7.3f} {median(plain):8.3f} {ratio:8.2f} {mb}")
    total, lines = convolutions(*size)
    print(f"convolutions of 24 nodes by themselves: {total / median(first):.0%} of a step of WRN-28-10†")
    print(*lines, sep="\n")
    print(f"largest memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB")


if __name__ == "__main__":
    main()
