"""Section 3.1.2 and appendix A: architectures of the sequential space trained alone, one seed per run."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.base.errors import HarnessError
from harness.runs.checkpoint import Checkpoint
from harness.runs.record import Run
from harness.training.batches import Batches
from harness.training.optimisers import weight_optimiser
from reproduce.icw import image_sets, small_sequential
from reproduce.icw.steps import Steps
from reproduce.icw.training_setup import Config as Setup

AT_ONCE = 500  # images per batch of an evaluation
Tested = tuple[float, float]  # percent right, of all images and of a fifth
FEW = 5  # appendix A: a fifth of the images (50 per class of 250) makes a poorer truth


@dataclass(frozen=True, kw_only=True)
class Config(Setup, image_sets.Images):
    """What is trained, on what and how (Table 5)."""

    space: small_sequential.Space
    architectures: int = 50  # the first of a fixed list (D6)
    average_last: int = 5  # epochs whose accuracies are averaged (D9)


def run(run: Run, config: Config) -> None:
    if config.weights.warmup_epochs >= config.epochs:
        raise HarnessError(
            f"{run.spec.id}: {config.weights.warmup_epochs} of {config.epochs} epochs warm up, which leaves"
            " nothing to anneal: lower weights.warmup_epochs"
        )
    archs = small_sequential.ranked(config.space, config.architectures)
    train, held, classes = image_sets.images(run, config, config)
    batches = held.in_order(AT_ONCE)
    checkpoint = Checkpoint(run)
    kept = checkpoint.load() or {"done": []}
    for arch in archs[len(kept["done"]) :]:
        training = Training(run, config, arch, classes, train, lambda network: tested(network, batches))
        training.train(checkpoint, kept)
        kept = {"done": [*kept["done"], np.mean(training.accuracies, axis=0).tolist()]}
        run.progress(len(kept["done"]), len(archs), "architecture")
        if checkpoint.due:
            checkpoint.save(kept)
    found = zip(*kept["done"], strict=True)
    run.table(
        "architectures",
        {
            "arch": range(len(archs)),
            "architecture": archs,
            "params": small_sequential.params_of(config.space, archs, classes),
            **dict(zip(("train", "test", "test_few"), found, strict=True)),
        },
    )
    run.metric("architectures", len(archs))
    run.metric("held_images", len(held))
    run.truth(_identity(run, config, archs, len(held)))
    checkpoint.remove()


def _identity(run: Run, config: Config, archs: list[str], held: int) -> dict[str, Any]:
    """What this truth is, for the captions of what is made from it."""
    return {
        "source": "trained here",
        "version": "1",
        "file": f"the runs of experiment {run.spec.experiment}",
        "sha256": hashlib.sha256("\n".join(archs).encode()).hexdigest(),
        "space": f"sequential of {len(small_sequential.cells(config.space))} cells",
        "dataset": f"{config.dataset} at {config.side}x{config.side}",
        "epochs": config.epochs,
        "split": f"{held:,} images that did not train",
        "trials": "mean",
        "policy": f"the mean of one training per seed; epochs averaged at its end: {config.average_last}",
    }


class Training(Steps):
    """One stand-alone training; what a step draws follows from its number and the run's seed.

    The trainings of a run see the same minibatches and crops, as the authors' do: their seed is the same.
    """

    def __init__(
        self,
        run: Run,
        config: Config,
        arch: str,
        classes: int,
        images: Batches,
        test: Callable[[nn.Module], Tested],
    ) -> None:
        super().__init__(run, images, config.batch_size, config.epochs, config.weights)
        self.config, self.arch, self.test = config, arch, test
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(run.stream(f"weights of {arch}").integers(2**63)))
            network = small_sequential.standalone(config.space, arch, classes, config.dropout)
        self.network = network.to(config.device, memory_format=torch.channels_last)
        self.optimiser = weight_optimiser(self.network, config.weights)
        self.step = self.right = 0
        self.accuracies: list[tuple[float, ...]] = []  # of training, and as tested, of epochs that count (D9)

    def train(self, checkpoint: Checkpoint, kept: dict[str, Any]) -> None:
        """To the end, from where `kept` left off."""
        found = kept.get("training")
        if found is not None and found["arch"] == self.arch:
            self.step, self.right, self.accuracies = found["step"], found["right"], found["accuracies"]
            self.network.load_state_dict(found["network"])
            self.optimiser.load_state_dict(found["optimiser"])
        while self.step < self.total:
            self.one()
            if checkpoint.due:
                checkpoint.save({**kept, "training": self._state()})

    def one(self) -> None:
        """The next minibatch."""
        config = self.config
        x, y = self.batch(self.step)
        if config.dropout:  # it draws from torch's own generator
            torch.manual_seed(int(self.run.stream(f"dropout of step {self.step}").integers(2**63)))
        self.set_rate(self.optimiser, self.step)
        self.optimiser.zero_grad()
        logits = self.network(x)
        loss = functional.cross_entropy(logits, y, label_smoothing=config.label_smoothing)
        loss.backward()
        if config.gradient_clip is not None:
            nn.utils.clip_grad_norm_(self.network.parameters(), config.gradient_clip)
        self.optimiser.step()
        if not np.isfinite(loss.item()):
            raise HarnessError(
                f"{self.run.spec.id}: {self.arch}: the loss became {loss.item()} at step {self.step} of"
                f" {self.total}: lower weights.lr_max"
            )
        self.right += int((logits.detach().argmax(dim=1) == y).sum())
        self.step += 1
        if self.step % self.per_epoch == 0:
            if self.total - self.step < config.average_last * self.per_epoch:
                self.accuracies.append((100.0 * self.right / len(self.images), *self.test(self.network)))
                self.network.train()
            self.right = 0

    def _state(self) -> dict[str, Any]:
        return {
            "arch": self.arch,
            "step": self.step,
            "right": self.right,
            "accuracies": self.accuracies,
            "network": self.network.state_dict(),
            "optimiser": self.optimiser.state_dict(),
        }


@torch.no_grad()
def tested(network: nn.Module, batches: Iterable[tuple[Tensor, Tensor]]) -> Tested:
    """Percent right of all images that did not train, and of a fifth of them."""
    network.eval()
    right = torch.cat([network(x).argmax(dim=1) == y for x, y in batches]).double()
    return 100.0 * right.mean().item(), 100.0 * right[::FEW].mean().item()
