"""Other words for what was accepted: files written anew from its cells, where the runs are elsewhere.

A caption or the text of a claim may change after a campaign of days. Numbers and verdicts stay as they were
accepted, and only where today's YAML asks for the same cells. Another test of a claim is judged where the
cells tell all that it takes.
"""

import csv
import io
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.accepted import rejudge, reproduced
from harness.accepted.accept import drawn_by, left_by, require_reason
from harness.base.errors import HarnessError
from harness.base.files import ROOT, write_atomic
from harness.base.layout import Layout, artefact_file
from harness.make.make import REMADE, outputs, render_all
from harness.numbers import cellfile, claims
from harness.numbers.judge import Verdict
from harness.published import manifest, publish
from harness.runs.record import now
from harness.spec import fingerprint
from harness.spec.artefacts import Artefact, absence, runs_of


def reword_all(chosen: Sequence[Artefact], layout: Layout, reason: str, root: Path = ROOT) -> Iterator[Path]:
    """The provenance of each that reads otherwise now. What cannot be reworded keeps no other from it."""
    require_reason("reword", reason, "what reads otherwise now?")
    publish.finish(layout)
    refused = []
    try:
        for artefact in chosen:
            try:
                written = _reword(artefact, layout, reason, root)
            except HarnessError as error:
                refused.append(str(error))
                continue
            if written:
                yield written
    finally:
        if len(refused) < len(chosen):  # the page has words of its own, such as why a claim is contradicted
            reproduced.write(root)
    if refused:
        raise HarnessError("\n".join(refused))


def _reword(artefact: Artefact, layout: Layout, reason: str, root: Path) -> Path | None:
    """Its provenance, or None where every file is as it was."""
    cells, stated, told = (
        artefact_file(layout.published, artefact.name, suffix)
        for suffix in (".cells.csv", ".claims.csv", ".provenance.json")
    )
    if not (cells.is_file() and told.is_file()):
        raise HarnessError(
            f"{artefact.name} was not accepted at scale {layout.scale}: there is nothing to reword"
        )
    noted = cellfile.provenance(told)
    if noted.get("cells") != fingerprint.of_cells(artefact):
        raise _other(artefact, layout, "other cells or printed numbers")
    accepted = cellfile.cells(cells)
    sealed = manifest.differences(layout)
    for file in left_by(artefact, layout):
        if (name := file.relative_to(layout.root).as_posix()) in sealed and file.is_file():
            raise HarnessError(
                f"{name} {sealed[name]}: bring it back with `git checkout -- {name}`, then reword it"
            )
    tested, again = _verdicts(artefact, layout, accepted, cellfile.claims(stated), noted)
    with tempfile.TemporaryDirectory() as folder:
        today = Path(folder, cells.relative_to(layout.published))
        write_atomic(today, with_reasons(cells.read_text(encoding="utf-8"), artefact, layout.scale, root))
        render_all(artefact, layout.scale, cellfile.read_cells(today), noted["runs"], Path(folder))
        files = {
            layout.published / path.relative_to(folder): path.read_bytes()
            for path in outputs(artefact, Path(folder))
            if path.is_file() and path.suffix not in REMADE
        }
    files[stated] = claims.to_frame(tested).to_csv(index=False, lineterminator="\n").encode()
    tests = fingerprint.of_claims(artefact, layout.scale)
    same = all(path.is_file() and path.read_bytes() == content for path, content in files.items())
    if same and noted.get("claims") == tests:
        publish.publish(layout, {}, manifest.stands_on(artefact))
        return None
    noted |= {"claims": tests} | drawn_by(artefact)
    entry = {"at": now(), "reason": reason} | ({"judged by cells": again} if again else {})
    noted.setdefault("reworded", []).append(entry)
    files[told] = (json.dumps(noted, indent=1) + "\n").encode()
    publish.publish(layout, files, manifest.stands_on(artefact))
    return told


def _verdicts(
    artefact: Artefact,
    layout: Layout,
    accepted: list[dict[str, Any]],
    stated: list[dict[str, str]],
    noted: dict[str, Any],
) -> tuple[list[tuple[dict[str, Any], Verdict]], list[str]]:
    """Each claim of today with its verdict, and the names of those that were accepted by another test.

    Where today's rule gave a verdict, its reason is told in today's words.
    """
    tests, of_today = noted.get("claims", {}), noted.get("rule") == fingerprint.RULE
    by_id = {claim["id"]: claim for claim in stated if claim["id"] in tests}
    by_test = {tests[name]: claim for name, claim in by_id.items()}
    by_seed = artefact.data.get("paired_by_seed", False)
    today, found, again = fingerprint.of_claims(artefact, layout.scale), [], []
    for claim in artefact.data.get("claims", []):
        later, name = fingerprint.waits(claim, layout.scale), claim["id"]
        verdict = Verdict("not comparable", later)
        if not later:
            same = tests.get(name) == today[name]
            before = by_id.get(name) if same else by_test.get(today[name])  # whatever it was called then
            verdict = None
            if of_today or not before:
                verdict = rejudge.by_cells(claim, accepted, layout.scale, by_seed)
            if before and verdict and verdict.word != before["verdict"]:
                raise HarnessError(
                    f"{artefact.name}: claim {name} was accepted as {before['verdict']!r} and its cells say"
                    f" {verdict.word!r}: restore {layout.published} from git or make it again"
                )
            if before and not verdict:
                verdict = Verdict(before["verdict"], before["reason"])
            if verdict is None:
                raise _other(artefact, layout, f"other tests of claim {name}")
            again += [] if before else [name]
        found.append((claim, verdict))
    return found, again


def with_reasons(text: str, artefact: Artefact, scale: str, root: Path) -> str:
    """The cells, and where one has no run, what experiments.yaml says of that today."""
    lines = list(csv.reader(io.StringIO(text, newline="")))
    row, column, verdict, reason = (lines[0].index(name) for name in ("row", "column", "verdict", "reason"))
    without = [cell for cell in artefact.cells if not runs_of(cell, artefact.paper, scale, root)]
    gone = {(cell.row, cell.column): absence(cell, artefact.paper, scale, root) for cell in without}
    for line in lines[1:]:
        found = gone.get((line[row], line[column]))
        if found and found.verdict == line[verdict]:
            line[reason] = found.reason
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(lines)
    return written.getvalue()


def _other(artefact: Artefact, layout: Layout, what: str) -> HarnessError:
    return HarnessError(
        f"{artefact.name} has {what} than were accepted at scale {layout.scale}, which its runs must answer:"
        f" make it with `snakemake {artefact.target} --config scale={layout.scale}` and accept it"
    )
