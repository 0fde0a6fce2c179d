"""Our numbers as the page shows them, and those that the paper does not print in blocks of rows × columns."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Number:
    """One number: what the paper prints, ours, and why it fares so."""

    place: int  # among the page's numbers
    row: str
    column: str
    reported: str
    text: str
    unit: str
    interval: str
    sample: str
    n: int
    verdict: str
    reason: str
    runs: tuple[str, ...]
    kind: str = ""  # what was done to know it, of a printed number: a class of the head

    @property
    def is_gap(self) -> bool:
        """A place without a number, and the verdict says why."""
        return bool(self.verdict) and not self.runs and self.text in ("", "–")

    @property
    def is_row(self) -> bool:
        """Printed by the paper, or ours with something to say about it; all others stand in the grid."""
        return bool(self.reported) or not self.is_gap and bool(self.verdict or self.reason)


Rows = dict[str, dict[str, Number]]  # by row and column


def number(cell: dict[str, Any], text: str, unit: str, place: int, kind: str = "") -> Number:
    """Of a line of cells.csv and how it is printed."""
    same = {key: cell[key] for key in ("row", "column", "reported", "n", "verdict", "reason")}
    same |= {"runs": tuple(cell["runs"].split()), "interval": interval(text, cell["lo"], cell["hi"])}
    if cell.get("scale"):
        same["reason"] = f"at scale {cell['scale']}; {same['reason']}".removesuffix("; ")
    return Number(place=place, text=text, unit=unit, sample=_sample(cell), kind=kind, **same)


def interval(text: str, lo: float, hi: float) -> str:
    """Both ends as the number itself is printed; nothing for a counted number.

    Not in brackets, in which tables have the paper's number.
    """
    if not math.isfinite(lo + hi) or lo == hi:
        return ""
    shown = text.partition(" ")[0]
    fraction = shown.partition(".")[2]
    decimals = len(fraction) - len(fraction.lstrip("0123456789"))
    spec = ".2g" if "e" in shown else f",.{decimals}f"  # by its magnitude where the number is
    low, high = (format(end, spec).replace("-", "\u2212") for end in (lo, hi))
    return f"{low} to {high}"


def _sample(cell: dict[str, Any]) -> str:
    """`n 3 · sample sd 0.02`."""
    parts = [f"n {cell['n']:,}"] if cell["n"] else []
    if math.isfinite(cell["spread"]) and cell["spread_kind"]:
        parts.append(f"{cell['spread_kind'].replace('_', ' ')} {cell['spread']:.3g}")
    return " · ".join(parts)


def blocks(numbers: Sequence[Number]) -> Iterator[tuple[list[str], Rows]]:
    """Columns, and the rows that share them; a row most of whose columns are new begins another block."""
    lines: Rows = {}
    for one in numbers:
        lines.setdefault(one.row, {})[one.column] = one
    found: list[Rows] = []
    columns: set[str] = set()
    for row, line in lines.items():
        if 2 * len(columns & line.keys()) < len(line):
            found.append({})
            columns = set()
        found[-1][row] = line
        columns |= line.keys()
    for rows in found:
        longest_first = sorted(rows.values(), key=len, reverse=True)  # it has most of the artefact's order
        yield list(dict.fromkeys(column for line in longest_first for column in line)), rows


def gaps(numbers: Sequence[Number]) -> dict[tuple[str, str], list[Number]]:
    """Numbers without a value by verdict and reason."""
    found: dict[tuple[str, str], list[Number]] = {}
    for one in numbers:
        found.setdefault((one.verdict, one.reason), []).append(one)
    return found
