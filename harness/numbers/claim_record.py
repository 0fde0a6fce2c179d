"""A judged claim: what was measured, the sentences that tell it, and its line in claims.csv."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

BETWEEN = "; "  # of several parts, in a field of claims.csv and in a reason
OURS = "(ours) "  # how the text of a claim begins that is not the paper's
TEXTS = ("id", "text", "where", "verdict", "reason")


@dataclass(frozen=True)
class Part:
    """A comparison that a claim makes, or one of its settings; the claim wants its value to be positive."""

    part: str  # its words, or what has no number
    relation: str = ""  # >, <, =, rising, falling, spread < or spread >
    value: float = math.nan  # a difference or slope; of a spread the share of the scatter
    lo: float = math.nan  # its 95 % interval; of a spread, where equals have it
    hi: float = math.nan
    asked: float = 0.0  # the least; of `=` the most; of a spread the middle of what equals have
    power: float = math.nan  # the smallest difference that would be found four times in five
    runs: int = 0  # of each method that is compared at least; 0 where nothing would come out otherwise
    architectures: int = 0  # that others might stand for
    word: str = ""  # its verdict, taken alone
    setting: bool = False  # one of the settings that another part is about

    @property
    def of_spread(self) -> bool:
        return self.relation.startswith("spread")

    @property
    def interval(self) -> str:
        """`+0.21 ± 0.14`; of a correlation, whose interval has unequal halves, `+0.31 (0.05 to 0.53)`."""
        below, above = self.value - self.lo, self.hi - self.value
        if not (math.isfinite(below) and math.isfinite(above)):
            return f"{self.value:+.3g}"
        if math.isclose(below, above, rel_tol=1e-3, abs_tol=1e-9):
            return f"{self.value:+.3g}" + (f" ± {above:.2g}" if above > 0 else "")
        return f"{self.value:+.3g} ({self.lo:.2g} to {self.hi:.2g})"

    @property
    def measured(self) -> str:
        if self.word == "not run":
            return f"{self.part} has no number at this scale"
        if self.of_spread and math.isnan(self.lo):
            return "a single run has no spread"
        if not math.isfinite(self.value):
            return "one side is not a number"
        if self.of_spread:
            return (
                f"{self.value:.0%} of the scatter over runs, where equals have {self.lo:.0%} to {self.hi:.0%}"
            )
        if self.relation == "=":
            where = {"agrees": ", inside", "contradicts": ", outside"}.get(self.word, " against")
            return f"difference {self.interval}{where} ±{self.asked:g}"
        by = "" if self.word == "unclear" else "by "
        return f"{by}{self.interval}" + (f", asked for {self.asked:g} at least" if self.asked else "")

    @property
    def sentence(self) -> str:
        """What its verdict rests on."""
        told = self.measured
        return told if not self.part or self.word == "not run" else f"{self.part}: {told}"

    def rounded(self) -> "Part":
        """What differs behind ten digits is the machine's."""
        names = ("value", "lo", "hi", "asked", "power")
        return replace(self, **{name: float(f"{getattr(self, name):.10g}") for name in names})


OF_PARTS = {f.name: f.type for f in fields(Part)}
# How a sentence was judged, and what it would take to judge it where that is open.
OF_CLAIM = {"quantifier": str, "settings": int, "hold": int, "fail": int, "sensitive": str}
OF_CLAIM |= {"needed_runs": int, "needed_architectures": int, "would_be": str}
COLUMNS = (*TEXTS, *OF_CLAIM, *OF_PARTS)


@dataclass(frozen=True)
class Claim:
    """A line of claims.csv. One that was accepted before there were columns for its parts has none."""

    id: str
    text: str
    where: str
    verdict: str
    reason: str
    parts: tuple[Part, ...] = ()  # its tests, then the settings that they range over
    quantifier: str = ""
    settings: int = 0  # of all its tests together
    hold: int = 0  # so many of them hold, taken alone,
    fail: int = 0  # and so many fail
    sensitive: str = ""  # its verdict with margins of ours halved and doubled, where that is another
    needed_runs: int = 0  # of each method, and
    needed_architectures: int = 0  # so many, that would decide it if all else stayed as measured
    would_be: str = ""
    scale: str = ""  # a smaller one, where it was judged there (harness/numbers/holes.py)

    @property
    def ours(self) -> bool:
        return self.text.startswith(OURS)

    @property
    def tests(self) -> tuple[Part, ...]:
        """What the sentence as a whole rests on."""
        return tuple(part for part in self.parts if not part.setting)

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
        told = (
            {name: _written(getattr(self, name)) for name in OF_CLAIM}
            if self.parts
            else dict.fromkeys(OF_CLAIM, "")
        )
        of_parts = {
            name: BETWEEN.join(_written(getattr(part, name)) for part in self.parts) for name in OF_PARTS
        }
        return {name: getattr(self, name) for name in TEXTS} | told | of_parts


