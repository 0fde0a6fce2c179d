"""What weights that depend on previous choices cost per step: `python benchmarks/bench_dependent.py`.

A step is forward, backward and SGD with one path, drawn uniformly and the same for all kinds, on a minibatch
of 64, by one thread, images with channels last, C=16 and two cells per stage. All kinds live in one process
and take turns in random order, so that a busy machine slows all alike. Times are processor time: the median
of the baseline, and of the others the median over rounds of their time in a round over the baseline's, beside
it between what it lies at 95 % (by order statistics). Split networks have all their copies. The paper's
overheads (Table 1, on a GPU) are 18 to 38 % for biases, 1 to 21 % for split weights, 1 % in a chain.

Bytes of a network are its weights, gradients, momenta and copies; bytes kept are those of the activations
that wait for the backward pass, in the mean of ten paths.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.runs.allocator import keep_memory
from harness.spaces import fairnas_net
from harness.spaces.fairnas import CELLS, Cell
from harness.supernet import dependent_nb201_net, sequential_net
from harness.supernet.dependent import Dependence
from harness.supernet.nb201_net import Skeleton
from harness.supernet.sampling import Draw, drawing
from harness.supernet.sub_space import SubSpace
from harness.supernet.training import Method, descend
from harness.training.optimisers import SGD, weight_optimiser

KINDS = {
    "baseline": Dependence(),
    "bias D=1": Dependence(kind="bias"),
    "bias D=2": Dependence(kind="bias", depth=2),
    "bias D=3": Dependence(kind="bias", depth=3),
    "split": Dependence(kind="split"),
}
FURTHER = {  # appendix D
    "bias sum": Dependence(kind="bias_sum"),
    "attention": Dependence(kind="attention"),
    "excitation": Dependence(kind="excitation"),
}
SETUP = SGD(0.025, 1e-5, 0.9, 3e-4, decay_vectors=False)
SPACES = {"full": "01234", "no-zero": "1234", "only-conv": "23"}
SMALL = tuple(Cell(*sizes) for sizes in ((8, 16, 2), (16, 16, 1), (16, 16, 1), (16, 32, 2), (32, 32, 1)))


class Side:
    """One kind of super-network and its optimiser."""

    def __init__(self, build: Callable[[Dependence], nn.Module], dependence: Dependence) -> None:
        torch.manual_seed(0)
        self.network = build(dependence).to(memory_format=torch.channels_last)
        self.optimiser = weight_optimiser(self.network, SETUP)
        if dependence.kind == "split":
            self.network.split(self.optimiser)
            self.network.complete()

    def step(self, path: tuple, batch: tuple[torch.Tensor, torch.Tensor]) -> float:
        began = time.process_time()
        descend(self.network, self.optimiser, [path], batch, Method())
        return time.process_time() - began

    def bytes(self) -> int:
        first = sum(p.numel() for p in self.network.parameters())
        own = self.network.additional_parameters() if self.network.apart is not None else 0
        return 4 * (3 * first + own)

    def kept(self, paths: list[tuple], x: torch.Tensor) -> float:
        """Bytes of activations that wait for the backward pass."""
        total = 0
        for path in paths:
            found: dict[int, int] = {}

            def note(tensor: torch.Tensor, found: dict[int, int] = found) -> torch.Tensor:
                found[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
                return tensor

            with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
                output = self.network(x, path)  # lives until its memory is counted
            for parameter in self.network.parameters():
                found.pop(parameter.untyped_storage().data_ptr(), None)
            total += sum(found.values())
            del output
        return total / len(paths)


def nb201(dependence: Dependence) -> nn.Module:
    return dependent_nb201_net.SuperNetwork(Skeleton(cells=2), dependence)


def chain(cells: tuple[Cell, ...]) -> Callable[[Dependence], nn.Module]:
    """FairNAS' blocks in a chain, without what its stem and head would add."""

    def build(dependence: Dependence) -> nn.Module:
        stem = nn.Sequential(nn.Conv2d(3, cells[0].inputs, 3, padding=1, bias=False))
        layers = [list(fairnas_net.choices(cell)) for cell in cells]
        head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(cells[-1].outputs, 10))
        return sequential_net.SuperNetwork(stem, layers, head, [c.inputs for c in cells], dependence)

    return build


def compare(
    title: str,
    build: Callable[[Dependence], nn.Module],
    kinds: dict[str, Dependence],
    draw: Draw,
    side: int,
    batch_size: int,
    rounds: int,
) -> None:
    sides = {name: Side(build, dependence) for name, dependence in kinds.items()}
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(batch_size, 3, side, side, generator=generator).to(memory_format=torch.channels_last)
    batch = x, torch.randint(10, (batch_size,), generator=generator)
    paths, turns, warm = np.random.default_rng(0), np.random.default_rng(1), 5
    names, times = list(sides), np.zeros((rounds + warm, len(sides)))
    for row in times:
        (path,) = draw(paths)
        for i in turns.permutation(len(names)):
            row[i] = sides[names[i]].step(path, batch)
    times = times[warm:]
    print(f"\n{title}, {side}x{side}, batch {batch_size}, {rounds} rounds")
    print(f"{'':10s}{'per step':>12s}{'':>14s}{'more weights':>14s}{'network':>11s}{'kept':>10s}")
    seen = [draw(np.random.default_rng(i))[0] for i in range(10)]
    for i, (name, one) in enumerate(sides.items()):
        ratios = np.sort(100 * (times[:, i] / times[:, 0] - 1))
        off = round(0.98 * rounds**0.5)  # ranks around the median
        low, high = ratios[max(0, rounds // 2 - off)], ratios[min(rounds - 1, rounds // 2 + off)]
        spent = f"{1e3 * np.median(times[:, 0]):.1f} ms" if i == 0 else f"{np.median(ratios):+.1f} %"
        around = "" if i == 0 else f"{low:+.1f}..{high:+.1f}"
        more, held = one.network.additional_parameters(), one.bytes() / 2**20
        kept = one.kept(seen, x) / 2**20
        print(f"{name:10s}{spent:>12s}{around:>14s}{more:>14,d}{held:>8.1f} MB{kept:>7.1f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--sides", type=int, nargs="+", default=[32, 16])
    parser.add_argument("--spaces", nargs="+", choices=[*SPACES, "chain", "fairnas"])
    parser.add_argument("--further", action="store_true", help="the variants of appendix D as well")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} thread, memory: {keep_memory()}")
    kinds = {**KINDS, **(FURTHER if asked.further else {})}
    spaces = asked.spaces or [*SPACES, "chain", "fairnas"]
    for side in asked.sides:
        for name in spaces:
            if name in SPACES:
                draw = drawing(SubSpace(SPACES[name]), "shared", 1, 6)
                compare(f"NAS-Bench-201, {name}", nb201, kinds, draw, side, 64, asked.rounds)
            elif name == "chain":
                draw = drawing(sequential_net.Choices([6] * len(SMALL)), "shared", 1, 1)
                title = f"chain of {len(SMALL)} inverted residuals"
                compare(title, chain(SMALL), kinds, draw, side, 64, asked.rounds)
    if "fairnas" in spaces:
        draw = drawing(sequential_net.Choices([6] * len(CELLS)), "shared", 1, 1)
        one = {name: kinds[name] for name in ("baseline", "bias D=1", "split")}
        compare("FairNAS, 19 inverted residuals", chain(CELLS), one, draw, 32, 16, max(5, asked.rounds // 5))


if __name__ == "__main__":
    main()
