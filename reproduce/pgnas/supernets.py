"""Algorithm 1 and section 3: a super-network is trained, candidates are sampled, scored and chosen."""

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
from reproduce.pgnas.imagenet_files import FileBatches, parts
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
    controls: int = 0  # uniform and shuffled masks, of each so many, that the learnt p do not place (D20)
    own_statistics: int = 0  # candidates that are scored with batch norm statistics of their own, too (D23)
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
        parts = choose.in_order(AT_ONCE), tests
        (choose1, choose5), (test1, test5) = scored(
            run, checkpoint, "candidates", network, masks, parts, scale
        )
        scores = outcome.Scores(choose1, test1, choose5, test5)
        chosen = worn(network, masks[outcome.leave_candidates(run, config, network, masks, scores)], scale)
        if not config.mask_after:
            outcome.leave_exported(run, config, network, chosen, tests)
        if config.controls:
            control(run, config, checkpoint, network, tests)
        if config.own_statistics:
            some = train.in_order(config.batch_size, config.batch_size * config.statistics_batches)
            own = masks[: config.own_statistics]
            outcome.leave_own_statistics(run, config, network, own, some, tests, scale)
        if config.tuning is not None:
            TuningLoop(run, config, config.tuning, network, train, chosen).train(checkpoint, "fine-tuning")
            with network.wearing(chosen[None]):
                found = errors(network, tests)
            run.metric("tuned_error", found.top1, "%")
            run.metric("tuned_top5", found.top5, "%")
    checkpoint.remove()


def control(
    run: Run, config: Config, checkpoint: Checkpoint, network: SuperNet, tests: Sequence[Batch]
) -> None:
    """The same weights under masks that the learnt probabilities did not place.

    Uniform ones drop as many channels on average; shuffled ones only where all layers are equally wide (D20).
    """
    scale = outcome.scale_of(config, network)
    for name, draw in (("uniform", uniform), ("shuffled", shuffled)):
        masks = draw(network, config.controls, run.stream(f"{name} masks of controls"))
        (found,) = scored(run, checkpoint, name, network, masks, (tests,), scale)
        outcome.leave_control(run, config, network, name, masks, found[0])


def scored(
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


def images(run: Run, config: Config) -> Sequence[Batches | FileBatches]:
    """Those that train, that choose, that test; the first two are drawn from the training set, by seed."""
    if config.dataset == "imagenet":
        return imagenet(run, config)
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


def imagenet(run: Run, config: Config) -> Sequence[FileBatches]:
    """From its files (section 3.2); all images of its training set train that do not choose."""
    cut = {"train_images": config.train_images, "test_images": config.test_images}
    if any(value is not None for value in cut.values()) or config.shrink != 1 or config.cutout:
        raise HarnessError(
            f"{run.spec.id}: ImageNet is read whole, in windows of `side` pixels: leave out train_images,"
            " test_images, shrink and cutout"
        )
    paths, y, test_paths, test_y = parts(config.classes)
    leave_source(run, "ImageNet", "")
    order = run.stream("images").permutation(len(y))
    training = len(y) - config.choose_images
    some = [
        FileBatches(tuple(paths[i] for i in part), y[part], config.side, config.device)
        for part in (order[:training], order[training:])
    ]
    return *some, FileBatches(tuple(test_paths), test_y, config.side, config.device)


def _coloured(x: np.ndarray) -> np.ndarray:
    """Grey images as three equal colours, which the first convolution reads."""
    return x if x.shape[-1] == 3 else x.repeat(3, axis=-1)
