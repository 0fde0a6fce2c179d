"""What was found, in a few sentences per paper for the README: words are written, numbers never."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

from harness.accepted import headline
from harness.accepted.outcomes import OLD, Outcome
from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import SCALES
from harness.base.yamlfile import line_of, nearest, read_with_lines, validate
from harness.numbers.claim_record import Claim
from harness.numbers.verdict_words import HOLDS, OPEN
from harness.spec import experiments

MARKERS = ("<!-- found -->", "<!-- /found -->")
WAYS = {"holds": HOLDS, "fails": ("contradicts",), "open": OPEN}
_SAID = {"holds": "This holds", "fails": "This is contradicted", "open": "Whether this holds is undecided"}
# A number in figures that is no part of a name such as CIFAR-10, or one in words.
_NUMBER = re.compile(
    r"(?<![\w-])\d[\w.,%]*|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|fifty"
    r"|hundred|thousand|half|third|quarter|twice|per ?cent)s?\b",
    re.I,
)


@dataclass(frozen=True)
class Sentence:
    """A claim that is worth a sentence, and the sentence by how it came out."""

    artefact: str  # without the paper: figure_4_1
    claim: str
    texts: dict[str, str]  # by the keys of WAYS


def told(paper: experiments.Paper, found: list[Outcome], root: Path = ROOT) -> str:
    """One paragraph: how its sentences fared, and what that comes to."""
    sentences = [_told(one, found, paper.name) for one in read(paper.name, found, root)]
    return " ".join([f"**{_title(paper)}** ({paper.year}).", *filter(None, sentences), _tally(paper, found)])


def read(paper: str, found: list[Outcome], root: Path = ROOT) -> list[Sentence]:
    """reproduce/<paper>/found.yaml; a paper without one has its tally alone."""
    path = root / "reproduce" / paper / "found.yaml"
    if not path.is_file():
        return []
    data, lines = read_with_lines(path)
    validate(data, lines, "found", path)
    known = {_place(o, claim["id"]) for o in found for claim in o.artefact.data.get("claims", [])}
    accepted = {_place(o, claim.id) for o in found for claim in o.claims}
    sentences = []
    for number, one in enumerate(data):
        where = f"{path}, line {line_of(lines, (number, 'claim'))}"
        if one["claim"] not in known | accepted:
            raise HarnessError(f"{where}: there is no claim {one['claim']!r}: {nearest(one['claim'], known)}")
        texts = {way: one[way] for way in WAYS if way in one}
        for way, text in texts.items():
            _require_no_number(text, f"{path}, line {line_of(lines, (number, way))}")
        artefact, _, claim = one["claim"].partition(" ")
        sentences.append(Sentence(artefact, claim, texts))
    return sentences


def _require_no_number(text: str, where: str) -> None:
    for literal, _, _, _ in Formatter().parse(text):
        if number := _NUMBER.search(literal):
            raise HarnessError(
                f"{where}: the number {number[0]!r} is typed by hand: write a field such as {{size:.2f}},"
                " which is filled from the accepted claim"
            )


def anchor(outcome: Outcome, claim: str) -> str:
    """Where a claim stands in REPRODUCED.md."""
    return f"{outcome.artefact.name}/{claim}".replace("/", "-")


def linked(found: list[Outcome], paper: str, root: Path = ROOT) -> set[str]:
    """The anchors that the README's sentences lead to."""
    named = {(one.artefact, one.claim) for one in read(paper, found, root)}
    return {anchor(o, c.id) for o in found for c in o.claims if (_short(o), c.id) in named}


def with_found(readme: str, paragraphs: list[str]) -> str:
    """The README with today's findings between its two markers."""
    start, end = (readme.find(marker) for marker in MARKERS)
    if not 0 <= start < end:
        raise HarnessError(f"README.md lacks the lines {MARKERS[0]!r} and {MARKERS[1]!r}: add them")
    text = "\n".join(f"- {paragraph}" for paragraph in paragraphs)
    return readme[: start + len(MARKERS[0])] + f"\n\n{text}\n\n" + readme[end:]


def _short(outcome: Outcome) -> str:
    return outcome.artefact.name.partition("/")[2]


