"""REPRODUCED.md: per paper which statements stand, which do not, and what it would take to know."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.accepted import findings, runs_needed
from harness.accepted.outcomes import (
    KINDS_OF_NUMBERS,
    OLD,
    Outcome,
    capital,
    grouped,
    in_groups,
    in_words,
    of_claims,
    of_consistency,
    of_numbers,
)
from harness.base.layout import SCALES
from harness.make import render
from harness.numbers.claim_record import Claim, needed_of
from harness.numbers.verdict_words import HOLDS, JUDGED, VERDICTS
from harness.runs.forecast import duration
from harness.spec import experiments
from harness.spec.fingerprint import claims_at

OF_CLAIMS = ("holds", "contradicts", "unclear", "not judged")
SHOWN = 6  # numbers of an artefact that are listed one by one

_INTRO = """\
# Which statements stand

Per paper: what holds, what contradicts or differs and why, what is unclear and what it would take to know,
and what is not judged. All of it comes from the outcomes accepted in `published/`, of the largest scale at
which each table or figure was accepted. `python -m harness reproduced` writes this page; `accept` calls it.

Counted are the numbers that a paper prints and its sentences that a machine can test. A number *holds* if it
is equal as printed, or if the difference is inside the 95 % interval of both sides and one that matters would
have been found; if not, it is *not refuted*. Settings are read back from our configuration and say less. A
sentence is one claim, over however many settings it ranges; how these fare alone stands behind it.
"(here, …)" is how a claim was made testable; "(ours)" is a claim that the paper does not make, or what its
test gives at a scale that changed what it is about. A measured difference is signed in the direction of the
claim, ± half of its 95 % interval; where a claim asks for more than a direction, the least that it asks for
stands behind it. What it would take are the fewest runs, or architectures, at which the claim would hold or
fail if mean and spread stayed as measured; how long each took is the median of its table or figure. One
measurement may decide several claims, and a printed number that stands beside several of ours is counted
with each. Whether sums, shares and sentences of a paper fit its own printed numbers is looked at without any
run of ours, rounding taken into account. [docs/verdicts.md](docs/verdicts.md) has the rules, and how often
they are wrong.
"""


@dataclass(frozen=True)
class Fared:
    """A paper and what was accepted of it."""

    paper: experiments.Paper
    found: list[Outcome]
    linked: frozenset[str] = frozenset()  # anchors of claims that the README leads to


def counted(found: list[Outcome]) -> str:
    numbers = {kind: in_words(of_numbers(found, kind)) for kind in KINDS_OF_NUMBERS}
    numbers["settings"] = numbers["settings"].replace(" hold", " as printed")  # not measured: a class apart
    told = "; ".join(f"{kind}: {words}" for kind, words in numbers.items() if words)
    return f"{told or 'none'} | {in_words(of_claims(found, ours=False)) or 'none'}"


def page(papers: list[Fared]) -> str:
    """REPRODUCED.md."""
    lines = [_INTRO, "| paper | printed numbers | claims |", "|---|---|---|"]
    for fared in papers:
        lines.append(f"| [{fared.paper.title}](#{fared.paper.name}) | {counted(fared.found)} |")
    return "\n".join([*lines, "", *(line for fared in papers for line in _paper(fared))])


def _paper(fared: Fared) -> Iterator[str]:
    found, paper = fared.found, fared.paper
    scales = [
        f"{n} {'tables and figures' if n > 1 else 'table or figure'} at scale {scale}"
        for scale, n in Counter(o.scale for o in found).items()
    ]
    yield from (f"## {paper.name}", "", f"*{paper.title}.* {capital(paper.authors)}, {paper.year}.")
    yield from (f"Accepted: {', '.join(scales) or 'nothing yet'}.", "", *_counts(found), "")
    yield from _old(found)
    if paper.words:
        yield from (*(f"- **{word}**: {meaning}." for word, meaning in paper.words.items()), "")
    sections = {
        "What to know of text, code and data": [
            f"- {capital(_linked(text, paper.name))}." for text in paper.know
        ],
        "Claims that fare otherwise from setting to setting": [*_mixed(found)],
        "What holds": [*_numbers_that_hold(found), *_claims(fared, HOLDS)],
        "What contradicts": [*_claims(fared, ("contradicts",))],
        "What differs": [*_one_by_one(found, "differs")],
        "Where the paper is at odds with itself or its code": [*_issues(found)],
        "What is unclear, and what it would take to know": [
            *_one_by_one(found, "unclear"),
            *_one_by_one(found, "not refuted"),
            *_claims(fared, ("unclear", "not refuted")),
        ],
        "What is not judged, and why": [
            *_at_smallest_scale(found),
            *_not_judged(found),
            *(f"- {what}: {why}." for what, why in paper.not_there.items()),
        ],
    }
    for heading, entries in sections.items():
        if entries:
            yield from (f"### {heading}", "", *entries, "")


def _counts(found: list[Outcome]) -> Iterator[str]:
    rows = {
        **{f"printed numbers, {kind}": of_numbers(found, kind) for kind in KINDS_OF_NUMBERS},
        "claims of the paper": of_claims(found, ours=False),
        "claims of ours": of_claims(found, ours=True),
        "printed numbers against each other": of_consistency(found),
    }
    words = [word for word in VERDICTS if any(counts[word] for counts in rows.values())]
    yield f"| | {' | '.join([*words, 'all'])} |"
    yield "|---" * (len(words) + 2) + "|"
    for name, counts in rows.items():
        if counts:
            cells = [str(counts[word] or "") for word in words]
            yield f"| {' | '.join([name, *cells, str(counts.total())])} |"


def _numbers_that_hold(found: list[Outcome]) -> Iterator[str]:
    for o in found:
        counts = of_numbers([o])
        n, of = sum(counts[word] for word in HOLDS), counts.total()
        if n:
            share = f"All {n}" if n == of else f"{n} of {of}"
            told = "" if n == counts["match"] else f", {counts['match']} of them to the last printed digit"
            yield f"- {share} printed numbers of {o.link}{told}."


def _settings(found: list[Outcome]) -> Iterator[tuple[Outcome, list[Claim]]]:
    """Their claims, those together that are one claim in several settings."""
    for o in found:
        groups: dict[tuple[str, str], list[Claim]] = {}
        for claim in o.claims:
            groups.setdefault(("", claim.statement) if claim.setting else (claim.id, ""), []).append(claim)
        yield from ((o, claims) for claims in groups.values())


def _mixed(found: list[Outcome]) -> Iterator[str]:
    """A row per claim whose settings come to several verdicts: the sections below have its parts."""
    rows = []
    for o, claims in _settings(found):
        counts = grouped(Counter(claim.verdict for claim in claims))
        if len(counts) > 1:
            numbers = " | ".join(str(counts.get(group, "")) for group in OF_CLAIMS)
            text = claims[0].statement.replace("|", "\\|")
            rows.append(f"| {text} ({o.link}) | {numbers} |")
    if rows:
        yield from (f"| claim | {' | '.join(OF_CLAIMS)} |", "|---" * (len(OF_CLAIMS) + 1) + "|", *rows)


def _claims(fared: Fared, words: tuple[str, ...]) -> Iterator[str]:
    """A line per claim; of one that is made in several settings, those in which it fares so."""
    for o, claims in _settings(fared.found):
        several, made = len(claims) > 1, [claim for claim in claims if claim.verdict in words]
        if not made:
            continue
        among = f" *{len(made)} of {len(claims)}: {in_groups(made)}.*" if several else ""
        places = [findings.anchor(o, claim.id) for claim in made]
        here = "".join(f'<a id="{place}"></a>' for place in places if place in fared.linked)
        yield f"- {here}{made[0].statement if several else made[0].text}{among} ({_where(o, made[0])})"
        if made[0].verdict not in HOLDS:
            yield from (f"  - {_measured(o, claim, several)}" for claim in made)
        if made[0].verdict == "contradicts":
            written = {claim["id"]: claim.get("why", "") for claim in claims_at(o.artefact, o.scale)}
            yield from _reasons(o, [written.get(claim.id, "") for claim in made])


def _reasons(o: Outcome, written: list[str]) -> Iterator[str]:
    """What is known of why these are so, each once; deviations are links."""
    differs = " and ".join(o.artefact.differs(o.scale))
    unknown = (
        f"not known; scale {o.scale} is not the published set-up ({differs})" if differs else "not known"
    )
    for why in dict.fromkeys(written):
        yield f"  - Why: {_linked(why or unknown, o.artefact.paper)}."


def _linked(text: str, paper: str) -> str:
    """Its numbered deviations as links."""
    return re.sub(r"\bD\d+\b", rf"[\g<0>](reproduce/{paper}/NOTES.md)", text)


def _where(o: Outcome, claim: Claim) -> str:
    """Where the paper says it, and the link to where it is shown."""
    named = re.compile(rf"{re.escape(o.name)}(?!\.?\d)", re.I)
    return (
        named.sub(o.link, claim.where, count=1) if named.search(claim.where) else f"{claim.where}, {o.link}"
    )


def _measured(o: Outcome, claim: Claim, several: bool) -> str:
    return (
        f"{claim.setting if several else 'Measured'}: {claim.reason}.{_it_takes(needed_of(claim, _each(o)))}"
    )


def _it_takes(runs: str) -> str:
    return f" **{capital(runs)}.**" if runs else ""


def _each(o: Outcome) -> str:
    """How long one of its runs took."""
    return f" ({duration(o.seconds)} each)" if o.seconds else ""


def _one_by_one(found: list[Outcome], word: str) -> Iterator[str]:
    for o in found:
        cells = [cell for cell in o.printed if cell["verdict"] == word]
        for cell in cells[:SHOWN]:
            ours = render.ours(cell, render.format_of(o.artefact, cell))
            runs = runs_needed.for_number(o.artefact, cell, _each(o)) if word in runs_needed.OPEN else ""
            yield (
                f"- {cell['row']}, {cell['column']}: {ours}, printed {cell['reported']} ({o.link})\n"
                f"  - {capital(cell['reason'])}.{_it_takes(runs)}"
            )
            if word == "differs":
                asked = (str(cell["row"]), str(cell["column"]))
                written = [c.select.get("why", "") for c in o.artefact.cells if (c.row, c.column) == asked]
                yield from _reasons(o, written or [""])
        if cells[SHOWN:]:
            yield f"- {len(cells) - SHOWN} more of the {len(o.printed)} printed numbers of {o.link}."


def _issues(found: list[Outcome]) -> Iterator[str]:
    """By deviation: how many numbers it explains; then what does not fit together on the paper's pages."""
    for o in found:
        explained = {(c["row"], c["column"]) for c in o.printed if c["verdict"] == "paper issue"}
        issues = [c.select.get("paper_issue", "") for c in o.artefact.cells if (c.row, c.column) in explained]
        for issue, n in Counter(filter(None, issues)).items():
            deviation, _, why = issue.partition(": ")
            notes = f"[{deviation}](reproduce/{o.artefact.paper}/NOTES.md)"
            yield f"- {_how_many(n, 0)} of {o.link}: {why} ({notes})."
        yield from (f"- {o.link}: {one.told}." for one in o.artefact.data["consistency"] if one.wrong)


