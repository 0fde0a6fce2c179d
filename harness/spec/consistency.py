"""Whether what a paper prints fits together, by its numbers alone: `consistency: |` of an artefact."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from harness.base.errors import HarnessError
from harness.base.layout import KINDS
from harness.base.yamlfile import Lines, line_of, nearest, read_with_lines, validate
from harness.spec.expand import expanded
from harness.spec.printed import numbers

SIGNS = ("==", "=", "<", ">")
FORM = f"write 'row | column = row | column  # section 1', with one of {', '.join(SIGNS)} between two sides"
MOST = 10_000  # combinations of a line's words
LONGEST = 40  # characters of a number
SHOWN = 3  # of those that do not fit
_NUMBER = re.compile(r"([-+]?)(\d[\d ,]*(?:\.\d*)?)(?:[eE]([-+]?\d\d?))?(%|K|M)?(?: \((\d+\.?\d*)\))?")
_UNIT = {"%": 0.01, "K": 1e3, "M": 1e6, None: 1.0, "": 1.0}
_PLACE = re.compile(
    r"\b(?i:pages?|sections?|tables?|figures?|appendix|algorithms?|equations?|eq\.) [A-Z]?\.?\d"
    r"|\b(?i:appendix|algorithm) [A-Z]\b|§ ?[A-Z]?\.?\d|\bD\d+\b"
)
_OWN = ""  # the artefact's own printed numbers, beside those of others by their names
Printed = dict[str, dict[str, dict[str, str]]]


def is_place(where: str) -> bool:
    """Whether it names a page, section, table, figure, … of the paper, or a deviation of ours."""
    return bool(_PLACE.search(where))


@dataclass(frozen=True)
class Interval:
    """A printed number: from where to where it may have been rounded; `spread` is what stands behind it."""

    value: float
    low: float
    high: float
    spread: "Interval | None" = None

    def __str__(self) -> str:
        return f"{self.value:,.5g}"


@dataclass(frozen=True)
class Statement:
    """What has to fit, where the paper says so, in words if it does not, and its readings that do not."""

    where: str
    words: str
    wrong: tuple[str, ...]

    @property
    def told(self) -> str:
        rest = f" and {len(self.wrong) - SHOWN} more" if len(self.wrong) > SHOWN else ""
        return (
            f"{self.words or 'the numbers do not fit'} ({self.where}): {', '.join(self.wrong[:SHOWN])}{rest}"
        )


@dataclass(frozen=True)
class _Reader:
    """Of one line: what is printed where, how many runs stand behind it, and how a mistake is told."""

    printed: Printed
    runs: int
    wrong: Callable[[str], HarnessError]

    def statement(self, text: str) -> str:
        """What does not fit of one line without words; '' if it does."""
        for sign in re.finditer(
            r" (==|=|<|>) ", text
        ):  # a name may hold a sign: the reading whose cells there are is meant
            sides = text[: sign.start()].strip(), text[sign.end() :].strip()
            left, right = map(self.side, sides)
            if left is not None and right is not None:
                return "" if _fit(left, sign[1], right) else f"{text}: {left} against {right}"
        for part in re.split(r" (?:==|=|<|>|minus|plus|times|over) ", text):
            self.cells(re.sub(r"^\w+\((.*)\)$", r"\1", part.strip()), asked=True)
        raise self.wrong(f"{text!r} is no statement: {FORM}")

    def side(self, text: str) -> Interval | None:
        """A number, a cell, a function of cells, or several of these with words between, from the left on."""
        if (found := self.one(text)) is not None:
            return found
        for word in reversed([*re.finditer(r" (minus|plus|times|over) ", text)]):
            before, behind = text[: word.start()], text[word.end() :]
            if (right := self.one(behind)) is not None and (left := self.side(before)) is not None:
                return self.joined(_exact(before, left), word[1], _exact(behind, right))
        return None

    def one(self, text: str) -> Interval | None:
        if number := _number(text):
            return number
        called = re.fullmatch(r"(sum|mean|min|max|least|spread)\((.*)\)", text)
        if called and (found := self.cells(called[2])):
            return self.called(called[1], found)
        found = self.cells(text)
        return found[0] if found and len(found) == 1 else None

    def cells(self, text: str, asked: bool = False) -> list[Interval] | None:
        """`a; b | c; d` is four cells; None if there is one that is not there, an error if it is `asked`."""
        name, rest = _OWN, text
        if other := re.match(r"((?:table|figure)_\w+): ", text):
            name, rest = other[1], text[other.end() :]
        rows, bar, columns = rest.partition(" | ")
        found = []
        for row, column in product(rows.split(";"), columns.split(";")) if bar else ():
            there = self.printed[name]
            of_row = there.get(row.strip(), {})
            if (cell := of_row.get(column.strip())) is None:
                if not asked:
                    return None
                whose, what = (there, row) if row.strip() not in there else (of_row, column)
                raise self.wrong(f"{what.strip()!r} is not printed: {nearest(what.strip(), list(whose))}")
            if (number := _number(cell)) is None:
                raise self.wrong(f"{row.strip()} | {column.strip()} is {cell!r}, which is no number")
            found.append(number)
        return found

    def called(self, name: str, of: list[Interval]) -> Interval:
        if name in ("least", "spread"):
            if len(of) != 1 or of[0].spread is None:
                raise self.wrong(
                    f"{name}(…) is of one cell that is printed with its spread, like 2.88 (0.19)"
                )
            return of[0].spread if name == "spread" else self.least(of[0], of[0].spread)
        take = {"sum": math.fsum, "mean": lambda v: math.fsum(v) / len(v), "min": min, "max": max}[name]
        return Interval(*(take([getattr(one, key) for one in of]) for key in ("value", "low", "high")))

    def least(self, mean: Interval, spread: Interval) -> Interval:
        """Between which bounds the least of n values lies; it holds for either standard deviation."""
        if (n := self.runs) < 2:
            raise self.wrong("least(…) needs 'runs' in 'reported': of how many runs a mean is")
        low = mean.low - spread.high * math.sqrt(n - 1)
        high = mean.high - spread.low / math.sqrt(n)
        return Interval((low + high) / 2, low, high)

    def joined(self, left: Interval, word: str, right: Interval) -> Interval:
        do = {
            "plus": float.__add__,
            "minus": float.__sub__,
            "times": float.__mul__,
            "over": float.__truediv__,
        }
        if word == "over" and right.low <= 0 <= right.high:
            raise self.wrong(f"nothing is divided by {right}, which may be zero")
        ends = [do[word](a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
        return Interval(do[word](left.value, right.value), min(ends), max(ends))


def _number(text: str) -> Interval | None:
    """`0.79 (0.02)`, `15 625`, `+24%`, `783K`; half a unit of the last digit on either side."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None or len(text) > LONGEST:
        return None
    sign, digits, exponent, unit, spread = found.groups()
    digits = re.sub("[ ,]", "", digits)
    factor = _UNIT[unit] * 10.0 ** int(exponent or 0)
    half = 0.5 * 10.0 ** -len(digits.partition(".")[2]) * factor
    value = float(digits) * factor * (-1 if sign == "-" else 1)
    return Interval(value, value - half, value + half, _number(spread) if spread else None)


