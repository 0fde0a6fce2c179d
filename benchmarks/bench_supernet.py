"""How fast a super-network trains and ranks: `python benchmarks/bench_supernet.py [--cells 1 5]`.

Against the same steps written straightforwardly with PyTorch's own modules: NCHW, every operation of the path
computed even where `none` multiplies it by zero, memory handed back to the system, a deep copy and an
optimiser of all weights per ranked architecture, images cropped and normalised for each of them. Both sides
live in processes of their own that take turns, so that a busy machine slows both alike; times are one
thread's processor time.
"""

import argparse
import copy
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.data.transform import crop_flip
from harness.runs.allocator import keep_memory
from harness.spaces.nb201 import EDGES
from harness.spaces.nb201_net import Reduction, operation
from harness.supernet import nb201_net
from harness.supernet.ranking import FineTune, Start, fine_tune
from harness.supernet.training import Method, descend
from harness.training.batches import Batches, Pixels

BATCH, UPDATES = 64, 20


class PlainCell(nn.Module):
    """A searched cell as one writes it down: six edges, a sum per node."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.edges = nn.ModuleList(
            nn.ModuleList(operation(op, channels, affine=False, track=False, bias=True) for op in range(5))
            for _ in EDGES
        )

    def forward(self, x: Tensor, row: str) -> Tensor:
        nodes = [x]
        for node in (1, 2, 3):
            incoming = [e for e in range(6) if EDGES[e][1] == node]
            nodes.append(sum(self.edges[e][int(row[e])](nodes[EDGES[e][0]]) for e in incoming))
        return nodes[-1]


class Plain(nn.Module):
    """The same network, the same weights, of torch's own modules, without anything that makes it fast."""

    def __init__(self, network: nb201_net.SuperNetwork) -> None:
        super().__init__()
        *_, flatten, linear = network.head
        self.stem, width = network.stem, linear.in_features
        self.body = nn.ModuleList(
            p if isinstance(p, Reduction) else PlainCell(width // 4 << i // (network.cells // 3 + 1))
            for i, p in enumerate(network.body)
        )
        self.head = nn.Sequential(nn.BatchNorm2d(width), nn.ReLU(), nn.AdaptiveAvgPool2d(1), flatten, linear)
        self.load_state_dict(network.state_dict())

    def forward(self, x: Tensor, path: tuple[str, ...]) -> Tensor:
        rows, x = iter(path), self.stem(x)
        for part in self.body:
            x = part(x, next(rows)) if isinstance(part, PlainCell) else part(x)
        return self.head(x)


class Worker:
    """One side of the comparison: `step` trains once, `rank` fine-tunes one architecture."""

    def __init__(self, fast: bool, cells: int) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.fast, self.rng = fast, np.random.default_rng(0)
        network = nb201_net.build(16, cells, 10)
        self.network = network.to(memory_format=torch.channels_last) if fast else Plain(network)
        self.cells = network.cells
        images = self.rng.integers(0, 256, (BATCH * (UPDATES + 1), 32, 32, 3), dtype=np.uint8)
        self.data = Batches(images, self.rng.integers(0, 10, len(images)), Pixels.of(images))
        self.optimiser = torch.optim.SGD(
            self.network.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=5e-4
        )
        if fast:
            self.start, crops = Start(network), np.random.default_rng(1)
            places = np.arange(len(images)).reshape(-1, BATCH)
            self.shared = [self.data.take(place, crops) for place in places]

    def batch(self, indices: np.ndarray, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        if self.fast:
            return self.data.take(indices, rng)
        x = torch.from_numpy(crop_flip(self.data.x[indices], rng)).permute(0, 3, 1, 2).contiguous()
        mean, deviation = (
            torch.as_tensor(v, dtype=torch.float32)[:, None, None]
            for v in (self.data.pixels.mean, self.data.pixels.deviation)
        )
        return (x.float() - mean) / deviation, torch.from_numpy(self.data.y[indices])

    def step(self) -> None:
        path = tuple(nb201_net.connected(self.rng) for _ in range(self.cells))
        here = self.batch(self.rng.integers(0, len(self.data), BATCH), self.rng)
        if self.fast:
            descend(self.network, self.optimiser, [path], here, Method())
            return
        self.optimiser.zero_grad(set_to_none=False)
        functional.cross_entropy(self.network(here[0], path), here[1]).backward()
        self.optimiser.step()

    def rank(self) -> None:
        path = (nb201_net.uniform(self.rng),) * self.cells
        if self.fast:
            self.start.restore()
            fine_tune(self.network, path, self.shared, FineTune(lr=0.001, updates=UPDATES))
            return
        mine, crops, summed, gradients = copy.deepcopy(self.network), np.random.default_rng(1), 0.0, {}
        sgd = torch.optim.SGD(mine.parameters(), lr=0.001, momentum=0.9, nesterov=True, weight_decay=5e-4)
        for place in np.arange(len(self.data)).reshape(-1, BATCH):
            x, y = self.batch(place, crops)
            sgd.zero_grad()
            loss = functional.cross_entropy(mine(x, path), y)
            loss.backward()
            summed += loss.item()
            for name, p in mine.named_parameters():
                if p.grad is not None:
                    gradients[name] = gradients.get(name, 0) + p.grad
            torch.stack([p.grad.norm() for p in mine.parameters() if p.grad is not None]).norm().item()
            sum(g.abs().sum() for g in gradients.values()).item()
            sgd.step()

    def flops(self) -> float:
        """Floating point operations of a step, on average."""
        with FlopCounterMode(display=False) as counter:
            for _ in range(8):
                self.step()
        return counter.get_total_flops() / 8


def serve(fast: bool, cells: int) -> None:
    """A line in, what to do; a line out, the seconds."""
    if fast:
        keep_memory()
    worker = Worker(fast, cells)
    for line in sys.stdin:
        what, times = line.split()
        if what == "flops":
            print(json.dumps(worker.flops()), flush=True)
            continue
        began = time.process_time()
        for _ in range(int(times)):
            getattr(worker, what)()
        print(json.dumps((time.process_time() - began) / int(times)), flush=True)


class Side:
    """A worker in a process of its own."""

    def __init__(self, name: str, cells: int) -> None:
        words = [sys.executable, __file__, "--serve", name, "--cells", str(cells)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, what: str, times: int) -> float:
        self.process.stdin.write(f"{what} {times}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def peak(size: int = 1536) -> float:
    """GFLOP/s of a matrix product of one thread."""
    torch.set_num_threads(1)
    a, b = torch.randn(size, size), torch.randn(size, size)
    times = []
    for _ in range(5):
        began = time.process_time()
        a @ b
        times.append(time.process_time() - began)
    return 2 * size**3 / min(times) / 1e9


def compare(cells: int, rounds: int) -> None:
    ours, plain = Side("ours", cells), Side("plain", cells)
    for what, times in (("step", 5), ("rank", 1)):
        for side in (ours, plain):
            side.ask(what, times)  # warm
        pairs = [(ours.ask(what, times), plain.ask(what, times)) for _ in range(rounds)]
        fast, slow = np.median(pairs, axis=0)
        ratio = np.median([b / a for a, b in pairs])
        name = "training step" if what == "step" else f"architecture, {UPDATES + 1} minibatches"
        print(f"C16 N{cells}, {name}: ours {fast:.4f} s, plain {slow:.4f} s, ratio {ratio:.2f}")
        if what == "step":
            reached, best = ours.ask("flops", 1) / fast / 1e9, peak()
            share = 100 * reached / best
            print(f"    {reached:.0f} GFLOP/s, {share:.0f} % of the {best:.0f} of a matrix product")
    ours.end()
    plain.end()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--serve", choices=["ours", "plain"], help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve(asked.serve == "ours", asked.cells[0])
    else:
        for count in asked.cells:
            compare(count, asked.rounds)
