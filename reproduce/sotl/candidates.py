"""Section 4.2: the architectures that are ranked, their truth and size: one sample for all super-networks."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.base import seeds
from harness.base.errors import HarnessError
from harness.runs.ground_truth import Asked
from harness.runs.record import Run
from harness.spaces import Space, get


@dataclass(frozen=True, kw_only=True)
class Ranked(Asked):
    """Which architectures, and which truth they are ranked against; no truth where its source is `none`."""

    space: str
    truth_dataset: str
    architectures: int = 200
    drawn_with: int = 0  # the seed of the sample: one for all super-networks of a space (D4)
    listed: str | None = None  # a file with one architecture per line, instead of a sample


@dataclass(frozen=True)
class Candidates:
    """Architectures that can be ranked, and why others of a list cannot."""

    archs: list[str]
    truth: np.ndarray
    params: np.ndarray
    refused: dict[str, str]


def candidates(run: Run, ranked: Ranked) -> Candidates:
    """The sample, or the list without those that are not of the space or have no truth."""
    space = get(ranked.space)
    archs, refused = _wanted(space, ranked)
    archs, values = _known(run, ranked, archs, refused)
    if len(archs) < 2:
        first = next(iter(refused.values()), "the list is shorter")
        raise HarnessError(
            f"{run.spec.id}: two architectures at least can be ranked, not {len(archs)}: {first}"
        )
    return Candidates(archs, values, space.params_of(archs, ranked.truth_dataset), refused)


def _wanted(space: Space, ranked: Ranked) -> tuple[list[str], dict[str, str]]:
    if ranked.listed is None:
        draw = seeds.stream(ranked.drawn_with, f"architectures of {space.name}")
        return space.sample(ranked.architectures, draw), {}
    try:
        lines = Path(ranked.listed).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise HarnessError(f"the list {ranked.listed} cannot be read ({error}): name a text file") from None
    archs, refused = {}, {}
    for line in filter(None, map(str.strip, lines)):
        try:
            archs[space.validate(line)] = None
        except HarnessError as error:
            refused[line] = str(error)
    return list(archs), refused


def _known(
    run: Run, ranked: Ranked, archs: list[str], refused: dict[str, str]
) -> tuple[list[str], np.ndarray]:
    """Those that the source has a truth for; of a list, one by one, so that the others stay."""
    if ranked.truth_source == "none":
        return archs, np.full(len(archs), np.nan)
    if ranked.listed is None:
        return archs, ranked.truths(run, ranked.space, archs, ranked.truth_dataset)
    there, values = [], []
    for arch in archs:
        try:
            values += ranked.truths(run, ranked.space, [arch], ranked.truth_dataset).tolist()
            there.append(arch)
        except HarnessError as error:
            refused[arch] = str(error)
    return there, np.array(values)
