"""How a verdict looks and reads: a sign, a word, a meaning, never colour alone."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from harness.numbers.verdict_words import MARKS


@dataclass(frozen=True)
class Verdict:
    word: str  # as cells.csv and claims.csv spell it
    meaning: str

    @property
    def sign(self) -> str:
        return MARKS[self.word][0] or "+"

    @property
    def slug(self) -> str:
        return self.word.replace(" ", "-") or "none"

    @property
    def label(self) -> str:
        return self.word or "not printed"


VERDICTS = (
    Verdict("match", "equal to the paper's number after rounding as printed"),
    Verdict("agrees", "the difference lies inside the interval, and one that matters would have been found"),
    Verdict(
        "not refuted", "the difference lies inside an interval that would let pass what is at issue, too"
    ),
    Verdict("differs", "the difference is larger than both spreads explain, in either direction"),
    Verdict("contradicts", "an order, sign or trend that the paper states fails beyond noise"),
    Verdict("unclear", "the interval is wider than the effect: too few seeds or architectures"),
    Verdict("paper issue", "the paper cannot be right or does not say: see the deviation named"),
    Verdict("not comparable", "scaled down: the number is shown, not judged"),
    Verdict("not run", "no run at this scale yet"),
    Verdict("out of reach", "would cost more than this project has; the reason names the cost"),
    Verdict("", "a number that the paper does not print"),
)
BY_WORD = {verdict.word: verdict for verdict in VERDICTS}

# What a reader should look at first: an artefact is listed under the first of these that it has.
_GRAVEST = (
    "contradicts", "differs", "paper issue", "unclear", "not run",
    "not comparable", "out of reach", "not refuted", "agrees", "match", "",
)  # fmt: skip


def gravest(words: Iterable[str]) -> Verdict | None:
    """The verdict that deserves attention first, None where nothing was judged."""
    return BY_WORD[min(words, key=_GRAVEST.index)] if (words := list(words)) else None


def shares(counts: Counter[str]) -> list[tuple[Verdict, float, float]]:
    """Start and width of each verdict's part of a strip that is 100 long."""
    start, found = 0.0, []
    for verdict in VERDICTS:
        if counts[verdict.word]:
            width = 100 * counts[verdict.word] / counts.total()
            found.append((verdict, start, width))
            start += width
    return found
