"""Sections 2.2, 2.3 and 3: a super-network is trained, candidates are sampled, scored and chosen."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from harness.base.errors import HarnessError
from harness.data import load
from harness.runs.checkpoint import Checkpoint
from harness.runs.record import Run
from harness.supernet.ranking import Batch
from harness.training.batches import Batches
from harness.training.images import batches, leave_source
from harness.training.seeded import seeded
from reproduce.pgnas import outcome
from reproduce.pgnas.candidates import errors, sample, score, shuffled, uniform, worn
from reproduce.pgnas.masked import SuperNet
from reproduce.pgnas.networks import build
from reproduce.pgnas.training import Training, TrainingLoop, Tuning, TuningLoop

AT_ONCE = 100  # images of a pass that trains nothing
CHUNK = 100  # candidates between two checkpoints


@dataclass(frozen=True, kw_only=True)
class Config(Training):
    """A training, the images behind it, and what is asked of its candidates."""

    dataset: str
    shrink: int = 1
    train_images: int | None = None  # all that do not choose, where it is None
    choose_images: int = 5000  # by which a candidate is chosen; they do not train (D15)
    test_images: int | None = None
    candidates: int = 1500
    chosen_of: int = 1500  # the first so many, of which one is chosen; all where there are fewer
    counts: tuple[int, ...] = (50, 500, 1500, 5000)  # numbers of candidates that are compared
    controls: int = 0  # masks of each kind that drop as often as the learnt p, but elsewhere (D20)
    own_statistics: int = 20  # candidates that are scored with batch norm statistics of their own, too (D23)
    statistics_batches: int = 20
    tuning: Tuning | None = None


def run(run: Run, config: Config) -> None:
    train, choose, test = images(run, config)
    network = seeded(run, "weights", lambda: build(config), config.device)
    checkpoint = Checkpoint(run)
    TrainingLoop(run, config, network, train).train(checkpoint)
    tests = test.in_order(AT_ONCE)
    outcome.leave_layers(run, config, network)
    outcome.leave_whole(run, config, network, tests)
    if config.masks != "none":
        scale = outcome.scale_of(config, network)
        masks = sample(network.p_of_channels, config.candidates, run.stream("candidates"))
        scores = scored(run, checkpoint, network, masks, (choose.in_order(AT_ONCE), tests), scale)
        best = outcome.leave_candidates(run, config, network, masks, scores)
        if config.controls:
            control(run, config, checkpoint, network, tests)
        some = train.in_order(config.batch_size, config.batch_size * config.statistics_batches)
        own = masks[: config.own_statistics]
        outcome.leave_own_statistics(run, config, network, own, some, tests, scale)
        if config.tuning is not None:
            tune(run, config, checkpoint, network, worn(network, masks[best], scale), train, tests)
    checkpoint.remove()


def control(
    run: Run, config: Config, checkpoint: Checkpoint, network: SuperNet, tests: Sequence[Batch]
) -> None:
    """The same weights under masks that drop as often, but not where the learnt probabilities say."""
    own = outcome.scale_of(config, network)
    for name, draw in (("uniform", uniform), ("shuffled", shuffled)):
        masks = draw(network, config.controls, run.stream(f"{name} masks of controls"))
        (found,) = in_chunks(run, checkpoint, name, network, masks, (tests,), own)
        outcome.leave_control(run, config, network, name, masks, found[0])


def scored(
    run: Run,
    checkpoint: Checkpoint,
    network: SuperNet,
    masks: Tensor,
    parts: tuple[Sequence[Batch], Sequence[Batch]],
    scale: Tensor | None,
) -> outcome.Scores:
    """Of every candidate."""
    (choose, choose5), (test, test5) = in_chunks(run, checkpoint, "candidates", network, masks, parts, scale)
    return outcome.Scores(choose, test, choose5, test5)


def in_chunks(
    run: Run,
    checkpoint: Checkpoint,
    name: str,
    network: SuperNet,
    masks: Tensor,
    parts: Sequence[Sequence[Batch]],
    scale: Tensor | None,
) -> np.ndarray:
    """Percent wrong [parts, top-1 and top-5, masks]; a killed run goes on with the next chunk."""

    def chunk(first: int) -> Tensor:
        found = []
        for part in parts:
            wrong = score(network, masks[first : first + CHUNK], part, scale)
            found += [(wrong >= k).sum(1) * 100.0 / wrong.shape[1] for k in (1, 5)]
        return torch.stack(found)

    rows = []
    for first in range(0, len(masks), CHUNK):
        rows.append(checkpoint.phase(f"{name} from {first}", lambda _, first=first: chunk(first)))
        run.progress(min(first + CHUNK, len(masks)), len(masks), "candidate")
    return torch.cat(rows, 1).double().numpy().reshape(len(parts), 2, len(masks))


def tune(
    run: Run,
    config: Config,
    checkpoint: Checkpoint,
    network: SuperNet,
    mask: Tensor,
    train: Batches,
    tests: Sequence[Batch],
) -> None:
    """The chosen candidate, trained on."""
    assert config.tuning is not None
    with network.wearing(mask[None]):
        TuningLoop(run, config, config.tuning, network, train).train(checkpoint, "fine-tuning")
        found = errors(network, tests)
    run.metric("tuned_error", found.top1, "%")
    run.metric("tuned_top5", found.top5, "%")


def images(run: Run, config: Config) -> list[Batches]:
    """Those that train, that choose, that test; the first two are drawn from the training set, by seed."""
    found, tested = load(config.dataset, "train"), load(config.dataset, "test")
    leave_source(run, found.card.title, found.card.identity.sha256)
    n, choosing = len(found.y), config.choose_images
    training = n - choosing if config.train_images is None else config.train_images
    if not (choosing > 0 and 0 < training <= n - choosing):
        raise HarnessError(
            f"{run.spec.id}: {config.dataset} has {n:,} images: {training:,} to train and {choosing:,} to"
            " choose by cannot be taken"
        )
    order = run.stream("images").permutation(n)
    parts = [order[:training], order[n - choosing :]]
    last = slice(config.test_images)
    return batches(
        [
            *((_coloured(found.x[part]), found.y[part]) for part in parts),
            (_coloured(tested.x[last]), tested.y[last]),
        ],
        config.device,
        factor=config.shrink,
    )


def _coloured(x: np.ndarray) -> np.ndarray:
    """Grey images as three equal colours, which the first convolution reads."""
    return x if x.shape[-1] == 3 else x.repeat(3, axis=-1)
