"""Section 4.2: train a super-network, fine-tune architectures from it, score them by every estimator."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from harness.batches import Batches, Pixels
from harness.checkpoint import Checkpoint
from harness.data import load, split
from harness.data.transform import shrink
from harness.errors import HarnessError
from harness.record import Run
from harness.supernet.ranking import SCORES, FineTune, Start, accuracy, fine_tune
from harness.supernet.sampling import Path, whole
from reproduce.sotl.candidates import Candidates, Ranked, candidates
from reproduce.sotl.supernets import Trainer, Training, build

OF_TRAINING = ("sotl", "tlmini", "sog", "sogn", "sogn_l1", "sogn_double", "sog_author", "loss")


@dataclass(frozen=True, kw_only=True)
class Config(Training, Ranked):
    """One super-network and what is ranked with it."""

    dataset: str
    division: str = "nb201-cifar10"  # into training and validation images
    divides: Literal["train", "test"] = (
        "train"  # test: all training images train, half of the others validates
    )
    shrink: int = 1  # pixels per side that are averaged into one
    train_images: int | None = None  # a thinned set: the first of the division
    held_images: int | None = None  # the same of validation images
    finetunes: tuple[FineTune, ...]
    val_batch: int = 64  # ValAccMini
    val_every: int = 10  # updates between two of them
    val_images: int = 5120  # ValAcc (D10)
    val_at_once: int = 1024  # images per batch of ValAcc, whose statistics the cells use (D15)
    whole_every: int = 100  # updates between two ValAcc
    val_all: bool = False  # ValAcc on every validation image as well


def run(run: Run, config: Config) -> None:
    checkpoint = Checkpoint(run)
    search(run, config, checkpoint, checkpoint.load() or {}).leave_tables()
    checkpoint.remove()


def search(run: Run, config: Config, checkpoint: Checkpoint, kept: dict[str, Any]) -> "Scorer":
    """Train the super-network and score every architecture, from where `kept` left off."""
    if config.device == "cuda" and not torch.cuda.is_available():
        raise HarnessError(f"{run.spec.id} wants a GPU and torch sees none: use scale cpu or a CUDA build")
    ranked = candidates(run, config)
    train, held, classes = image_parts(run, config)
    network, choices = build(run, config, classes)
    trainer = Trainer(run, config, network, choices, train)
    if "trained" in kept:
        network.load_state_dict(kept["trained"])
        trainer.losses = kept["losses"]
    else:
        trainer.train(checkpoint, kept.get("training", {}))
    run.metric("steps", trainer.total)
    run.metric("passes", trainer.total * trainer.passes_each)
    run.metric("final_training_loss", float(np.mean(trainer.losses[-trainer.per_epoch :])))
    paths = [whole(choices.choice(arch), network.cells) for arch in ranked.archs]
    scorer = Scorer(run, config, network, train, held, ranked, paths)
    scorer.score(checkpoint, kept, {"trained": scorer.start.kept, "losses": trainer.losses})
    return scorer


def image_parts(run: Run, config: Config) -> tuple[Batches, Batches, int]:
    """Training and validation images, and the number of classes."""
    images = load(config.dataset, "train")
    card = images.card
    run.table("data", {"split": ["train"], "label": [card.title], "sha256": [card.identity.sha256]})
    divided = images if config.divides == "train" else load(config.dataset, "test")
    parts = split(config.division, len(divided.y))
    kept = parts.train if config.divides == "train" else np.arange(len(images.y))
    kept = kept[: config.train_images]
    x = shrink(images.x[kept], config.shrink)
    pixels = Pixels.of(x)
    train = Batches(x, images.y[kept], pixels, config.device, pad=x.shape[1] // 8)
    # Each super-network has its own order, so that ValAccMini and ValAcc have the noise of their images.
    validating = run.stream("validation order").permutation(parts.val)[: config.held_images]
    held_x = shrink(divided.x[validating], config.shrink)
    held = Batches(held_x, divided.y[validating], pixels, config.device)
    return train, held, card.classes


class Scorer:
    """Fine-tunes and scores architecture by architecture; a killed run goes on with the next one."""

    def __init__(
        self,
        run: Run,
        config: Config,
        network: nn.Module,
        train: Batches,
        held: Batches,
        ranked: Candidates,
        paths: list[Path],
    ) -> None:
        self.run, self.config, self.network, self.train, self.ranked = run, config, network, train, ranked
        self.paths = paths
        self.start = Start(network)
        longest = max(setup.updates for setup in config.finetunes)
        minis = longest // config.val_every + 1
        self.minis = held.in_order(config.val_batch, minis * config.val_batch)
        self.whole = held.in_order(config.val_at_once, config.val_images)
        self.all = held.in_order(config.val_at_once) if config.val_all else []
        self.training: dict[str, list[torch.Tensor]] = {setup.name: [] for setup in config.finetunes}
        self.minibatch: dict[str, list[list[float]]] = {setup.name: [] for setup in config.finetunes}
        self.wholes: dict[str, list[list[float]]] = {setup.name: [] for setup in config.finetunes}

    def score(self, checkpoint: Checkpoint, kept: dict[str, Any], trained: dict[str, Any]) -> None:
        """Every architecture under every way of fine-tuning, on identical minibatches."""
        for name, done in kept.get("training_scores", {}).items():
            self.training[name] = list(done)
            self.minibatch[name], self.wholes[name] = kept["minibatch"][name], kept["wholes"][name]
        total = len(self.paths) * len(self.config.finetunes)
        if "trained" not in kept:
            checkpoint.save({**trained, **self._state()})
        for setup in self.config.finetunes:
            batches = self._batches(setup)
            for path in self.paths[len(self.training[setup.name]) :]:
                self._one(setup, path, batches)
                n = sum(map(len, self.training.values()))
                self.run.progress(n, total, "fine-tuned architecture")
                if checkpoint.due:
                    checkpoint.save({**trained, **self._state()})
        self.start.restore()

    def _one(self, setup: FineTune, path: Path, batches: list) -> None:
        config, minis, wholes = self.config, [], []

        def validate(step: int) -> None:
            if step % config.val_every == 0:
                batch = self.minis[step // config.val_every % len(self.minis)]  # and from the start again
                minis.append(accuracy(self.network, path, [batch], amp=config.amp))
            if step % config.whole_every == 0:
                found = [accuracy(self.network, path, part, amp=config.amp) for part in self._wholes()]
                wholes.append(found)

        self.start.restore()
        self.training[setup.name].append(
            fine_tune(self.network, path, batches, setup, validate, amp=config.amp)
        )
        self.minibatch[setup.name].append(minis)
        self.wholes[setup.name].append(wholes)

    def _wholes(self) -> list[list]:
        return [part for part in (self.whole, self.all) if part]

    def _batches(self, setup: FineTune) -> list:
        """The same for every architecture: a new order and crops per way of fine-tuning."""
        order = self.run.stream(f"fine-tuning order, batch {setup.batch}").permutation(len(self.train))
        crops = self.run.stream(f"fine-tuning crops, batch {setup.batch}")
        place = np.arange((setup.updates + 1) * setup.batch).reshape(-1, setup.batch) % len(order)
        return [self.train.take(order[indices], crops) for indices in place]

    def best(self, finetune: str, score: str, step: int) -> str:
        """The architecture that a score of this step of a fine-tuning ranks first."""
        if score == "valacc":
            values = [found[step // self.config.whole_every][0] for found in self.wholes[finetune]]
        else:
            values = [rows[step, SCORES.index(score)].item() for rows in self.training[finetune]]
        return self.ranked.archs[int(np.argmax(values))]

    def _state(self) -> dict[str, Any]:
        return {"training_scores": self.training, "minibatch": self.minibatch, "wholes": self.wholes}

    def leave_tables(self) -> None:
        """training, minibatch, whole: one row per way, step and architecture; groups; architectures."""
        training, minibatch, wholes, groups = [], [], [], []
        truth, params = self.ranked.truth, self.ranked.params
        diverged = np.zeros(len(truth), int)
        for setup in self.config.finetunes:
            scores = torch.stack(self.training[setup.name]).numpy()  # architecture, step, score
            diverged += ~np.isfinite(scores[:, :, 0]).all(axis=1)
            for step in range(scores.shape[1]):
                for arch in range(len(truth)):
                    named = dict(zip(SCORES, scores[arch, step].tolist(), strict=True))
                    row = [named[name] for name in OF_TRAINING]
                    training.append([setup.name, step, arch, *row, params[arch], truth[arch]])
                for group, members in _groups(truth).items():
                    losses = scores[members, max(0, step - 9) : step + 1, 0]
                    finite = losses[np.isfinite(losses)]
                    mean = finite.mean() if len(finite) else math.inf
                    groups.append([setup.name, step, group, mean])
            for arch in range(len(truth)):
                for place, value in enumerate(self._filled(self.minibatch[setup.name], arch, 1)):
                    step = place * self.config.val_every
                    minibatch.append([setup.name, step, arch, *value, params[arch], truth[arch]])
                for place, value in enumerate(
                    self._filled(self.wholes[setup.name], arch, len(self._wholes()))
                ):
                    step = place * self.config.whole_every
                    wholes.append([setup.name, step, arch, *value, params[arch], truth[arch]])
        key, units = ["finetune", "step", "arch"], ["params", "truth"]
        self._table("training", [*key, *OF_TRAINING, *units], training)
        self._table("minibatch", [*key, "valaccmini", *units], minibatch)
        extra = ["valacc_all"] if self.config.val_all else []
        self._table("whole", [*key, "valacc", *extra, *units], wholes)
        self._table("groups", ["finetune", "step", "group", "loss"], groups)
        self._leave_architectures(diverged)

    def _filled(self, found: list[list], arch: int, width: int) -> list[list[float]]:
        """Where a fine-tuning ended early, the worst there is for what was not measured any more."""
        longest = max(map(len, found))
        rows = [value if isinstance(value, list) else [value] for value in found[arch]]
        return rows + [[-math.inf] * width] * (longest - len(rows))

    def _leave_architectures(self, diverged: np.ndarray) -> None:
        ranked, rows = self.ranked, []
        for arch, name in enumerate(ranked.archs):
            said = f"{diverged[arch]} of its fine-tunings diverged" if diverged[arch] else "ranked"
            rows.append([arch, name, ranked.params[arch], ranked.truth[arch], said])
        rows += [["", name, "", "", said] for name, said in ranked.refused.items()]
        self._table("architectures", ["arch", "architecture", "params", "truth", "outcome"], rows)
        self.run.metric("architectures", len(ranked.archs))
        self.run.metric("refused", len(ranked.refused))
        self.run.metric("diverged", int((diverged > 0).sum()))

    def _table(self, name: str, columns: list[str], rows: list[list]) -> None:
        self.run.table(name, {column: [row[i] for row in rows] for i, column in enumerate(columns)})


def _groups(truth: np.ndarray) -> dict[str, np.ndarray]:
    """Figure 4.8: all, the truly best tenth, and the tenth around the median."""
    order, tenth = np.argsort(-truth, kind="stable"), max(1, round(len(truth) / 10))
    middle = (len(truth) - tenth) // 2
    return {"all": order, "top": order[:tenth], "median": order[middle : middle + tenth]}
