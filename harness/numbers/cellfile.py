"""Reading cells, claims and provenance back, without what it takes to make them."""

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.base.errors import HarnessError

if TYPE_CHECKING:  # what only compares or counts needs no data frames, which take a while to load
    import pandas as pd

NUMBERS = ("value", "spread", "lo", "hi")  # empty where there is none
COUNTS = ("n", "architectures")
TEXTS = ("row", "column", "text", "spread_kind", "reported", "verdict", "reason", "runs")


def read_cells(path: Path) -> "pd.DataFrame":
    """cells.csv as it was written: text stays text, an empty reason is no NaN."""
    import pandas as pd

    cells(path)  # which tells of a damaged file what pandas would read somehow
    empty = {name: [""] for name in NUMBERS}
    return pd.read_csv(path, dtype=dict.fromkeys(TEXTS, str), keep_default_na=False, na_values=empty)


def cells(path: Path) -> list[dict[str, Any]]:
    """The same, a record per cell."""
    return cells_in(_text(path), path)


def cells_in(text: str, path: Path = Path("cells.csv")) -> list[dict[str, Any]]:
    """The cells in a text that is written, or would be, to this path."""
    lines = _lines(text, path, (*TEXTS, *NUMBERS, *COUNTS))
    _require_once(path, [f"{line['row']} / {line['column']}" for line in lines])
    try:
        return [
            line
            | {name: float(line[name] or "nan") for name in NUMBERS}
            | {name: int(line[name]) for name in COUNTS}
            for line in lines
        ]
    except ValueError as error:
        raise _damaged(path, str(error)) from None


def claims(path: Path) -> list[dict[str, str]]:
    """A record per claim; none where there is no such file."""
    return claims_in(_text(path), path) if path.is_file() else []


def claims_in(text: str, path: Path = Path("claims.csv")) -> list[dict[str, str]]:
    lines = _lines(text, path, ("id", "text", "where", "verdict", "reason"))
    _require_once(path, [line["id"] for line in lines])
    return lines


def _require_once(path: Path, names: list[str]) -> None:
    """Of two lines of one name only one would be looked at."""
    for name, times in Counter(names).items():
        if times > 1:
            raise _damaged(path, f"{name} stands {times} times")


_ASKED = {"run": str, "config": dict, "status": str, "truths": list}  # of a provenance's runs


def provenance(path: Path) -> dict[str, Any]:
    """What an artefact was accepted from: its runs, none where nobody noted them, and its claims' tests."""
    if not path.is_file():
        return {"runs": []}
    try:
        noted = json.loads(path.read_text(encoding="utf-8"))
        whole = isinstance(noted.get("claims", {}), dict)
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
        raise _damaged(path, "it is no text") from None


def _lines(text: str, path: Path, columns: tuple[str, ...]) -> list[dict[str, str]]:
    if not text.endswith("\n"):
        raise _damaged(path, "it ends in the middle of a line")
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        lines = list(reader)
    except csv.Error as error:
        raise _damaged(path, str(error)) from None
    for number, line in enumerate(lines, 2):
        if None in line or None in line.values():  # a conflict of git's, a line cut short
            raise _damaged(path, f"record {number} has more or fewer fields than the heading")
    if lacking := set(columns) - set(reader.fieldnames or columns):
        raise _damaged(path, f"there is no column {min(lacking)!r}")
    return lines


def _damaged(path: Path, how: str) -> HarnessError:
    return HarnessError(f"{path} is not as it was written ({how}): restore it from git or make it again")
