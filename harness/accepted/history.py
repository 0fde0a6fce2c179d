"""published/<scale>/history.csv: each verdict, and each test of a claim, that changed after it was accepted.

An order that turns into another one because a test was changed is no finding; so each line says what changed
beside the verdict.
"""

import csv
import io
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from harness.base.layout import Layout, artefact_file
from harness.numbers import cellfile
from harness.numbers.verdict_words import JUDGED

BESIDE = ("test", "rule", "runs", "code")  # what may change beside a verdict


@dataclass(frozen=True)
class Change:
    """A line: a claim that was judged otherwise, or by another test, than before."""

    day: str
    commit: str  # of the code that judged
    artefact: str
    claim: str
    before: str  # a verdict; empty of a claim that is new beside others
    after: str  # empty of one that was taken away
    changed: str  # which of BESIDE
    reason: str  # that `accept` was given

    @property
    def sentence(self) -> str:
        """`2026-11-18 (ab12cd3): agrees → unclear, by another test: why`."""
        verdict = f"{self.before or 'new'} → {self.after or 'taken away'}"
        if self.before == self.after:
            verdict = f"still {self.after}"
        beside = ", ".join(f"other {word}" for word in self.changed.split())
        return f"{self.day} ({self.commit}): {verdict}{f' ({beside})' if beside else ''}: {self.reason}"


COLUMNS = tuple(field.name for field in fields(Change))


def path_of(layout: Layout) -> Path:
    return layout.published / "history.csv"


def read(layout: Layout) -> list[Change]:
    """From the first to the last."""
    path = path_of(layout)
    if not path.is_file():
        return []
    reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline=""))
    lines = list(reader)
    for number, line in enumerate(lines, 2):
        if set(line) != set(COLUMNS) or None in line.values():
            raise cellfile.Damaged(path, f"line {number} has not the fields {', '.join(COLUMNS)}")
    return [Change(**line) for line in lines]


def of_claim(artefact: str, claim: str, layout: Layout) -> list[Change]:
    return [each for each in read(layout) if (each.artefact, each.claim) == (artefact, claim)]


def with_changes(layout: Layout, found: list[Change]) -> dict[Path, bytes]:
    """The file with these behind what it had; nothing where nothing changed."""
    if not found:
        return {}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(astuple(each) for each in [*read(layout), *found])
    return {path_of(layout): text.getvalue().encode()}


def changes(
    artefact: str, layout: Layout, claims: str, noted: dict[str, Any], day: str, commit: str, reason: str
) -> Iterator[Change]:
    """What is other in these claims and this provenance than in those accepted before, if there are such."""
    path = artefact_file(layout.published, artefact, ".claims.csv")
    if not path.is_file():
        return
    then = cellfile.provenance(artefact_file(layout.published, artefact, ".provenance.json"))
    old, new = (
        {line["id"]: line["verdict"] for line in lines}
        for lines in (cellfile.claims(path), cellfile.claims_in(claims, path))
    )
    for claim in [*new, *(claim for claim in old if claim not in new)]:
        before, after = old.get(claim, ""), new.get(claim, "")
        beside = beside_of(claim, then, noted) if before and after else []
        if before != after or ("test" in beside and after in JUDGED):
            told = " ".join(beside) if before and after else ""
            yield Change(day, commit, artefact, claim, before, after, told, reason)


def beside_of(claim: str, then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What two provenances of an artefact differ in that a verdict of this claim may hang on."""
    tests = [noted.get("claims", {}).get(claim) for noted in (then, now)]
    ran = [{run["run"]: run for run in noted["runs"]} for noted in (then, now)]
    codes = [{name: run.get("code") for name, run in runs.items()} for runs in ran]
    differs = {
        "test": tests[0] != tests[1],
        "rule": then.get("rule") != now.get("rule"),
        "runs": ran[0].keys() != ran[1].keys(),
        "code": any(codes[0][name] != codes[1][name] for name in ran[0].keys() & ran[1].keys()),
    }
    return [word for word in BESIDE if differs[word]]
