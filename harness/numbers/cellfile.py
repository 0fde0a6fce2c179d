"""Reading cells, claims and provenance back, without what it takes to make them."""

import csv
import io
import json
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.base.errors import HarnessError
from harness.numbers import claim_record
from harness.numbers.claim_record import Claim

if TYPE_CHECKING:  # what only compares or counts needs no data frames, which take a while to load
    import pandas as pd

# What cells.csv has of a cell, in its order.
CELL = {
    "row": str,
    "column": str,
    "value": float,
    "text": str,
    "n": int,
    "architectures": int,
    "spread": float,
}
CELL |= {
    "spread_kind": str,
    "lo": float,
    "hi": float,
    "reported": str,
    "verdict": str,
    "reason": str,
    "runs": str,
}


class Damaged(HarnessError):
    """A file that is not as it was written, and how that shows."""

    def __init__(self, path: Path, how: str) -> None:
        super().__init__(f"{path} is not as it was written ({how}): restore it from git or make it again")
        self.how = how


def read_cells(path: Path) -> "pd.DataFrame":
    """cells.csv as it was written: text stays text, an empty reason is no NaN."""
    import pandas as pd

    cells(path)  # which tells of a damaged file what pandas would read somehow
    texts = {name: str for name, kind in CELL.items() if kind is str}
    empty = {name: [""] for name, kind in CELL.items() if kind is float}
    return pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=empty)


def cells(path: Path) -> list[dict[str, Any]]:
    """The same, a record per cell."""
    return cells_in(_text(path), path)


def cells_in(text: str, path: Path = Path("cells.csv")) -> list[dict[str, Any]]:
    """The cells in a text that is written, or would be, to this path."""
    lines = _lines(text, path, CELL)
    _require_once(path, [f"{line['row']} / {line['column']}" for line in lines])
    try:
        return [
            line | {name: kind(line[name] or "nan") for name, kind in CELL.items() if kind is not str}
            for line in lines
        ]
    except ValueError as error:
        raise Damaged(path, str(error)) from None


def claims(path: Path) -> list[dict[str, str]]:
    """A line per claim, in texts; none where there is no such file."""
    return claims_in(_text(path), path) if path.is_file() else []


def claims_in(text: str, path: Path = Path("claims.csv")) -> list[dict[str, str]]:
    lines = _lines(text, path, claim_record.TEXTS)
    _require_once(path, [line["id"] for line in lines])
    _judged(lines, path)
    return lines


def judged(path: Path) -> list[Claim]:
    """The claims with the numbers of their parts."""
    return _judged(claims(path), path)


def _judged(lines: list[dict[str, str]], path: Path) -> list[Claim]:
    try:
        return [claim_record.of_line(line) for line in lines]
    except (LookupError, ValueError) as error:
        raise Damaged(path, str(error)) from None


def _require_once(path: Path, names: list[str]) -> None:
    """Of two lines of one name only one would be looked at."""
    for name, times in Counter(names).items():
        if times > 1:
            raise Damaged(path, f"{name} stands {times} times")


_ASKED = {"run": str, "config": dict, "status": str, "truths": list}  # of a provenance's runs


def provenance(path: Path) -> dict[str, Any]:
    """What an artefact was accepted from: its runs, none where nobody noted them, and its claims' tests."""
    if not path.is_file():
        return {"runs": []}
    try:
        noted = json.loads(path.read_text(encoding="utf-8"))
        whole = isinstance(noted.get("claims", {}), dict)
        whole &= isinstance(noted.get("holes", {}).get("lacking", []), list)
        for run in noted["runs"]:
            whole &= bool(run["machine"]["processor"])
            whole &= all(isinstance(run[key], kind) for key, kind in _ASKED.items())
        if whole:
            return noted
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    raise HarnessError(f"{path} is cut short or no provenance: check it out again")


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise Damaged(path, "it is no text") from None


def _lines(text: str, path: Path, columns: Collection[str]) -> list[dict[str, str]]:
    if not text.endswith("\n"):
        raise Damaged(path, "it ends in the middle of a line")
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        lines = list(reader)
    except csv.Error as error:
        raise Damaged(path, str(error)) from None
    for number, line in enumerate(lines, 2):
        if None in line or None in line.values():  # a conflict of git's, a line cut short
            raise Damaged(path, f"record {number} has more or fewer fields than the heading")
    if lacking := set(columns) - set(reader.fieldnames or columns):
        raise Damaged(path, f"there is no column {min(lacking)!r}")
    return lines
