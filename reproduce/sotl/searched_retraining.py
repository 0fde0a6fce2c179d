"""Table 4.8: what a search by gradient finds, trained again from scratch with 8 layers and with 20."""

from dataclasses import dataclass, replace

from harness.data import load
from harness.runs.checkpoint import Checkpoint, Phase
from harness.runs.record import Run
from harness.training.batches import Pixels
from harness.training.images import batches
from reproduce.sotl import gradient_search
from reproduce.sotl.retraining import Protocol, RetrainingLoop


@dataclass(frozen=True, kw_only=True)
class Config(gradient_search.Config):
    """A search, and how its end is trained again."""

    retrain: Protocol
    layers: tuple[int, ...] = (8, 20)  # of the networks that are trained again


def run(run: Run, config: Config) -> None:
    checkpoint = Checkpoint(run)
    arch = checkpoint.phase("search", lambda part: found(run, config, part))
    for number, layers in enumerate(config.layers):
        error = checkpoint.phase(
            f"retraining {number}", lambda part, layers=layers: again(run, config, arch, layers, part)
        )
        run.metric(f"error_{number}", error, "%")
        run.metric(f"accuracy_{number}", 100 - error, "%")
    run.table("chosen", {"architecture": [arch]})
    checkpoint.remove()


def found(run: Run, config: Config, part: Phase) -> str:
    """What the search chooses at its end."""
    return gradient_search.search(run, config, part).rows[-1]["architecture"]


def again(run: Run, config: Config, arch: str, layers: int, part: Phase) -> float:
    """Percent wrong on the test images after DARTS' evaluation with so many layers."""
    train, test = (load(config.dataset, name) for name in ("train", "test"))
    wanted = (train, config.retrain.train_images), (test, config.retrain.test_images)
    chosen = [(images.x[:first], images.y[:first]) for images, first in wanted]
    train, test = batches(chosen, config.device, pixels=Pixels.of(train.x))
    setup = replace(config, retrain=replace(config.retrain, layers=layers))
    training = RetrainingLoop(run, setup, arch, train)
    training.train(part)
    return training.error(test)
