"""Section 4.2, Table 1: time and memory of training with additional weights, all methods in turns."""

import time
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.runs.record import Run
from harness.spaces.nb201 import from_digits
from harness.supernet.dependent import Dependence
from harness.supernet.sampling import whole
from reproduce.icw import small_sequential, supernet_predictions
from reproduce.icw.candidates import images
from reproduce.icw.supernets import Trainer, Training, build

BASELINE = "baseline"


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A kind of additional weights whose training steps are measured."""

    name: str
    dependence: Dependence = Dependence()


@dataclass(frozen=True, kw_only=True)
class SplitAt:
    """A training of which only a part has its weights split."""

    name: str
    share: float  # of the training before that


@dataclass(frozen=True, kw_only=True)
class Config(supernet_predictions.Config):
    """What is measured, in the set-up of the super-networks that predict; one variant is the baseline."""

    variants: tuple[Variant, ...]
    splits: tuple[SplitAt, ...]
    blocks: int = 12  # each gives one ratio per variant
    block_steps: int = 20  # steps of each variant within a block, on the same minibatches and paths
    warm_up: int = 20  # steps that are not measured; a split network makes its copies in them


def run(run: Run, config: Config) -> None:
    train, _, classes = images(run, config, config)
    trainers = {}
    for variant in config.variants:
        mine = replace(config, dependence=variant.dependence, split_share=None)
        network, choices = build(run, mine, classes)
        trainer = trainers[variant.name] = Trainer(run, mine, network, choices, train)
        if variant.dependence.kind == "split":
            trainer.splits_at = 0
    seconds = measure(run, config, trainers)
    leave_times(run, config, seconds, trainers[BASELINE].total)
    held = {name: memory(trainer) for name, trainer in trainers.items()}
    run.table(
        "memory",
        {
            "kind": list(held),
            "megabytes": [value / 1e6 for value in held.values()],
            "over_baseline": [100 * (value / held[BASELINE] - 1) for value in held.values()],
            "additional": [trainers[name].network.additional_parameters() for name in held],
            "parameters": [sum(p.numel() for p in trainers[name].network.parameters()) for name in held],
        },
    )


def measure(run: Run, config: Config, trainers: dict[str, Trainer]) -> dict[str, np.ndarray]:
    """Processor seconds per step, by variant and block; every variant takes each step before the next."""
    names = list(trainers)
    seconds = {name: np.zeros(config.blocks) for name in names}
    steps = config.warm_up + config.blocks * config.block_steps
    if steps > trainers[BASELINE].total:
        raise HarnessError(
            f"{run.spec.id}: {steps} steps are to be measured of a training of {trainers[BASELINE].total}:"
            " lower blocks or raise epochs"
        )
    for step in range(steps):
        block = (step - config.warm_up) // config.block_steps
        first = step % len(names)  # whoever goes first finds a colder cache
        for name in [*names[first:], *names[:first]]:
            took = timed(trainers[name])
            if block >= 0:
                seconds[name][block] += took / config.block_steps
        run.progress(step + 1, steps, "step of every variant")
    return seconds


def timed(trainer: Trainer) -> float:
    """Of the next step: of this thread's processor, or of the clock where a GPU works."""
    if trainer.config.device == "cuda":
        torch.cuda.synchronize()
        start = time.perf_counter()
        trainer.one()
        torch.cuda.synchronize()
        return time.perf_counter() - start
    start = time.process_time()
    trainer.one()
    return time.process_time() - start


def leave_times(run: Run, config: Config, seconds: dict[str, np.ndarray], total: int) -> None:
    """times: a row per method and block; a training that is split late has the overhead for what remains."""
    rows: dict[str, list] = {"kind": [], "block": [], "milliseconds": [], "training": [], "increase": []}

    def leave(kind: str, values: np.ndarray) -> None:
        for block, value in enumerate(values):
            increase = 100 * (value / seconds[BASELINE][block] - 1)
            for key, entry in zip(rows, (kind, block, 1e3 * value, value * total, increase), strict=True):
                rows[key].append(entry)

    for name, values in seconds.items():
        leave(name, values)
    for split in config.splits:
        leave(split.name, split.share * seconds[BASELINE] + (1 - split.share) * seconds["split"])
    run.table("times", rows)


def memory(trainer: Trainer) -> int:
    """Bytes of a step along the costliest path: weights, gradients, momentum, what autograd keeps (D19)."""
    network, config = trainer.network, trainer.config
    x, y = trainer.batch(0)
    path = whole(trainer.choices.choice(costliest(config)), network.cells)
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    network.train()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        functional.cross_entropy(network(x, path), y)
    weights = {p.untyped_storage().data_ptr(): p.untyped_storage().nbytes() for p in network.parameters()}
    activations = sum(size for place, size in kept.items() if place not in weights)
    copies = network.additional_parameters() * 4 if config.dependence.kind == "split" else 0
    return activations + 3 * sum(weights.values()) + copies


def costliest(config: Training) -> str:
    """The architecture of the largest operations."""
    if config.network == "nb201":
        return from_digits("333333")
    return "-".join([str(len(small_sequential.OPS) - 1)] * len(small_sequential.cells(config.space)))
