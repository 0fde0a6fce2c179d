"""Section 4.2.1 and Figure 4.9b: cells of NAS-Bench-201, each trained from scratch and scored every epoch."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.data import load, split
from harness.data.transform import crop_flip
from harness.runs.checkpoint import Checkpoint
from harness.runs.record import Run
from harness.spaces import nb201
from harness.spaces.nb201_net import network
from harness.supernet.ranking import Gradients
from harness.training.batches import Batches
from harness.training.images import batches
from harness.training.optimisers import SGD, learning_rates, set_rate, weight_optimiser
from harness.training.seeded import seeded
from reproduce.sotl.candidates import Candidates, Ranked, candidates

# Of every epoch; higher = predicted better. scratch_curves leaves the first three and FURTHER as well.
CURVES = ("sotl", "valacc", "trainacc", "tlmini", "valaccmini", "sog", "sogn", "sogn_l1")
FURTHER = ("sotl_all", "valloss")
SCORES = (*CURVES, *FURTHER)
WORST = -math.inf  # from where a training diverged


@dataclass(frozen=True, kw_only=True)
class Config(Ranked):
    """The benchmark's recipe (Dong and Yang 2020, Table 2), stopped after `epochs` of its schedule."""

    dataset: str
    epochs: int  # that are trained
    schedule_epochs: int  # over which the cosine falls to its end
    weights: SGD
    batch: int
    division: str = "nb201-cifar10"  # of the training images: trained on, validated on
    train_images: int | None = None  # a random part; all where it is null
    val_images: int | None = None
    mini: int = 64  # images of ValAccMini
    shrink: int = 1  # pixels per side that are averaged into one
    channels: int = 16
    cells: int = 5  # per stage
    first: int | None = None  # of the sampled architectures, so many are trained
    also: tuple[str, ...] = ()  # other image sets whose truth the same trainings are ranked by as well (D18)
    device: Literal["cpu", "cuda"] = "cpu"


def run(run: Run, config: Config) -> None:
    if config.epochs > config.schedule_epochs:
        raise HarnessError(f"{run.spec.id}: {config.epochs} epochs are more than schedule_epochs: raise it")
    ranked = candidates(run, config)
    archs = ranked.archs[: config.first]
    truth = known(run, archs, ranked, config)
    train, held = images(run, config)
    checkpoint, done = Checkpoint(run), []
    for arch in archs:
        done.append(checkpoint.phase(arch, lambda _, arch=arch: trained(run, arch, train, held, config)))
        run.progress(len(done), len(archs), "architecture")
    leave_tables(run, archs, done, {"params": ranked.params[: len(archs)], **truth})
    checkpoint.remove()


def known(run: Run, archs: list[str], ranked: Candidates, config: Config) -> dict[str, np.ndarray]:
    """The truth of the set that is trained on and of the others, by the name of its column."""
    found = {"truth": ranked.truth[: len(archs)]}
    for name in config.also:
        found[f"truth_{name.replace('-', '_')}"] = config.truths(run, config.space, archs, name)
    return found


def images(run: Run, config: Config) -> list[Batches]:
    """To train on and to validate on, in random order; both parts of the training set."""
    whole = load(config.dataset, "train")
    parts = split(config.division, len(whole.y))
    rng, chosen = run.stream("images"), {}
    for name, wanted in (("train", config.train_images), ("val", config.val_images)):
        there = rng.permutation(getattr(parts, name))
        if (wanted or 0) > len(there):
            raise HarnessError(f"{run.spec.id}: {wanted} {name} images are wanted of {len(there)}: lower it")
        chosen[name] = there[:wanted]
    card = whole.card
    run.table(
        "data",
        {
            "part": list(chosen),
            "images": [len(indices) for indices in chosen.values()],
            "label": [card.title] * 2,
            "division": [parts.rule] * 2,
            "sha256": [card.identity.sha256] * 2,
        },
    )
    parts = [(whole.x[indices], whole.y[indices]) for indices in chosen.values()]
    return batches(parts, config.device, factor=config.shrink)


