"""Take away what was accepted of a former artefact, and say so where everybody can read it."""

import csv
import io
from collections import Counter
from pathlib import Path

from harness.accepted import reproduced
from harness.accepted.accept import require_reason
from harness.accepted.outcomes import in_words
from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import Layout, artefact_file
from harness.numbers import cellfile
from harness.published import manifest, publish
from harness.runs.record import now
from harness.spec import artefacts

COLUMNS = ("withdrawn", "artefact", "numbers", "claims", "reason")


def withdraw(name: str, layout: Layout, reason: str, root: Path = ROOT) -> str:
    """One line in published/<scale>/withdrawn.csv stays: what its verdicts were, and why it went."""
    require_reason("withdraw", reason, "why is it no artefact any more?")
    if name in artefacts.names(root):
        raise HarnessError(f"{name} is an artefact of the project: delete its YAML first, then withdraw it")
    cells = artefact_file(layout.published, name, ".cells.csv") if name.count("/") == 1 else layout.published
    if not cells.is_file():
        raise HarnessError(f"{name} was not accepted at scale {layout.scale}: there is nothing to withdraw")
    claims = cellfile.claims(artefact_file(layout.published, name, ".claims.csv"))
    printed = [cell for cell in cellfile.cells(cells) if cell["reported"]]
    fared = [in_words(Counter(each["verdict"] for each in lines)) or "none" for lines in (printed, claims)]
    ledger = layout.published / "withdrawn.csv"
    before = ledger.read_text(encoding="utf-8") if ledger.is_file() else ",".join(COLUMNS) + "\n"
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow((now(), name, *fared, reason))
    mine = [layout.root / file for file in manifest.read(layout) if manifest.artefact_of(file) == name]
    publish.publish(layout, {ledger: (before + line.getvalue()).encode()}, gone=mine)
    reproduced.write(root)
    return ledger.relative_to(layout.root).as_posix()
