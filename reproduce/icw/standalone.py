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
from harness.runs.checkpoint import Checkpoint, Phase
from harness.runs.record import Run
from harness.supernet.ranking import hits
from harness.training.batches import Batches
from harness.training.loop import Steps
from harness.training.optimisers import set_rate, weight_optimiser
from harness.training.seeded import seeded
from reproduce.icw import image_sets, small_sequential
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
    checkpoint, done = Checkpoint(run), []
    for arch in archs:

        def trained(part: Phase, arch: str = arch) -> list[float]:
            training = StandaloneLoop(run, config, arch, classes, train, lambda net: tested(net, batches))
            training.train(part)
            return np.mean(training.accuracies, axis=0).tolist()

        done.append(checkpoint.phase(arch, trained))
        run.progress(len(done), len(archs), "architecture")
    found = zip(*done, strict=True)
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


class StandaloneLoop(Steps):
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
        sizes = config.batch_size, config.epochs, config.weights
        super().__init__(run, images, *sizes, None, "right", "accuracies", unit="")
        self.config, self.name, self.test = config, arch, test
        self.network = seeded(
            run,
            f"weights of {arch}",
            lambda: small_sequential.standalone(config.space, arch, classes, config.dropout),
            config.device,
        )
        self.optimiser = weight_optimiser(self.network, config.weights)
        self.right = 0
        self.accuracies: list[tuple[float, ...]] = []  # of training, and as tested, of epochs that count (D9)

    def _one(self) -> float:
        config = self.config
        x, y = self.batch(self.step)
        if config.dropout:  # it draws from torch's own generator
            torch.manual_seed(int(self.run.stream(f"dropout of step {self.step}").integers(2**63)))
        set_rate(self.optimiser, self.rates[self.step])
        self.optimiser.zero_grad()
        logits = self.network(x)
        loss = functional.cross_entropy(logits, y, label_smoothing=config.label_smoothing)
        loss.backward()
        if config.gradient_clip is not None:
            nn.utils.clip_grad_norm_(self.network.parameters(), config.gradient_clip)
        self.optimiser.step()
        self.right += int((logits.detach().argmax(dim=1) == y).sum())
        done = self.step + 1
        if done % self.per_epoch == 0:
            if self.total - done < config.average_last * self.per_epoch:
                self.accuracies.append((100.0 * self.right / len(self.images), *self.test(self.network)))
                self.network.train()
            self.right = 0
        return loss.item()


def tested(network: nn.Module, batches: Iterable[tuple[Tensor, Tensor]]) -> Tested:
    """Percent right of all images that did not train, and of a fifth of them."""
    network.eval()
    right = hits(network, batches).double()
    return 100.0 * right.mean().item(), 100.0 * right[::FEW].mean().item()
