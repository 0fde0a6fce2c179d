"""Every run of scale paper, built at its full size, killed, resumed, and counted on a hollow GPU."""

import csv
import importlib
import io
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np

from harness import data
from harness.base.errors import HarnessError
from harness.base.files import ROOT, write_atomic
from harness.base.settings import build
from harness.data.images import Card, Identity, Images
from harness.data.splits import Split
from harness.rehearsal.counting import COUNTS, Enough, counting
from harness.rehearsal.pretend_gpu import PretendGPU
from harness.runs.checkpoint import Checkpoint
from harness.runs.ground_truth import Asked
from harness.runs.record import Run
from harness.spec.experiments import RunSpec

COLUMNS = ("scale", "run", *COUNTS, "memory", "checkpoint", "records", "whole", "note")
SECONDS = 20.0  # of a processor that a rehearsal may take, once its run has begun


class Killed(BaseException):
    """The process of the run ends here."""


def path(root: Path = ROOT) -> Path:
    return root / "published" / "rehearsed.csv"


def read(root: Path = ROOT) -> dict[tuple[str, str], dict[str, str]]:
    """By scale and by run without its seed: seeds take the same."""
    if not path(root).is_file():
        return {}
    with path(root).open(encoding="utf-8", newline="") as file:
        return {(row["scale"], row["run"]): row for row in csv.DictReader(file)}


def write(rows: dict[tuple[str, str], dict[str, Any]], root: Path = ROOT) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows[key] for key in sorted(rows))
    write_atomic(path(root), text.getvalue())


def kind(spec: RunSpec) -> str:
    """A run's name without its seed."""
    return spec.id.rpartition("/")[0]


def wanted(runs: Iterable[RunSpec]) -> Iterator[RunSpec]:
    """One of each kind that may train on a GPU."""
    seen = set()
    for spec in runs:
        if "device" in spec.config and kind(spec) not in seen:
            seen.add(kind(spec))
            yield spec


def rehearse(spec: RunSpec, seconds: float = SECONDS) -> dict[str, Any]:
    """A row of COLUMNS; what went wrong is its note."""
    row = {"scale": spec.scale, "run": kind(spec), "whole": 0, "note": ""}
    spec = replace(spec, config={**spec.config, "device": "cuda"})
    module = importlib.import_module(spec.module)
    gpu = PretendGPU(hollow=True)
    with TemporaryDirectory() as folder, ExitStack() as stack:
        _stand_ins(stack)
        go = partial(module.run, config=build(module.Config, spec.config, spec.id))
        try:
            with gpu.use():
                row["checkpoint"] = _killed(go, spec, gpu, Path(folder), seconds)
                with counting(gpu, seconds) as count:
                    with suppress(Enough):
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

    with mock.patch.object(Checkpoint, "due", property(lambda _: True)), counting(gpu, seconds):
        with mock.patch.object(Checkpoint, "save", save), suppress(Killed, Enough):
            go(Run(spec, folder))
    file = folder / "checkpoint"
    return file.stat().st_size if file.is_file() else 0


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

    stack.enter_context(mock.patch.object(Asked, "truths", truths))
    known = {data.load: lambda name, split, **_: _images(name, split), data.split: split}
    for name, module in list(sys.modules.items()):
        for word in ("load", "split") if name.startswith("reproduce.") else ():
            if (instead := known.get(getattr(module, word, None))) is not None:
                stack.enter_context(mock.patch.object(module, word, instead))