def reason_of(claim: Claim) -> str:
    """What a verdict rests on: what decides of its tests, and how its settings fare."""
    deciding = [part for part in claim.tests if part.word == claim.verdict] or claim.tests
    told = BETWEEN.join(dict.fromkeys(_telling(claim, part).sentence for part in deciding))
    if claim.settings > 1 and claim.verdict != "not run":
        told += f" ({_of_settings(claim)})"
    return told + (f"; {claim.sensitive}" if claim.sensitive else "")


def told_briefly(claim: Claim) -> str:
    """The same for a list of claims: the first test that decides, and how many settings fare so alone."""
    deciding = [part for part in claim.tests if part.word == claim.verdict] or list(claim.tests)
    if not deciding:
        return claim.reason
    told = (_telling(claim, deciding[0]) if claim.quantifier else deciding[0]).sentence
    told = told.removeprefix("by ").replace(": by ", ": ", 1)
    if claim.settings > 1:
        ways = [f"{claim.hold} {'holds' if claim.hold == 1 else 'hold'}"] * bool(claim.hold)
        ways += [f"{claim.fail} {'fails' if claim.fail == 1 else 'fail'}"] * bool(claim.fail)
        told += f"; of {claim.settings} settings {' and '.join(ways) or 'none is decided'} alone"
    elif deciding[1:]:
        told += f", and {len(deciding) - 1} more"
    return told + (f"; {claim.sensitive}" if claim.sensitive else "")


def _telling(claim: Claim, test: Part) -> Part:
    """Of a test of all its settings the one most against it, of a test of some the one most for it."""
    mine = []
    for part in claim.parts[claim.parts.index(test) + 1 :]:
        if not part.setting:
            break
        mine.append(part)
    if claim.quantifier in ("in all", "consistently") and mine:
        return min(mine, key=_favours)
    return max(mine, key=_favours) if claim.quantifier == "in some" and mine else test


def _favours(part: Part) -> float:
    """By how many half intervals it is on the claim's side."""
    above = part.asked - abs(part.value) if part.relation == "=" else part.value - part.asked
    half = (part.hi - part.lo) / 2
    return above / half if half > 0 else math.copysign(math.inf, above)


def _of_settings(claim: Claim) -> str:
    """`in all 12 settings; 4 hold alone, 1 fails`."""
    words = [f"{claim.hold} {'holds' if claim.hold == 1 else 'hold'}"] if claim.hold else []
    words += [f"{claim.fail} {'fails' if claim.fail == 1 else 'fail'}"] if claim.fail else []
    alone = f"; taken alone {', '.join(words)}" if words else "; taken alone none is decided"
    return f"{claim.quantifier} over {claim.settings} settings{alone}"


def needed_of(claim: Claim, each: str = "") -> str:
    """What it would take to know, if mean and spread stayed as they are; empty where a claim is decided.

    `each` tells how long a run takes.
    """
    if claim.verdict != "unclear" or not claim.tests or not claim.quantifier:
        return ""
    had_runs = min((part.runs for part in claim.tests if part.runs), default=0)
    had = max((part.architectures for part in claim.tests), default=0)
    runs = f"{claim.needed_runs:,} runs instead of {had_runs}{each}" if claim.needed_runs else ""
    sample = (
        f"{claim.needed_architectures:,} architectures instead of {had}" if claim.needed_architectures else ""
    )
    if not runs and not sample:
        return "no number of runs tells: what was measured lies where the claim begins or ends"
    return f"about {' and '.join(filter(None, [runs, sample]))}: {claim.would_be}"


def of_line(line: dict[str, str]) -> Claim:
    """A line read back; a ValueError where its parts are not as they were written."""
    told = {name: line[name] for name in TEXTS} | {"scale": line.get("scale", "")}
    if "setting" not in line:  # accepted before a sentence was one claim
        return Claim(**told, parts=tuple(_of_old(line)))
    if not line["quantifier"]:
        return Claim(**told)
    parts = []
    for values in zip(*(line[name].split(BETWEEN) for name in OF_PARTS), strict=True):
        pairs = zip(OF_PARTS.items(), values, strict=True)
        parts.append(Part(**{name: _read(kind, value) for (name, kind), value in pairs}))
    return Claim(
        **told, parts=tuple(parts), **{name: _read(kind, line[name]) for name, kind in OF_CLAIM.items()}
    )


def _of_old(line: dict[str, str]) -> Sequence[Part]:
    if not line.get("parts"):
        return ()
    names = ("part", "relation", "value", "half", "asked", "runs", "architectures")
    read = []
    for values in zip(*(line[name].split(BETWEEN) for name in names), strict=True):
        part, relation, value, half, asked, runs, sample = values
        value, half, asked = float(value), float(half), float(asked)
        middle = asked if relation.startswith("spread") else value
        lo, hi = (middle - half, middle + half) if math.isfinite(half) else (math.nan, math.nan)
        sizes = {"runs": int(runs), "architectures": int(sample), "word": line["verdict"]}
        read.append(Part(part, relation, value, lo, hi, asked, **sizes))
    return read


def _read(kind: Any, value: str) -> Any:
    if kind is bool:
        return {"True": True, "False": False}[value]
    return kind(value)


def _written(value: str | float) -> str:
    """Two parts stay two, whatever they are called."""
    return value.replace(";", ",") if isinstance(value, str) else repr(value)
