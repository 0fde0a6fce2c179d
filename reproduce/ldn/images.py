"""Section 3.2 and appendix D: one LDN or DDN of maximal depth D on an image set, once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from harness.runs.checkpoint import Checkpoint
from harness.runs.record import Run
from reproduce.ldn import posterior
from reproduce.ldn.conv import ConvNet, HeadBN, Shape, cost
from reproduce.ldn.image_data import ImageParts, image_parts
from reproduce.ldn.image_evaluation import (
    DIAGRAM,
    SCORES,
    SHARES,
    depth_rows,
    evaluate,
    forward_seconds,
    prediction_scores,
    reliability_rows,
    speed_ups,
)
from reproduce.ldn.image_training import Recipe, train

PREDICTIONS = ("full", "d95", "expected")  # appendix D: LDN-full, LDN-95, LDN-E


@dataclass(frozen=True, kw_only=True)
class Config(Recipe):
    """Appendix B; a scale may thin out images, pixels and channels."""

    dataset: str
    kind: Literal["ldn", "ddn"]
    max_depth: int  # D
    select_on: Literal["val", "test"] = "test"  # what stops the training and chooses its checkpoint (D10)
    head_bn: HeadBN = "shared_all_depths"  # which depths feed the head's running statistics (D12)
    width: int = 64
    bottleneck: int = 32
    shrink: int = 1  # pixels per side that are averaged into one
    train_images: int | None = None  # a random subset; all where it is null
    test_images: int | None = None
    timed_images: int = 512  # of one timed forward pass (D14)
    timed_repeats: int = 15
    device: Literal["cpu", "cuda"] = "cpu"


def run(run: Run, config: Config) -> None:
    parts = image_parts(
        run,
        config.dataset,
        select_on=config.select_on,
        shrink=config.shrink,
        train_images=config.train_images,
        test_images=config.test_images,
        device=config.device,
    )
    network = build(run, config, parts)
    progress = train(run, network, parts, config)
    run.table("history", progress.history)
    run.metric("epochs", progress.epoch)
    run.metric("best_epoch", progress.best_epoch)
    run.metric("steps", progress.epoch * math.ceil(len(parts.train) / config.batch))
    run.metric("diverged", progress.diverged)
    if progress.diverged:
        run.outcome = "diverged"  # what it was before that is evaluated, where it was anything
    leave_results(run, network, parts, config)
    Checkpoint(run).remove()


def build(run: Run, config: Config, parts: ImageParts) -> ConvNet:
    """The network with PyTorch's default initialisation, from a stream of its own."""
    _, channels, side, _ = parts.train.x.shape
    shape = Shape(
        config.max_depth,
        side,
        channels,
        width=config.width,
        bottleneck=config.bottleneck,
        head_bn=config.head_bn,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(run.stream("weights").integers(2**63)))
        network = ConvNet(shape, config.kind == "ldn")
    return network.to(config.device, memory_format=torch.channels_last)


def leave_results(run: Run, network: ConvNet, parts: ImageParts, config: Config) -> None:
    """Tables of depths, predictions, diagrams, forward passes; metrics: learnt depths, sizes, speed-ups."""
    beta = posterior.prior(config.max_depth, config.gamma)
    chosen, qs = predictions(network)
    tested = evaluate(network, parts.test, list(qs.values()))
    depths = depth_rows(network, evaluate(network, parts.train, []), tested, beta)
    run.table("depths", depths)
    label = parts.test.y.cpu().numpy()
    scores, diagrams, shares = [], [], []
    for (name, q), mixture in zip(qs.items(), tested.mixtures, strict=True):
        log_p = posterior.mixture_log_likelihood(tested.log_likelihood, q).numpy()
        scores.append((name, chosen[name], *prediction_scores(mixture, log_p, label).values()))
        drawn, held = reliability_rows(name, mixture, label)
        diagrams += drawn
        shares += held
    run.table("predictions", _columns(("prediction", "depth", *SCORES), scores))
    run.table("reliability", _columns(DIAGRAM, diagrams))
    run.table("shares", _columns(SHARES, shares))
    costs = cost(network.shape)
    run.metric("parameters", sum(p.numel() for p in network.parameters()))
    run.metric("operations", costs.trunk(config.max_depth) + costs.head)
    if network.learnt:
        q = network.q.detach().double().cpu()
        lost = math.nan if not q.isfinite().all() else 0.0
        run.metric("d_95", chosen["d95"] + lost)
        run.metric("d_expected", chosen["expected"] + lost)
        run.metric("d_argmax", int(posterior.d_argmax(q)) + lost)
        run.metric("d_exact", int(depths["exact_posterior"].argmax()) + lost)
        run.metric("max_q", float(q.max()))
        run.metric("kl", float(posterior.kl(q, beta)))
        _time(run, network, parts, config, chosen["d95"])


def predictions(network: ConvNet) -> tuple[dict[str, int], dict[str, torch.Tensor]]:
    """The ways to predict that appendix D compares: depth up to which blocks are kept, and the q they use."""
    whole = network.shape.max_depth
    if not network.learnt:
        return {"full": whole}, {"full": torch.ones(1, dtype=torch.float64)}
    q = network.q.detach().double().cpu()
    if not q.isfinite().all():  # diverged before anything could be kept: every score will be nan
        return dict.fromkeys(PREDICTIONS, whole), dict.fromkeys(PREDICTIONS, q)
    depths = (whole, int(posterior.d_95(q)), int(posterior.d_expected(q)))
    chosen = dict(zip(PREDICTIONS, depths, strict=True))
    return chosen, {name: posterior.prune(q, depth) for name, depth in chosen.items()}


def _time(run: Run, network: ConvNet, parts: ImageParts, config: Config, pruned: int) -> None:
    x = parts.test.x[: config.timed_images]
    seconds = forward_seconds(network, x, pruned, config.timed_repeats)
    depth = {"pruned": pruned}
    run.table(
        "forward",
        {
            "what": list(seconds),
            "depth": [depth.get(name, config.max_depth) for name in seconds],
            "seconds": list(seconds.values()),
            "images": [len(x)] * len(seconds),
        },
    )
    if config.max_depth:
        for name, value in speed_ups(network, seconds, pruned).items():
            run.metric(name, value, "%")


def _columns(names: Sequence[str], rows: list[tuple]) -> dict[str, list[object]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}
