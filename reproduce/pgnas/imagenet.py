"""Section 3.2: SupNet-R-50 and SupNet-D-121 on ImageNet, Tables 8 and 9."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from harness.runs.checkpoint import Checkpoint
from harness.runs.record import Run
from harness.supernet.ranking import Batch
from harness.training.batches import Batches
from harness.training.images import leave_source
from harness.training.seeded import seeded
from reproduce.pgnas import outcome, supernets
from reproduce.pgnas.candidates import ranks, sample, worn
from reproduce.pgnas.counts import evaluating
from reproduce.pgnas.imagenet_files import FileBatches, parts
from reproduce.pgnas.masked import SuperNet
from reproduce.pgnas.networks import build
from reproduce.pgnas.training import TrainingLoop

AT_ONCE = 250  # images of a pass that trains nothing


@dataclass(frozen=True, kw_only=True)
class Config(supernets.Config):
    """As of the small images; `dataset: imagenet` is read from its files, others as usual."""


def run(run: Run, config: Config) -> None:
    train, choose, test = images(run, config)
    network = seeded(run, "weights", lambda: build(config), config.device)
    checkpoint = Checkpoint(run)
    TrainingLoop(run, config, network, train).train(checkpoint)
    tests = test.in_order(AT_ONCE)
    outcome.leave_layers(run, config, network)
    outcome.leave_whole(run, config, network, tests)
    if config.masks != "none":
        masks = sample(network.p_of_channels, config.candidates, run.stream("candidates"))

        def found(part: Sequence[Batch]) -> tuple[Tensor, Tensor]:
            return scored(run, network, masks, part)

        choose1, choose5 = checkpoint.phase("choose", lambda _: found(choose.in_order(AT_ONCE)))
        test1, test5 = checkpoint.phase("test", lambda _: found(tests))
        scores = outcome.Scores(*(part.numpy() for part in (choose1, test1, choose5, test5)))
        outcome.leave_candidates(run, config, network, masks, scores)
    checkpoint.remove()


@torch.no_grad()
def scored(run: Run, network: SuperNet, masks: Tensor, part: Sequence[Batch]) -> tuple[Tensor, Tensor]:
    """Percent wrong of each candidate, top-1 and top-5; each batch is read once for all of them."""
    network.check_masks(masks)
    wrong, asked = torch.zeros(2, len(masks), dtype=torch.double), 0
    with evaluating(network):
        for number, (x, y) in enumerate(part, 1):
            for place, mask in enumerate(masks):
                with network.wearing(worn(network, mask)[None]):
                    found = ranks(network(x), y)
                wrong[:, place] += torch.tensor([(found >= k).sum().item() for k in (1, 5)])
            asked += len(y)
            run.progress(number, len(part), "batch of all candidates")
    return tuple(100 * wrong / asked)


def images(run: Run, config: Config) -> tuple[Batches | FileBatches, ...]:
    """Those that train, that choose, that test."""
    if config.dataset != "imagenet":
        return tuple(supernets.images(run, config))
    paths, y, test_paths, test_y = parts(config.classes)
    leave_source(run, "ImageNet", "")
    order = run.stream("images").permutation(len(y))
    chosen = order[len(y) - config.choose_images :], order[: len(y) - config.choose_images]
    made = [
        FileBatches(tuple(paths[i] for i in part), y[part], config.side, config.device) for part in chosen
    ]
    return made[1], made[0], FileBatches(tuple(test_paths), test_y, config.side, config.device)
