"""Every run of scale paper, built at its full size, killed, resumed, and counted on a hollow GPU."""

import hashlib
import importlib
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np
from PIL import Image
from torch import nn

from harness import data
from harness.base import files
from harness.base.errors import HarnessError
from harness.base.settings import build
from harness.code.code_id import code_id
from harness.data.images import Card, Identity, Images
from harness.data.splits import Split
from harness.published.rehearsed import COUNTS, kind, read, write
from harness.rehearsal.counting import Enough, counting
from harness.rehearsal.pretend_gpu import PretendGPU
from harness.runs.checkpoint import Checkpoint
from harness.runs.ground_truth import Asked
from harness.runs.record import Run
from harness.spec.experiments import RunSpec
from harness.training.batches import Pixels

SECONDS = 2.5  # of a processor that a rehearsal may take, once its run has begun


class Killed(BaseException):
    """The process of the run ends here."""


def wanted(runs: Iterable[RunSpec]) -> list[RunSpec]:
    """One of each kind that may train on a GPU: of each experiment one, then a second; methods first."""
    found = {kind(spec): spec for spec in runs if "device" in spec.config}
    of_method, of_experiment = Counter(), Counter()
    settings, turns = {}, {}
    for name in found:
        settings[name] = of_method[name.rpartition("/")[0]]
        of_method[name.rpartition("/")[0]] += 1
    for name in sorted(settings, key=settings.__getitem__):
        turns[name] = of_experiment[name.rpartition("/")[0].rpartition("/")[0]]
        of_experiment[name.rpartition("/")[0].rpartition("/")[0]] += 1
    return [found[name] for name in sorted(turns, key=turns.__getitem__)]


def identity(spec: RunSpec) -> str:
    """Of which config and code a row tells."""
    text = json.dumps([spec.config, code_id(spec.module)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def lacking(runs: Iterable[RunSpec]) -> list[RunSpec]:
    """Those wanted that no row tells of."""
    rows = read()
    return [s for s in wanted(runs) if rows.get((s.scale, kind(s)), {}).get("of") != identity(s)]


def rehearse_all(runs: Iterable[RunSpec], minutes: float) -> Iterator[dict[str, Any]]:
    """Those that no row tells of, for as long; each is kept as it comes."""
    until = time.monotonic() + 60 * minutes
    for spec in lacking(runs):
        if time.monotonic() > until:
            return
        row = rehearse(spec)
        write({**read(), (spec.scale, kind(spec)): row})
        yield row


def rehearse(spec: RunSpec, seconds: float = SECONDS) -> dict[str, Any]:
    """A row of the table; what went wrong is its note."""
    row = {"scale": spec.scale, "run": kind(spec), "of": identity(spec), "whole": 0, "note": ""}
    spec = replace(spec, config={**spec.config, "device": "cuda"})
    module = importlib.import_module(spec.module)
    gpu = PretendGPU(hollow=True)
    with TemporaryDirectory() as folder, ExitStack() as stack:
        _stand_ins(stack)
        go = partial(module.run, config=build(module.Config, spec.config, spec.id))
        try:
            with gpu.use():
                row["checkpoint"] = _killed(go, spec, gpu, Path(folder), seconds)
                with counting(gpu, seconds) as count, suppress(Enough):
                    go(Run(spec, Path(folder)))
                    row["whole"] = 1
        except (Exception, Killed) as error:
            row["note"] = f"{type(error).__name__}: {error}".splitlines()[0][:120]
            return row
        found, early = count.extrapolated()
        if early and row["whole"]:
            row["note"] = "at most: a loop may end early"
        row |= {name: f"{value:.4g}" for name, value in zip(COUNTS, found, strict=True)}
        row["memory"] = count.peak
        left = [file.stat().st_size for file in Path(folder).iterdir() if file.suffix in (".csv", ".json")]
        row["records"] = sum(left)
    return row


def _killed(go: Callable[[Run], None], spec: RunSpec, gpu: PretendGPU, folder: Path, seconds: float) -> int:
    """Run until a checkpoint is written, of which the bytes; 0 where none is in this time."""
    plain = Checkpoint.save

    def save(checkpoint: Checkpoint, state: Any) -> None:
        plain(checkpoint, state)
        raise Killed

    due, saves = property(lambda _: True), mock.patch.object(Checkpoint, "save", save)
    with mock.patch.object(Checkpoint, "due", due), saves, counting(gpu, seconds), suppress(Killed, Enough):
        go(Run(spec, folder))
    file = folder / "checkpoint"
    return file.stat().st_size if file.is_file() else 0


@cache
def _photographs() -> Path:
    """As many folders as ImageNet's training set has; as many files as a hundred classes are sampled of."""
    _photographs.folder = TemporaryDirectory()  # it stays for as long as this process
    root = Path(_photographs.folder.name)
    Image.new("RGB", (96, 72)).save(root / "grey.JPEG")
    for number in range(1000):
        (root / "train" / f"n{number:08}").mkdir(parents=True)
        for image in range(700 if number < 100 else 0):
            (root / "train" / f"n{number:08}" / f"{image}.JPEG").symlink_to(root / "grey.JPEG")
    return root / "train"


@cache
def _images(name: str, split: str) -> Images:
    """As they are, or as many black ones where they are not here."""
    try:
        return data.images.load(name, split)
    except HarnessError:
        which = data.source(name)
    n = which.images[split]
    identity = Identity(False, n, "", ())
    more = (which.shape, which.classes, which.licence, which.citation, "")
    card = Card(name, split, which.title, identity, *more)
    return Images(np.zeros((n, *which.shape), np.uint8), np.arange(n, dtype=np.int64) % which.classes, card)


def _stand_ins(stack: ExitStack) -> None:
    """Images and truths that need not be here."""

    def truths(asked: Asked, run: Run, space: str, archs: list[str], dataset: str) -> np.ndarray:
        return np.linspace(50.0, 90.0, len(archs))

    def split(rule: str, n: int, **more: Any) -> Split:
        with suppress(HarnessError):
            return data.split(rule, n, **more)
        return data.split("halves", n)  # a published file that is not here: those that are known divide alike

    grey = lambda x: Pixels(np.full(x.shape[-1], 128.0), np.full(x.shape[-1], 64.0))  # noqa: E731
    stack.enter_context(mock.patch.object(Asked, "truths", truths))
    stack.enter_context(mock.patch.object(Pixels, "of", grey))
    for word in ("kaiming_normal_", "kaiming_uniform_", "xavier_uniform_", "uniform_", "normal_"):
        stack.enter_context(mock.patch.object(nn.init, word, lambda tensor, *_, **__: tensor))
    find = files.find_data
    place = lambda name: find(name) or (_photographs() if name == "imagenet/train" else None)  # noqa: E731
    known = {find: place, data.load: lambda name, split, **_: _images(name, split), data.split: split}
    for name, module in list(sys.modules.items()):
        for word in ("load", "split", "find_data") if name.startswith("reproduce.") else ():
            if (instead := known.get(getattr(module, word, None))) is not None:
                stack.enter_context(mock.patch.object(module, word, instead))
