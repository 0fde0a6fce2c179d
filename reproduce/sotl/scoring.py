"""Section 4.2: every architecture fine-tuned from the super-network on the same minibatches, and scored."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch import Tensor, nn

from harness.runs.checkpoint import Checkpoint, Phase
from harness.runs.record import Run
from harness.supernet.ranking import SCORES, FineTune, Start, accuracy, fine_tune
from harness.supernet.sampling import Path
from harness.training.batches import Batches
from reproduce.sotl.candidates import Candidates


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """How architectures are fine-tuned, and when which validation images are asked."""

    finetunes: tuple[FineTune, ...]
    val_batch: int = 64  # ValAccMini
    val_every: int = 10  # updates between two of them
    val_images: int = 5120  # ValAcc (D10)
    val_at_once: int = 1024  # images per batch of ValAcc, whose statistics the cells use (D15)
    whole_every: int = 100  # updates between two ValAcc
    val_all: bool = False  # ValAcc on every validation image as well


@dataclass
class Scores:
    """Of one way to fine-tune, by architecture."""

    training: list[Tensor] = field(default_factory=list)  # step by score of SCORES
    minibatch: list[list[float]] = field(default_factory=list)  # ValAccMini, every `val_every` updates
    whole: list[list[list[float]]] = field(default_factory=list)  # ValAcc, and that on all images


class Scorer:
    """Fine-tunes and scores architecture by architecture; a killed run goes on with the next one."""

    def __init__(
        self,
        run: Run,
        config: Scoring,
        network: nn.Module,
        train: Batches,
        held: Batches,
        ranked: Candidates,
        paths: list[Path],
        *,
        amp: bool = False,
    ) -> None:
        self.run, self.config, self.network, self.train, self.ranked = run, config, network, train, ranked
        self.paths, self.amp = paths, amp
        self.start = Start(network)
        longest = max(setup.updates for setup in config.finetunes)
        minis = longest // config.val_every + 1
        self.minis = held.in_order(config.val_batch, minis * config.val_batch)
        self.wholes = [held.in_order(config.val_at_once, config.val_images)]
        if config.val_all:
            self.wholes.append(held.in_order(config.val_at_once))
        self.scores = {setup.name: Scores() for setup in config.finetunes}

    def score(self, at: Phase | Checkpoint) -> None:
        """Every architecture under every way of fine-tuning, on identical minibatches."""
        self._load(at.phase("scores", self._score))

    def _score(self, part: Phase) -> dict[str, Any]:
        self._load(part.state or {})
        total = len(self.paths) * len(self.config.finetunes)
        for setup in self.config.finetunes:
            batches, scores = self._batches(setup), self.scores[setup.name]
            for path in self.paths[len(scores.training) :]:
                self._one(setup, path, batches, scores)
                n = sum(len(each.training) for each in self.scores.values())
                self.run.progress(n, total, "fine-tuned architecture")
                if part.due:
                    part.save(self._state())
        self.start.restore()
        return self._state()

    def _one(self, setup: FineTune, path: Path, batches: list, scores: Scores) -> None:
        config, amp, minis, wholes = self.config, self.amp, [], []

        def validate(step: int) -> None:
            if step % config.val_every == 0:
                batch = self.minis[step // config.val_every % len(self.minis)]  # and from the start again
                minis.append(accuracy(self.network, path, [batch], amp=amp))
            if step % config.whole_every == 0:
                wholes.append([accuracy(self.network, path, part, amp=amp) for part in self.wholes])

        self.start.restore()
        scores.training.append(fine_tune(self.network, path, batches, setup, validate, amp=amp))
        scores.minibatch.append(minis)
        scores.whole.append(wholes)

    def _batches(self, setup: FineTune) -> list:
        """The same for every architecture: a new order and crops per way of fine-tuning."""
        order = self.run.stream(f"fine-tuning order, batch {setup.batch}").permutation(len(self.train))
        crops = self.run.stream(f"fine-tuning crops, batch {setup.batch}")
        place = np.arange((setup.updates + 1) * setup.batch).reshape(-1, setup.batch) % len(order)
        return [self.train.take(order[indices], crops) for indices in place]

    def best(self, finetune: str, score: str, step: int) -> str:
        """The architecture that a score of this step of a fine-tuning ranks first."""
        scores = self.scores[finetune]
        if score == "valacc":
            values = [found[step // self.config.whole_every][0] for found in scores.whole]
        else:
            values = [rows[step, SCORES.index(score)].item() for rows in scores.training]
        return self.ranked.archs[int(np.argmax(values))]

    def _state(self) -> dict[str, Any]:
        return {name: vars(scores) for name, scores in self.scores.items()}

    def _load(self, state: dict[str, Any]) -> None:
        self.scores |= {name: Scores(**done) for name, done in state.items()}
