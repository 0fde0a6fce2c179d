"""What masks cost, and what merging candidates gains: `python benchmarks/bench_pgnas.py`.

One thread, processor seconds, shake-shake networks of one block per stage, images of 16×16 pixels. A step
without masks has weight decay in place of the regulariser. Candidates are scored by masks that the network
wears one after the other, each built without what it drops, and merged (the two branches of a block as one,
masks and norms folded into weights, dropped channels left out by sixteens). What is compared is timed in
turns.
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.runs.allocator import keep_memory
from reproduce.pgnas import posterior
from reproduce.pgnas.candidates import ranks, sample, score, score_plainly
from reproduce.pgnas.exporting import export
from reproduce.pgnas.masked import SuperNet, add_gradient
from reproduce.pgnas.networks import Network, build

SIDE, BATCH, IMAGES, CANDIDATES = 16, 64, 200, 4


def network(width: int) -> SuperNet:
    config = Network(network="shake-shake", width=width, blocks=1, stem=8, side=SIDE)
    return build(config).to(memory_format=torch.channels_last)


def batch(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(count, 3, SIDE, SIDE).to(memory_format=torch.channels_last)
    return x, torch.randint(10, (count,))


def step(net: SuperNet, masked: bool) -> Callable[[], object]:
    x, y = batch(BATCH)
    prior = posterior.Prior(l2=100, n=1e5)
    decay = 0.0 if masked else 5e-4
    sgd = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=decay)

    def one() -> None:
        sgd.zero_grad(set_to_none=True)
        with net.wearing(net.relaxed_masks(BATCH, 0.2) if masked else None):
            functional.cross_entropy(net(x), y).backward()
        if masked:
            add_gradient(net, prior)
        sgd.step()

    return one


def in_turns(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            start = time.process_time()
            way()
            if number:  # the first warms up
                times[name].append(time.process_time() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


def scored(net: SuperNet, p: float) -> str:
    """A line of the second table."""
    x, y = batch(IMAGES)
    parts = list(zip(x.split(100), y.split(100), strict=True))
    masks = sample(torch.full((len(net.of_channel),), p), CANDIDATES, np.random.default_rng(0))
    found: dict[str, torch.Tensor] = {}

    def plain() -> None:
        found["plain"] = score_plainly(net, masks, parts)

    def quick() -> None:
        found["quick"] = score(net, masks, parts)

    @torch.no_grad()
    def built() -> None:
        for mask in masks:
            small = export(net, mask[None]).to(memory_format=torch.channels_last)
            torch.cat([ranks(small(x), y) for x, y in parts])

    taken = in_turns({"plain": plain, "built": built, "quick": quick}, 5)
    slow, made, fast = (1e3 * taken[name] / CANDIDATES for name in ("plain", "built", "quick"))
    other = int((found["plain"] != found["quick"]).sum())
    return (
        f"{slow:.1f}, {made:.1f}, {fast:.1f}; {slow / made:.2f}, {slow / fast:.2f};"
        f" {other} of {found['plain'].numel()}"
    )


def main() -> None:
    torch.set_num_threads(1)
    keep_memory()  # as runs do
    print("a step of training, ms: without masks, with masks, ratio")
    for width in (8, 16, 32):
        net = network(width)
        taken = in_turns({"plain": step(net, False), "masked": step(net, True)}, 25)
        plain, masked = 1e3 * taken["plain"], 1e3 * taken["masked"]
        print(f"  2×{width}d: {plain:.1f}, {masked:.1f}, {masked / plain:.2f}")
    print(
        f"{CANDIDATES} candidates on {IMAGES} images, ms each: worn, built, merged; gains of the latter;"
        " ranks that differ"
    )
    for width in (8, 16, 64):
        net = network(width)
        net(batch(100)[0])
        net.eval()
        for p in (0.02, 0.1, 0.3, 0.5, 0.7):
            print(f"  2×{width}d, p = {p}: {scored(net, p)}")


if __name__ == "__main__":
    main()
