"""REPRODUCED.md: a line per sentence of a paper, with how it fared and what it would take to know."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.accepted import findings, headline
from harness.accepted.number_lines import (
    each,
    how_many,
    issues,
    known,
    link,
    linked,
    name,
    numbers,
    one_by_one,
)
from harness.accepted.outcomes import OLD, Outcome, capital, in_groups, of_consistency
from harness.base.layout import SCALES
from harness.numbers.claim_record import OURS, Claim, needed_of, told_briefly
from harness.numbers.verdict_words import HOLDS, JUDGED, OPEN
from harness.spec import experiments
from harness.spec.fingerprint import claims_at

_INTRO = """\
# Which statements stand

Each line is a sentence of the paper, with its place, the table or figure that tests it, and what was
measured. Everything comes from the outcomes accepted in `published/`, each number and claim at the largest
scale at which it was accepted.

* A sentence is one claim, however many settings it ranges over. "(here, …)" says how it was made testable.
* A difference is signed in the direction of the claim and stands with its 95 % interval. If the claim asks
  for more than a direction, the least that it asks for stands behind it.
* "About 7 runs" is how many per method would decide it if mean and spread stayed as they are; the time is
  that of one run.
* A number *holds* if it equals the printed one after rounding, or if the difference lies inside the 95 %
  interval of both and one that matters would have been found. If not, it is *not refuted*.
* Settings are read back from our configuration; they were not measured. Claims of ours are not the paper's.