def _old(found: list[Outcome]) -> Iterator[str]:
    """Before anything else: which of these verdicts are not today's."""
    for why in dict.fromkeys(o.old for o in found if o.old):
        old = [o for o in found if o.old == why]
        numbers = sum(cell["verdict"] in JUDGED for o in old for cell in o.printed)
        claims = sum(claim.verdict in JUDGED for o in old for claim in o.claims)
        links = ", ".join(o.link for o in old)
        how_many = _how_many(numbers, claims)
        yield from (f"{OLD} {capital(why)} and to be made again: {how_many} of {links}.", "")


def _at_smallest_scale(found: list[Outcome]) -> Iterator[str]:
    told = [f"{o.link} ({_how_many(*map(len, left))})" for o in found if o.small and any(left := _left(o))]
    if told:
        places = ", ".join(told)
        yield f"- So far at scale {SCALES[0]}, where what is trained or queried is not judged: {places}."


def _not_judged(found: list[Outcome]) -> Iterator[str]:
    """A line per reason."""
    reasons: dict[str, dict[str, list[int]]] = {}
    for o in (o for o in found if not o.small):
        numbers, claims = _left(o)
        for k, told in enumerate(([c["reason"] for c in numbers], [_why(o, claim) for claim in claims])):
            for reason in told:
                reasons.setdefault(reason, {}).setdefault(o.link, [0, 0])[k] += 1
    for reason, places in reasons.items():
        yield f"- {', '.join(f'{_how_many(*n)} of {link}' for link, n in places.items())}: {reason}."


def _left(o: Outcome) -> tuple[list[dict[str, Any]], list[Claim]]:
    """Its numbers and claims that are not judged."""
    numbers = [cell for cell in o.printed if cell["verdict"] not in JUDGED]
    return numbers, [claim for claim in o.claims if claim.verdict not in JUDGED]


def _how_many(numbers: int, claims: int) -> str:
    parts = [(numbers, "number"), (claims, "claim")]
    return " and ".join(f"{n} {word}{'s' * (n > 1)}" for n, word in parts if n)


def _why(o: Outcome, claim: Claim) -> str:
    """The reason; of a claim that lacks a number, the reason why that number is not there."""
    lacks = claim.parts[0].part if claim.parts else ""
    said = [cell["reason"] for cell in o.cells if lacks == f"{cell['row']} / {cell['column']}"]
    return next(filter(None, said), claim.reason)
