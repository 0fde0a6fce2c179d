"""Section 3 and supplementary material: the super-networks at full size, counted."""

from dataclasses import dataclass

import torch

from harness.runs.record import Run
from reproduce.pgnas.counts import Counter
from reproduce.pgnas.networks import Network, build


@dataclass(frozen=True, kw_only=True)
class Config(Network):
    """One of the six super-networks, or the ResNet-50 that one was made of."""


def run(run: Run, config: Config) -> None:
    with torch.device("meta"):  # sizes without numbers
        network = build(config)
    counter = Counter.of(network, config.side)
    start = torch.full((len(network.of_channel),), config.drop_start)
    whole, sampled = counter.whole(), counter.expected(start)
    second = getattr(network, "auxiliary", None)
    extra = 0 if second is None else sum(p.numel() for p in second.parameters())
    run.metric("parameters", whole.parameters.item() / 1e6, "M")
    run.metric("without_second_classifier", (whole.parameters.item() - extra) / 1e6, "M")
    run.metric("expected_at_start", sampled.parameters.item() / 1e6, "M")
    run.metric("operations", whole.operations.item() / 1e9, "G")
    run.metric("drop_probabilities", len(network.drop_logits))
    run.metric("channels", len(network.of_channel))
    run.progress(1, 1, "network")