def _place(outcome: Outcome, claim: str) -> str:
    return f"{_short(outcome)} {claim}"


def _title(paper: experiments.Paper) -> str:
    """A link to the paper, or to its authors' code if no copy of the paper is known."""
    if url := paper.source.get("url"):
        return f"[{paper.title}]({url})"
    code = paper.source.get("code")
    return f"{paper.title} ([its authors' code]({code}))" if code else paper.title


def _tally(paper: experiments.Paper, found: list[Outcome]) -> str:
    apart = [headline.counts(found)[name] for name in headline.SENTENCES]
    counts = sum(apart, Counter())
    hold, fail, still = (sum(counts[word] for word in words) for words in WAYS.values())
    left = counts.total() - hold - fail - still
    if not hold + fail + still:
        return "None of its claims is tested yet."
    earlier = sum(headline.earlier(headline.said(found))[name] for name in headline.SENTENCES)
    parts = [f"{hold} {'holds' if hold == 1 else 'hold'}"] * bool(hold)
    parts += [f"{fail} {'is' if fail == 1 else 'are'} contradicted"] * bool(fail)
    parts += [f"{still} {'is' if still == 1 else 'are'} undecided"] * bool(still)
    more = [f"{left} more {'is' if left == 1 else 'are'} not judged at this scale"] * bool(left)
    more += [f"{earlier} more {'is' if earlier == 1 else 'are'} to be judged anew"] * bool(earlier)
    tested, whole = hold + fail + still, sum(apart[0][word] for words in WAYS.values() for word in words)
    of = f", {'all' if whole == tested else whole} of them at the published set-up," * bool(whole)
    link = f"[{tested} tested claim{'s' * (tested > 1)}](REPRODUCED.md#{paper.name})"
    return f"Of {link}{OLD * any(o.old for o in found)}{of} {'; '.join([_listed(parts), *more])}."


def _listed(parts: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _told(sentence: Sentence, found: list[Outcome], paper: str) -> str:
    """The sentence for the verdict that was accepted; nothing while there is none."""
    for outcome, claim in _accepted(sentence, found):
        for way, words in WAYS.items():
            if claim.verdict in words:
                text = sentence.texts.get(way) or f"{_SAID[way]}: “{claim.statement.rstrip('.')}”"
                link = f"[{outcome.name}](REPRODUCED.md#{anchor(outcome, claim.id)})"
                filled = _filled(text, claim, sentence, paper).rstrip(".")
                ours = "ours, " * claim.ours
                scale = outcome.scale_of(claim)
                smallest = f", scale {scale} so far" * (scale == SCALES[0])
                return f"{filled} ({ours}{link}{OLD * bool(outcome.old)}{smallest})."
    return ""


def _accepted(sentence: Sentence, found: list[Outcome]) -> Iterator[tuple[Outcome, Claim]]:
    for outcome in found:
        if _short(outcome) == sentence.artefact:
            yield from ((outcome, claim) for claim in outcome.claims if claim.id == sentence.claim)


def _filled(text: str, claim: Claim, sentence: Sentence, paper: str) -> str:
    try:
        return text.format(**numbers(claim))
    except (LookupError, ValueError, TypeError) as error:
        path = f"reproduce/{paper}/found.yaml"
        raise HarnessError(
            f"{path}: the sentence for {sentence.artefact} {sentence.claim} cannot be filled ({error}):"
            f" its fields are {', '.join(numbers(claim)) or 'none, as its claim was not measured'}"
        ) from None


def numbers(claim: Claim) -> dict[str, Any]:
    """What a sentence may say of a claim; `least` and `most` are over its settings, or its tests."""
    tests = claim.tests
    if not tests:
        return {}
    sizes = [abs(part.value) for part in claim.parts if part.setting] or [abs(part.value) for part in tests]
    first = tests[0]
    runs = min((part.runs for part in tests if part.runs), default=0)
    found = {
        "size": abs(first.value),
        "least": min(sizes),
        "most": max(sizes),
        "lo": first.lo,
        "hi": first.hi,
    }
    found |= {"half": (first.hi - first.lo) / 2, "asked": first.asked, "runs": runs}
    return found | {"settings": claim.settings, "hold": claim.hold, "fail": claim.fail}
