"""Table 4.5, column Params: how well the parameter count alone ranks architectures."""

from dataclasses import dataclass
from typing import Literal

from harness.bench import nb301
from harness.runs.ground_truth import ask
from harness.runs.record import Run
from harness.spaces import get


@dataclass(frozen=True)
class Config:
    """Which architectures, and which truth they are ranked against (sections 3.2.2 and 4.2)."""

    space: str
    dataset: str
    epochs: int
    split: str
    trials: str
    source: str
    draw: Literal["sample", "wide"]
    sample: int = 200  # architectures drawn at random (section 4.2)
    wide: int = 50_000  # or this many, the whole space where it has no more

    @property
    def architectures(self) -> int:
        return self.sample if self.draw == "sample" else self.wide


def run(run: Run, config: Config) -> None:
    space = get(config.space)
    if config.source == nb301.REFERENCE.name:
        sampled = nb301.reference_cells()  # a sample that others drew, with official predictions
    elif config.architectures >= space.size:
        sampled = list(space.enumerate())
    else:
        sampled = space.sample(config.architectures, run.stream("architectures"))
    how = config.epochs, config.split, config.trials
    truth = ask(run, config.space, sampled, config.dataset, *how, source=config.source)
    run.table("architectures", {"params": space.params_of(sampled, config.dataset), "truth": truth})
    run.metric("architectures", len(sampled))
    run.metric("whole_space", len(sampled) == space.size)