[docs/verdicts.md](docs/verdicts.md) has the rules and how often they are wrong. `python -m harness claim
WORDS` finds a claim. `python -m harness reproduced` writes this page; `accept` calls it.
"""

_SECTIONS = {
    "What holds": HOLDS,
    "What is contradicted": ("contradicts",),
    "What is undecided, and what it would take to know": OPEN,
}


@dataclass(frozen=True)
class Fared:
    """A paper and what was accepted of it."""

    paper: experiments.Paper
    found: list[Outcome]
    linked: frozenset[str] = frozenset()  # anchors of claims that the README leads to


def page(papers: list[Fared]) -> str:
    """REPRODUCED.md."""
    lines = [_INTRO, *_head(papers), "", *(line for fared in papers for line in _paper(fared))]
    return "\n".join([*lines, *(f"[{name(o)}]: {o.page}" for fared in papers for o in fared.found), ""])


def _head(papers: list[Fared]) -> Iterator[str]:
    """A row per class, a column per paper."""
    told = {fared.paper.name: headline.of_classes(fared.found) for fared in papers}
    fit = {fared.paper.name: _fit(fared.found) for fared in papers}
    names = [
        name for name in (*headline.CLASSES, headline.OURS) if any(name in each for each in told.values())
    ]
    yield f"| | {' | '.join(f'[{fared.paper.title}](#{fared.paper.name})' for fared in papers)} |"
    yield "|---" * (len(papers) + 1) + "|"
    for row in names:
        kind = "" if row in (*headline.SENTENCES, headline.OURS) else "printed numbers, "
        yield f"| {kind}{row} | {' | '.join(each.get(row, '') for each in told.values())} |"
    if any(fit.values()):
        yield f"| printed numbers against each other | {' | '.join(fit.values())} |"


def _fit(found: list[Outcome]) -> str:
    counts = of_consistency(found)
    n = counts["paper issue"]
    parts = [f"{counts['match']} fit"] * bool(counts["match"])
    return ", ".join(parts + [f"{n} {'does' if n == 1 else 'do'} not"] * bool(n))


def _paper(fared: Fared) -> Iterator[str]:
    found, paper = fared.found, fared.paper
    where = paper.source.get("url", "")
    title = f"[{paper.title}]({where})" if where else paper.title
    yield from (f"## {paper.name}", "", f"*{title}.* {capital(paper.authors)}, {paper.year}.")
    yield from (_scales(fared), "", *_old(found))
    yield from (*(f"- **{word}**: {meaning}." for word, meaning in paper.words.items()), "")
    ours = _Lines(fared, ours=True)
    sections = {
        "What to know of text, code and data": [
            f"- {capital(linked(text, paper.name))}." for text in paper.know
        ],
        **{
            heading: [*numbers(fared.found, words), *_Lines(fared).of(words)]
            for heading, words in _SECTIONS.items()
        },
        "What was judged setting by setting, by an earlier rule": [*_Lines(fared).split()],
        "What differs": [*one_by_one(found, "differs")],
        "Where the paper is at odds with itself or its code": [*issues(found)],
        "What is not judged, and why": [
            *_at_smallest_scale(found),
            *_not_judged(found),
            *(f"- {what}: {why}." for what, why in paper.not_there.items()),
        ],
        "Claims of ours": [
            *(line for word, words in _OURS.items() for line in ours.of(words, f"*{word}:* ")),
            *ours.split(),
        ],
    }
    for heading, entries in sections.items():
        if entries:
            yield from (f"### {heading}", "", *entries, "")


_OURS = {"holds": HOLDS, "contradicted": ("contradicts",), "undecided": OPEN}


def _scales(fared: Fared) -> str:
    """`Accepted: 15 tables and figures at scale cpu, which differs from the published set-up by D8, D12.`"""
    told = []
    for scales, n in Counter(tuple(o.scales) for o in fared.found).items():
        mine = [o.artefact for o in fared.found if tuple(o.scales) == scales]
        differs = dict.fromkeys(d for artefact in mine for d in artefact.differs(scales[-1]))
        by = f", which differs from the published set-up by {', '.join(differs)}" if differs else ""
        at = ", and what is lacking there at scale ".join(scales)
        told.append(f"{n} {'tables and figures' if n > 1 else 'table or figure'} at scale {at}{by}")
    return f"Accepted: {linked('; '.join(told), fared.paper.name) or 'nothing yet'}."


class _Lines:
    """The lines of a paper's claims, or of ours on it."""

    def __init__(self, fared: Fared, ours: bool = False) -> None:
        self.fared = fared
        every = ((o, claims) for o in fared.found for claims in headline.sentences(o.claims))
        self.claims = [(o, claims) for o, claims in every if claims[0].ours == ours]

    def of(self, words: tuple[str, ...], before: str = "") -> Iterator[str]:
        """One for each sentence that fared so."""
        for o, claims in self.claims:
            if len(claims) == 1 and claims[0].verdict in words:
                claim = claims[0]
                told = f"{before}{_sentence(claim.text)} ({_where(o, claim)}) *{told_briefly(claim)}.*"
                told += f" At scale {claim.scale}." * bool(claim.scale)
                yield f"- {self._anchor(o, claims)}{told}{_why(o, claim)}{_it_takes(o, claim)}"

    def split(self) -> Iterator[str]:
        """One for each sentence of which there are settings only."""
        for o, claims in self.claims:
            if len(claims) > 1:
                ways = {
                    word: [claim for claim in claims if claim.verdict in words]
                    for word, words in (*_OURS.items(), ("not judged", _not_judged_words(claims)))
                }
                told = "; ".join(_of_settings(word, those) for word, those in ways.items() if those)
                text = _sentence(claims[0].statement)
                yield f"- {self._anchor(o, claims)}{text} ({_where(o, claims[0])}) {capital(told)}."

    def _anchor(self, o: Outcome, claims: list[Claim]) -> str:
        places = [findings.anchor(o, claim.id) for claim in claims]
        return "".join(f'<a id="{place}"></a>' for place in places if place in self.fared.linked)


def _not_judged_words(claims: list[Claim]) -> tuple[str, ...]:
    return tuple({claim.verdict for claim in claims} - set(JUDGED))


