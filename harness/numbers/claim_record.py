"""A judged claim: what was measured of each part, the sentences that tell it, and its line in claims.csv."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

BETWEEN = "; "  # of several parts, in a field of claims.csv and in a reason
OURS = "(ours) "  # how the text of a claim begins that is not the paper's
TEXTS = ("id", "text", "where", "verdict", "reason")
OF_PARTS = {"part": str, "relation": str, "value": float, "half": float, "asked": float}
OF_PARTS |= {"seeds": int, "runs": int, "architectures": int}
COLUMNS = (*TEXTS, "parts", *OF_PARTS)
_ORDER = ("contradicts", "not run", "unclear", "agrees")  # a claim is as good as its worst part


@dataclass(frozen=True)
class Part:
    """One of the comparisons that a claim makes. Its value is signed so that the claim wants it positive.

    A claim holds where each part does, at 95 % each. It fails where any part does: of many parts one lies
    outside its own interval by chance, so that a part fails beyond the interval that all parts share.
    """

    part: str  # its words, or what has no number
    relation: str = ""  # >, <, =, rising, falling, spread < or spread >
    value: float = math.nan  # a difference or slope; of a spread the share of the scatter
    half: float = 0.0  # half of the value's 95 % interval; of a spread, of what equals have
    asked: float = 0.0  # the least; of `=` the most; of a spread the middle of what equals have
    seeds: int = 0  # on how many shared ones it was measured, where one side has others too
    runs: int = 0  # of each method that is compared at least; 0 where nothing would come out otherwise
    architectures: int = 0  # that others might stand for
    verdict: str = ""
    parts: int = 1  # of its claim

    @property
    def above(self) -> float:
        """By how much it is on the claim's side of what is asked."""
        if self.relation == "=":
            return self.asked - abs(self.value)
        return self.asked - self.value if self.relation == "spread <" else self.value - self.asked

    @property
    def of_spread(self) -> bool:
        return self.relation.startswith("spread")

    def judged(self, wide: float) -> "Part":
        """With its verdict; `wide` is half of the interval that all parts share."""
        holds = self.above >= self.half if self.relation == "=" else self.above > self.half
        if not math.isfinite(self.value):
            word = "contradicts"
        elif holds:
            word = "agrees"
        else:
            word = "contradicts" if self.above + wide < 0 or self.half == 0 else "unclear"
        digits = {name: _ten_digits(getattr(self, name)) for name in ("value", "half", "asked")}
        return replace(self, verdict=word, **digits)

    @property
    def measured(self) -> str:
        if self.of_spread and math.isinf(self.half):
            return "a single run has no spread"
        if not math.isfinite(self.value):
            return "one side is not a number"
        if self.of_spread:
            low, high = self.asked - self.half, self.asked + self.half
            return f"{self.value:.0%} of the scatter over runs, where equals have {low:.0%} to {high:.0%}"
        told = f"{self.value:+.3g}" + (f" ± {self.half:.2g}" if self.half else "")
        told += f" on the {self.seeds} seeds of both" if self.seeds else ""
        if self.relation == "=":
            return f"difference {told}"
        return told + (f", asked for {self.asked:g} at least" if self.asked else "")

    def sentence(self, brief: bool = False) -> str:
        """What its verdict rests on; `brief` where it stands among unclear ones."""
        if self.verdict == "not run":
            return f"{self.part} has no number at this scale"
        told = self.measured
        if not self.of_spread and math.isfinite(self.value):
            off = self.verdict == "unclear" and self.above + self.half < 0
            if self.relation == "=":
                where = "inside" if self.verdict == "agrees" else "outside"
                told += " against" if self.verdict == "unclear" and not off else f", {where}"
                told += f" ±{self.asked:g}"
            elif self.verdict != "unclear" or off:
                told = f"by {told}"
            elif not brief:
                told += ": the interval is wider than the effect"
            if off:
                told += f": less far off than one of {self.parts} parts may be by chance"
        return f"{self.part}: {told}" if self.part else told


@dataclass(frozen=True)
class Claim:
    """A line of claims.csv. One that was accepted before there were columns for its parts has none."""

    id: str
    text: str
    where: str
    verdict: str
    reason: str
    parts: tuple[Part, ...] = ()  # those that decide

    @property
    def ours(self) -> bool:
        return self.text.startswith(OURS)

    @property
    def setting(self) -> str:
        """`NB101-1, SPOS` of `(ours) NB101-1, SPOS: it is so.`"""
        setting, colon, _ = self.text.removeprefix(OURS).partition(": ")
        return setting if colon else ""

    @property
    def statement(self) -> str:
        """`(ours) It is so.`"""
        told = self.text.removeprefix(OURS).removeprefix(f"{self.setting}: " if self.setting else "")
        return OURS * self.ours + told[:1].upper() + told[1:]

    def line(self) -> dict[str, str]:
        """As claims.csv has it."""
        line = {name: getattr(self, name) for name in TEXTS} | dict.fromkeys(COLUMNS[len(TEXTS) :], "")
        if self.parts:
            line["parts"] = str(self.parts[0].parts)
            for name in OF_PARTS:
                line[name] = BETWEEN.join(_written(getattr(part, name)) for part in self.parts)
        return line


def decided(claim: dict[str, Any], parts: Sequence[Part]) -> Claim:
    """The verdict of all its parts, with those that decide it."""
    word = min((part.verdict for part in parts), key=_ORDER.index)
    worst = tuple(part for part in parts if part.verdict == word)
    return Claim(claim["id"], claim["text"], claim["where"], word, reason_of(worst), worst)


def reason_of(parts: Sequence[Part], brief: bool = False) -> str:
    return BETWEEN.join(dict.fromkeys(part.sentence(brief) for part in parts))


def of_line(line: dict[str, str]) -> Claim:
    """A line read back; a ValueError where its parts are not as they were written."""
    parts = []
    if line.get("parts"):
        several = zip(*(line[name].split(BETWEEN) for name in OF_PARTS), strict=True)
        kinds = OF_PARTS.values()
        for fields in several:
            read = (kind(field) for kind, field in zip(kinds, fields, strict=True))
            parts.append(Part(*read, line["verdict"], int(line["parts"])))
    return Claim(*(line[name] for name in TEXTS), tuple(parts))


def _ten_digits(value: float) -> float:
    """What differs behind them is the machine's."""
    return float(f"{value:.10g}")


def _written(value: str | float) -> str:
    """Two parts stay two, whatever they are called."""
    return value.replace(";", ",") if isinstance(value, str) else repr(value)
