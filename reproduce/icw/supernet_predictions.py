"""Section 4: train a super-network, and predict with it the accuracy of architectures."""

from dataclasses import dataclass

import numpy as np

from harness.runs.checkpoint import Checkpoint
from harness.runs.record import Run
from harness.supernet.sampling import whole
from reproduce.icw.candidates import Candidates, Ranked, calibrating, candidates, for_consistency, images
from reproduce.icw.evaluation import Evaluator, Scoring
from reproduce.icw.supernets import Trainer, Training, build


@dataclass(frozen=True, kw_only=True)
class Config(Training, Ranked, Scoring):
    """One super-network and the architectures that it scores."""


def run(run: Run, config: Config) -> None:
    checkpoint = Checkpoint(run)
    kept = checkpoint.load() or {}
    train, held, classes = images(run, config, config)
    known = candidates(run, config, config, classes)
    further = for_consistency(config, config, classes)
    network, choices = build(run, config, classes)
    trainer = Trainer(run, config, network, choices, train)
    if "scores" in kept:
        trainer.load(kept["training"])
    else:
        trainer.train(checkpoint, kept.get("training", {}))
    how = (config.batch_size, config.calibration_passes)
    passes = dict.fromkeys(("adjusted", "reset"), calibrating(run, train, *how))
    if "augmented" in config.calibrations:
        passes["augmented"] = calibrating(run, train, *how, augmented=True)
    evaluator = Evaluator(run, config, network, passes, held)
    modes = config.calibrations
    asked = [(whole(choices.choice(arch), network.cells), modes) for arch in known.archs]
    asked += [(whole(choices.choice(arch), network.cells), modes[:1]) for arch in further.archs]
    rows = evaluator.score(asked, kept.get("scores", []), checkpoint, lambda: {"training": trainer.state()})
    leave_metrics(run, trainer, known)
    leave_predictions(run, config, known, np.array(rows[: len(known.archs)]))
    if further.archs:
        leave_consistency(run, further, np.array(rows[len(known.archs) :])[:, 0])
    checkpoint.remove()


def leave_metrics(run: Run, trainer: Trainer, known: Candidates) -> None:
    run.metric("steps", trainer.total)
    run.metric("final_training_loss", float(np.mean(trainer.losses[-trainer.per_epoch :])))
    run.metric("architectures", len(known.archs))
    run.metric("whole_space", known.whole_space)


def leave_predictions(run: Run, config: Config, known: Candidates, scores: np.ndarray) -> None:
    """predictions: a row per architecture; a column per calibration, the first of which is the prediction."""
    table = {
        "arch": list(range(len(known.archs))),
        "architecture": known.archs,
        "params": known.params,
        "prediction": scores[:, 0],
        **{mode: scores[:, i] for i, mode in enumerate(config.calibrations)},
    }
    if known.truth is not None:
        table["truth"] = known.truth
    run.table("predictions", table)
    for mode, column in zip(config.calibrations, scores.T, strict=True):
        run.metric(f"mean_prediction_{mode}", column.mean(), "%")


def leave_consistency(run: Run, further: Candidates, scores: np.ndarray) -> None:
    """consistency: a row per architecture; consistency_drawn: their mean, and all of them as a text."""
    run.table(
        "consistency",
        {"arch": list(range(len(scores))), "architecture": further.archs, "prediction": scores},
    )
    text = " ".join(f"{value:.2f}" for value in scores)
    run.table("consistency_drawn", {"mean": [scores.mean()], "predictions": [text]})