class Training:
    """A stand-alone network on its way; all architectures have the same start seed and minibatches."""

    def __init__(self, run: Run, arch: str, images: Batches, config: Config) -> None:
        shape = (arch, config.channels, config.cells, nb201.TASKS[config.dataset].classes)
        self.net = seeded(run, "weights", lambda: network(*shape), config.device)
        self.run, self.images, self.batch = run, images, config.batch
        self.optimiser = weight_optimiser(self.net, config.weights)
        self.steps = math.ceil(len(images) / config.batch)
        self.rates = learning_rates(config.weights, config.schedule_epochs, self.steps)
        self.gradients = Gradients(list(self.net.parameters()))

    def epoch(self, number: int) -> dict[str, float]:
        """One pass over the training images; losses are those before each update, in train mode."""
        rng, images = self.run.stream(f"epoch {number}"), self.images
        order = rng.permutation(len(images))
        cropped = crop_flip(images.x[order], rng, pad=images.pad)
        here = Batches(cropped, images.y[order], images.pixels, images.device)
        summed, right, value = 0.0, 0, math.nan
        self.net.train()
        for step, part in enumerate(_parts(len(order), self.batch), number * self.steps):
            x, y = here.take(part)
            logits = self.net(x)
            loss = functional.cross_entropy(logits, y)
            # Zeros, not None: behind `none` there are zero gradients in the benchmark, and weights decay.
            self.optimiser.zero_grad(set_to_none=False)
            loss.backward()
            value = loss.item()
            summed += value * len(y)
            if not math.isfinite(summed):
                break
            right += int((logits.detach().argmax(1) == y).sum())
            sog, sogn, sogn_l1, *_ = self.gradients.add()
            set_rate(self.optimiser, self.rates[step])
            self.optimiser.step()
        scores = {"sotl": -summed / len(order), "trainacc": 100 * right / len(order), "tlmini": -value}
        if math.isfinite(summed):
            scores |= {"sog": sog, "sogn": sogn, "sogn_l1": sogn_l1}
        return scores


def trained(run: Run, arch: str, train: Batches, held: Batches, config: Config) -> list[list[float]]:
    """SCORES of one architecture after each epoch; the worst there are from where its loss is not finite."""
    training = Training(run, arch, train, config)
    val, rows, so_far = held.in_order(512), [], 0.0
    for epoch in range(config.epochs):
        scores = training.epoch(epoch)
        so_far += scores["sotl"]
        if not math.isfinite(so_far):
            break
        scores |= {"sotl_all": so_far, **validated(training.net, val, config.mini, epoch)}
        rows.append([scores[name] if math.isfinite(scores[name]) else WORST for name in SCORES])
    return rows + [[WORST] * len(SCORES)] * (config.epochs - len(rows))


@torch.no_grad()
def validated(net: nn.Module, val: list[tuple[Tensor, Tensor]], mini: int, epoch: int) -> dict[str, float]:
    """On all validation images, and on the next `mini` of them; with running statistics."""
    net.eval()
    logits, labels = torch.cat([net(x) for x, _ in val]), torch.cat([y for _, y in val])
    right = (logits.argmax(1) == labels).double()
    next_ones = (epoch * mini + torch.arange(mini, device=right.device)) % len(right)
    return {
        "valacc": 100 * right.mean().item(),
        "valaccmini": 100 * right[next_ones].mean().item(),
        "valloss": -functional.cross_entropy(logits, labels).item(),
    }


def leave_tables(
    run: Run, archs: list[str], done: list[list[list[float]]], of_arch: dict[str, np.ndarray]
) -> None:
    """`curves` and `further`: a row per epoch and architecture; `architectures`."""
    scores = np.array(done).transpose(1, 0, 2)  # epoch, architecture, score
    epochs, n = scores.shape[:2]
    keys = {"epoch": np.repeat(np.arange(1, epochs + 1), n), "arch": np.tile(np.arange(n), epochs)}
    repeated = {name: np.tile(values, epochs) for name, values in of_arch.items()}
    for table, names in (("curves", CURVES), ("further", FURTHER)):
        columns = {name: scores[:, :, SCORES.index(name)].ravel() for name in names}
        run.table(table, {**keys, **columns, **repeated})
    diverged = np.isneginf(scores[:, :, SCORES.index("sotl")])
    outcome = [f"diverged in epoch {1 + d.argmax()}" if d.any() else "trained" for d in diverged.T]
    run.table("architectures", {"arch": range(n), "architecture": archs, **of_arch, "outcome": outcome})
    run.metric("architectures", n)
    run.metric("diverged", int(diverged.any(axis=0).sum()))


def _parts(n: int, size: int) -> list[np.ndarray]:
    return [np.arange(start, min(start + size, n)) for start in range(0, n, size)]