def _of_settings(word: str, claims: list[Claim]) -> str:
    """Named where they say something: what is open or waits is counted."""
    named = f" ({in_groups(claims)})" if word in ("holds", "contradicted") else ""
    return f"{len(claims)} {'hold' if word == 'holds' and len(claims) > 1 else word}{named}"


def _sentence(text: str) -> str:
    return capital(text.removeprefix(OURS))


def _why(o: Outcome, claim: Claim) -> str:
    """What is known of why a sentence is contradicted; deviations are links."""
    if claim.verdict != "contradicts":
        return ""
    written = {each["id"]: each.get("why", "") for each in claims_at(o.artefact, o.scale_of(claim))}
    return known(o, written.get(claim.id, ""))


def _where(o: Outcome, claim: Claim) -> str:
    """Where the paper says it, and the link to where it is shown."""
    named = re.compile(rf"{re.escape(o.name)}(?!\.?\d)([a-z]?)", re.I)
    if named.search(claim.where):
        return named.sub(lambda found: link(o, found[1]), claim.where, count=1)
    return f"{claim.where}, {link(o)}"


def _it_takes(o: Outcome, claim: Claim) -> str:
    runs = needed_of(claim, each(o, claim)).removesuffix(
        ": what was measured lies where the claim begins or ends"
    )
    return f" **{capital(runs)}.**" if runs else ""


def _old(found: list[Outcome]) -> Iterator[str]:
    """Before anything else: which of these verdicts are not today's."""
    for why in dict.fromkeys(o.old for o in found if o.old):
        old = [o for o in found if o.old == why]
        judged = sum(cell["verdict"] in JUDGED for o in old for cell in o.printed)
        claims = sum(claim.verdict in JUDGED for o in old for claim in o.claims)
        links = ", ".join(link(o) for o in old)
        yield from (f"{OLD} {capital(why)} and to be made again: {how_many(judged, claims)} of {links}.", "")


def _at_smallest_scale(found: list[Outcome]) -> Iterator[str]:
    told = [f"{link(o)} ({how_many(*map(len, left))})" for o in found if o.small and any(left := _left(o))]
    if told:
        places = ", ".join(told)
        yield f"- So far at scale {SCALES[0]}, where what is trained or queried is not judged: {places}."


def _not_judged(found: list[Outcome]) -> Iterator[str]:
    """A line per reason; below it the sentences of the paper that wait for it."""
    reasons: dict[str, dict[str, list[int]]] = {}
    waiting: dict[str, dict[str, None]] = {}
    for o in (o for o in found if not o.small):
        numbers, claims = _left(o)
        for cell in numbers:
            reasons.setdefault(cell["reason"], {}).setdefault(link(o), [0, 0])[0] += 1
        for claim in claims:
            reason = _lacking(o, claim)
            reasons.setdefault(reason, {}).setdefault(link(o), [0, 0])[1] += 1
            if not claim.ours:
                text = claim.statement if claim.setting else claim.text
                waiting.setdefault(reason, {})[f"  - {_sentence(text)} ({_where(o, claim)})"] = None
    for reason, places in reasons.items():
        yield f"- {', '.join(f'{how_many(*n)} of {where}' for where, n in places.items())}: {reason}."
        yield from waiting.get(reason, ())


def _left(o: Outcome) -> tuple[list[dict[str, Any]], list[Claim]]:
    """Its numbers and claims that are not judged."""
    numbers = [cell for cell in o.printed if cell["verdict"] not in JUDGED]
    return numbers, [claim for claim in o.claims if claim.verdict not in JUDGED]


def _lacking(o: Outcome, claim: Claim) -> str:
    """The reason; of a claim that lacks a number, the reason why that number is not there."""
    lacks = claim.parts[0].part if claim.parts else ""
    said = [cell["reason"] for cell in o.cells if lacks == f"{cell['row']} / {cell['column']}"]
    return next(filter(None, said), claim.reason)