def _exact(text: str, value: Interval) -> Interval:
    """A number that is reckoned with is itself; one that stands alone is what a paper prints, rounded."""
    return Interval(value.value, value.value, value.value) if _number(text) else value


def _fit(left: Interval, sign: str, right: Interval) -> bool:
    """Whether some numbers that are printed so are equal, or in this order; `==`: the same is printed."""
    close = 1e-9 * max(abs(left.value), abs(right.value), 1e-9)
    if sign == "==":
        spreads = left.spread is None or right.spread is None or left.spread == right.spread
        return abs(left.value - right.value) <= close and spreads
    below, above = left.low <= right.high + close, left.high >= right.low - close
    return {"=": below and above, "<": below, ">": above}[sign]


def _each(text: str, wrong: Callable[[str], HarnessError]) -> Iterator[str]:
    """`{m: a; b} | c = {m} | d` is two statements."""
    words = {
        w: [v.strip() for v in values.split(";")] for w, values in re.findall(r"\{(\w+): ([^{}]*)\}", text)
    }
    if math.prod(map(len, words.values())) > MOST:
        raise wrong(f"its words have more than {MOST:,} combinations: make several lines of it")
    plain = re.sub(r"\{(\w+): [^{}]*\}", r"{\1}", text)
    for values in product(*words.values()):
        one = plain
        for word, value in zip(words, values, strict=True):
            one = one.replace(f"{{{word}}}", value)
        if left := re.search(r"\{[^{}]*\}", one):
            raise wrong(f"{left[0]} has no values: write them where it stands first, {{word: a; b}}")
        yield one


def statements(data: dict[str, Any], lines: Lines, path: Path) -> tuple[Statement, ...]:
    """Each line of `consistency`, and what of it does not fit."""
    printed = {_OWN: data.get("reported", {}).get("numbers", {})}
    found: dict[tuple[str, str], Statement] = {}
    for n, line in enumerate(data.get("consistency", "").split("\n"), line_of(lines, ("consistency",)) + 1):

        def wrong(what: str, n: int = n) -> HarnessError:
            return HarnessError(f"{path}, line {n}: {what}")

        if not line.strip():
            continue
        text, _, behind = (part.strip() for part in line.partition(" # "))
        where, _, words = behind.partition(": ")
        if not is_place(where):
            raise wrong(
                "a statement ends with its place in the paper, like '# section 4.2: what does not fit'"
            )
        every = list(_each(text, wrong))
        for name in re.findall(r"\b((?:table|figure)_\w+): ", "\n".join(every)):
            if name not in printed:
                printed[name] = _elsewhere(name, path, wrong)
        reader = _Reader(printed, data.get("reported", {}).get("runs", 1), wrong)
        told = tuple(filter(None, map(reader.statement, every)))
        same = (where, words.strip()) if words else (where, str(n))  # lines of one sentence are one statement
        before = found[same].wrong if same in found else ()
        found[same] = Statement(where, words.strip(), before + told)
    return tuple(found.values())


def _elsewhere(name: str, path: Path, wrong: Callable[[str], HarnessError]) -> dict[str, dict[str, str]]:
    """What another artefact of the same paper prints."""
    other = path.parents[2] / KINDS[name.partition("_")[0]] / path.parent.name / f"{name}.yaml"
    if not other.is_file():
        raise wrong(f"artefact {name!r} does not exist in this paper: correct the name")
    data, lines = read_with_lines(other)
    validate(data, lines, "artefact", other)
    data, lines = expanded(data, lines, other)
    return numbers(data, lines, other) if "printed" in data else {}
