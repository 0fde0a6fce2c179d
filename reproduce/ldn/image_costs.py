"""Section 3.2: what the published networks cost, counted, and what the printed depths would save."""

from dataclasses import dataclass

from harness.runs.record import Run
from reproduce.ldn.conv import ConvNet, Shape, cost


@dataclass(frozen=True)
class Config:
    """The published network on one image set, and the depth that is printed for it."""

    side: int
    channels: int
    max_depth: int
    printed_depth: int  # d_opt, section 3.2


def run(run: Run, config: Config) -> None:
    shape = Shape(config.max_depth, config.side, config.channels)
    costs = cost(shape)
    run.metric("parameters", sum(p.numel() for p in ConvNet(shape, learnt=True).parameters()))
    run.metric("operations", costs.trunk(config.max_depth) + costs.head)
    saved = 1 - costs.trunk(config.printed_depth) / costs.trunk(config.max_depth)
    run.metric("speedup_operations", 100 * saved, "%")
    run.progress(1, 1, "network")
