"""`python -m harness claim WORDS`: what is known of the claims that have these words, over all papers."""

from collections.abc import Iterator
from pathlib import Path

from harness.accepted import history, outcomes
from harness.accepted.number_lines import each
from harness.accepted.outcomes import Outcome
from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import Layout
from harness.numbers.claim_record import Claim, needed_of
from harness.numbers.verdict_words import JUDGED
from harness.spec import artefacts, experiments
from harness.spec.artefacts import Artefact


def lines(asked: str, root: Path = ROOT) -> Iterator[str]:
    """A line per claim and, below it, how its verdict changed; then what of the papers is not there."""
    words = asked.casefold().split()
    if not words:
        raise HarnessError("claim needs words to look for, e.g. claim 'skip connections'")
    nothing = True
    for artefact in artefacts.artefacts(root):
        for line in _of_artefact(artefact, words, root):
            nothing = False
            yield line
    for name in experiments.paper_names(root):
        for what, why in experiments.paper(name, root).not_there.items():
            if _meets(words, name, what, why):
                nothing = False
                yield f"not reproduced  {name}, {what}: {why}"
    if nothing:
        raise HarnessError(f"no claim has the words {asked!r}: try fewer; REPRODUCED.md has all of them")


def _of_artefact(artefact: Artefact, words: list[str], root: Path) -> Iterator[str]:
    """Its claims as they were accepted; those that were not, as its YAML has them."""
    found = outcomes.accepted(artefact, root)
    known = {claim.id: claim for claim in found.claims} if found else {}
    for written in artefact.data.get("claims", []):
        claim = known.get(written["id"])
        text = claim.text if claim else written["text"]
        if not _meets(words, artefact.paper, artefact.label, text, written["id"], artefact.data["title"]):
            continue
        place = f"{artefact.name} {written['id']}: {text}"
        if not (found and claim):
            yield f"{'never accepted':15} {place}"
            continue
        yield "; ".join([f"{claim.verdict:15} {place}", *_known(found, claim)])
        layout = Layout(found.scale_of(claim), root)
        yield from (f"    {change.sentence}" for change in history.of_claim(artefact.name, claim.id, layout))


def _known(found: Outcome, claim: Claim) -> Iterator[str]:
    """What was measured at which scale, of how many runs, what it hangs on, and what it would take."""
    yield claim.reason
    runs = {part.runs for part in claim.parts if part.runs}
    scale = found.scale_of(claim)
    yield f"scale {scale}" + (f", {min(runs)} runs of each method at least" if runs else "")
    if claim.verdict in JUDGED and (differs := found.artefact.differs(scale)):
        yield f"hangs on {', '.join(differs)}"
    if found.old:
        yield f"{outcomes.OLD} {found.old}"
    if needed := needed_of(claim, each(found, claim)):
        yield needed


def _meets(words: list[str], *texts: str) -> bool:
    """All of the words, whatever stands between them: `skip connections` meets `skip-connection`s, too."""
    there = " ".join(texts).casefold().replace("-", " ")
    return all(word.replace("-", " ") in there for word in words)
