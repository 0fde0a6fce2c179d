"""Table 2: parameters of networks as published, counted; nothing is trained."""

from dataclasses import dataclass

import torch

from harness.runs.record import Run
from reproduce.nsa.network import Shape, WiredNet
from reproduce.nsa.wiring import residual, wirings


@dataclass(frozen=True)
class Config:
    """A network of images of 32 pixels, with its second classifier and weights of edges (D4, D12)."""

    width: int
    classes: int
    residual: bool
    architectures: int
    conditional_norm: bool


def run(run: Run, config: Config) -> None:
    shape = Shape(
        width=config.width,
        classes=config.classes,
        learn_aggregation=True,
        conditional_norm=config.conditional_norm,
    )
    wired = residual() if config.residual else wirings(1, config.architectures)
    with torch.device("meta"):  # without their values
        network = WiredNet(shape, wired)
    run.metric("parameters", sum(p.numel() for p in network.parameters()))
