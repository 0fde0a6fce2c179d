"""How a paper's numbers and claims fared, in classes that say how that is known."""

from collections import Counter
from collections.abc import Iterable

from harness.accepted.outcomes import Outcome, grouped, kind_of
from harness.numbers.claim_record import Claim
from harness.spec.artefacts import Artefact

PUBLISHED, SMALLER = "measured at the published set-up", "measured smaller"
SENTENCES = ("claims at the published set-up", "claims measured smaller")
COUNTED, SETTINGS = "counted or looked up", "settings read back"
NOT_RUN, OURS = "not run", "claims of ours"
CLASSES = (PUBLISHED, SMALLER, *SENTENCES, COUNTED, SETTINGS, NOT_RUN)
_OF_KIND = {"settings": SETTINGS, "counted or looked up": COUNTED, "not run": NOT_RUN}
_MANY = {
    "holds": "hold",
    "differs": "differ",
    "contradicts": "are contradicted",
    "paper issue": "paper issues",
}
_ONE = {"contradicts": "is contradicted"}


def class_of(kind: str, artefact: Artefact, scale: str) -> str:
    """Of a printed number, by the kind of what stands beside it."""
    return _OF_KIND.get(kind) or (SMALLER if is_smaller(artefact, scale) else PUBLISHED)


def is_smaller(artefact: Artefact, scale: str) -> bool:
    """Smoke is never the published set-up."""
    return scale == "smoke" or bool(artefact.differs(scale))


def class_of_claims(claims: list[Claim], artefact: Artefact, scale: str) -> str:
    """Of a sentence of the paper, by where it was judged; ours are apart."""
    return OURS if claims[0].ours else SENTENCES[is_smaller(artefact, claims[0].scale or scale)]


def counts(found: Iterable[Outcome]) -> dict[str, Counter[str]]:
    """Verdicts by class."""
    numbers = (
        (class_of(kind_of(c), o.artefact, o.scale_of(c)), c["verdict"]) for o in found for c in o.printed
    )
    return tally(numbers, said(found))


def tally(
    numbers: Iterable[tuple[str, str]], groups: Iterable[tuple[str, list[Claim]]]
) -> dict[str, Counter[str]]:
    """Of printed numbers by class, and of sentences by class that were judged as one."""
    told: dict[str, Counter[str]] = {name: Counter() for name in (*CLASSES, OURS)}
    for name, verdict in numbers:
        told[name][verdict] += 1
    for name, claims in groups:
        if len(claims) == 1:
            told[name][claims[0].verdict] += 1
    return told


def sentences(claims: Iterable[Claim]) -> list[list[Claim]]:
    """The claims of an artefact; in one list those that an earlier rule made of one sentence."""
    groups: dict[tuple[str, str], list[Claim]] = {}
    for claim in claims:
        groups.setdefault(("", claim.statement) if claim.setting else (claim.id, ""), []).append(claim)
    return list(groups.values())


def said(found: Iterable[Outcome]) -> list[tuple[str, list[Claim]]]:
    """The sentences of all, each behind its class."""
    every = [(o, claims) for o in found for claims in sentences(o.claims)]
    return [(class_of_claims(claims, o.artefact, o.scale), claims) for o, claims in every]


def earlier(groups: Iterable[tuple[str, list[Claim]]]) -> Counter[str]:
    """By class how many sentences an earlier rule judged setting by setting."""
    return Counter(name for name, claims in groups if claims[1:])


def in_words(verdicts: Counter[str], name: str) -> str:
    """`16 hold, 1 is contradicted, 39 unclear`."""
    if name == SETTINGS and verdicts:  # not measured: they can hardly fail
        return f"{verdicts.total()} as printed" if verdicts.total() == verdicts["match"] else _told(verdicts)
    return _told(verdicts)


def _told(verdicts: Counter[str]) -> str:
    return ", ".join(
        f"{n} {_ONE.get(word, word) if n == 1 else _MANY.get(word, word)}"
        for word, n in grouped(verdicts).items()
    )


def of_classes(found: list[Outcome]) -> dict[str, str]:
    """In words, of the classes that there are."""
    return with_split(counts(found), earlier(said(found)))


def with_split(verdicts: dict[str, Counter[str]], split: dict[str, int]) -> dict[str, str]:
    """In words; behind the sentences how many an earlier rule judged setting by setting."""
    told = {name: in_words(counts, name) for name, counts in verdicts.items()}
    for name, n in split.items():
        more = [f"{n} by an earlier rule, setting by setting"] * bool(n)
        told[name] = "; ".join(filter(None, [told.get(name, ""), *more]))
    return {name: words for name, words in told.items() if words}
