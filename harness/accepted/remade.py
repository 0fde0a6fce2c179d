"""All that was accepted at a scale, made again from kept records alone: no data, no run, minutes."""

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import Layout, artefact_file
from harness.make import make
from harness.numbers import cellfile
from harness.runs import archives
from harness.spec import artefacts, fingerprint
from harness.spec.artefacts import Artefact

FROM_RECORDS, SHOWN = "made again from kept records", "shown from accepted cells"


@dataclass(frozen=True)
class Remade:
    """What became of one accepted artefact."""

    artefact: str
    how: str
    wrong: str = ""  # why it is not as it was accepted


def place_of(scale: str, root: Path = ROOT) -> Layout:
    """Beside the results of runs that were made here, which stay as they are."""
    return Layout(scale, root, root / "results" / "published" / scale)


def remake(scale: str, root: Path = ROOT, jobs: int | None = None) -> Iterator[Remade]:
    """Each artefact that was accepted, with its files below results/published/<scale>."""
    layout = place_of(scale, root)
    shutil.rmtree(layout.results, ignore_errors=True)
    accepted = [a for a in artefacts.artefacts(root) if _accepted(a, layout, ".cells.csv").is_file()]
    if not accepted:
        raise HarnessError(f"nothing was ever accepted at scale {scale}")
    for path in archives.every_archive(layout):
        for told in archives.lay_out_apart(path, layout):
            yield Remade(path.relative_to(root).as_posix(), FROM_RECORDS, told)
    with ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
        yield from pool.map(partial(_remake, layout=layout), accepted)


def _remake(artefact: Artefact, layout: Layout) -> Remade:
    how = SHOWN
    try:
        noted = cellfile.provenance(_accepted(artefact, layout, ".provenance.json"))
        artefact = fingerprint.as_noted(artefact, noted)
        runs = {run.id for run in artefact.runs(layout.scale, layout.root)}
        how = FROM_RECORDS if runs == archives.records(runs, layout).keys() else SHOWN
        if how == SHOWN:
            _show(artefact, layout, noted)
            return Remade(artefact.name, how)
        make.make(artefact, layout, layout.root)
    except HarnessError as error:
        return Remade(artefact.name, how, str(error))
    for suffix in (".cells.csv", ".claims.csv"):
        ours = artefact_file(layout.results, artefact.name, suffix)
        if ours.read_bytes() != _accepted(artefact, layout, suffix).read_bytes():
            look = f"python -m harness check {artefact.name} --published --scale {layout.scale}"
            told = f"its {suffix[1:]} is not what was accepted. Look closer: {look}"
            return Remade(artefact.name, how, told)
    return Remade(artefact.name, how)


def _show(artefact: Artefact, layout: Layout, noted: dict[str, Any]) -> None:
    """Its accepted cells and claims, and what shows them."""
    for suffix in (".cells.csv", ".claims.csv"):
        place = artefact_file(layout.results, artefact.name, suffix)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(_accepted(artefact, layout, suffix), place)
    make.render_made(artefact, layout, noted["runs"])


def _accepted(artefact: Artefact, layout: Layout, suffix: str) -> Path:
    return artefact_file(layout.published, artefact.name, suffix)
