"""Slips in an artefact's YAML that its schema cannot see, told before anything is run for it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.base.errors import HarnessError
from harness.base.yamlfile import Lines, line_of
from harness.spec.consistency import is_place
from harness.spec.expand import lines_of


def refuse(data: dict[str, Any], lines: Lines, path: Path) -> None:
    """The first of them, by file and line."""
    for at, what in _slips(data):
        raise HarnessError(f"{path}, line {line_of(lines, at)}: {what}")


def _slips(data: dict[str, Any]) -> Iterator[tuple[tuple, str]]:
    written = [((key, i), line) for key in ("rows", "columns") for i, line in enumerate(data[key])]
    for at, line in [((), data), *written]:
        if not _is_format(line.get("format", "")):
            yield (*at, "format"), f"format {line['format']!r} prints no number: write one like '.2f'"
    for at, line in [(("cells",), data.get("cells", {})), *written]:
        k = line.get("k", 1)
        if isinstance(k, str) or not (isinstance(k, int) and k >= 1 or 0 < k < 1):
            yield (*at, "k"), f"k is {k}: write how many architectures, or a share of them below 1"
        for key in ("q", "seed"):
            if isinstance(line.get(key), str):
                yield (*at, key), f"{key} is {line[key]!r}: write a number, or the word of one"
    for at, line in [((), data), *((("claims", i), claim) for i, claim in enumerate(data.get("claims", [])))]:
        if not (
            is_place(line["where"]) or not at and re.fullmatch("not in the (paper|thesis)", line["where"])
        ):
            yield (
                (*at, "where"),
                f"where {line['where']!r} names no place in the paper: write its page, section, table,"
                " figure, appendix, algorithm or equation, or a deviation of NOTES.md like D1",
            )
    ids = [claim["id"] for claim in data.get("claims", [])]
    for i, claim in enumerate(data.get("claims", [])):
        if not claim["id"] or claim["id"] in ids[:i]:
            yield ("claims", i, "id"), f"a claim's id {claim['id']!r} is empty or stands twice: rename it"
        for j, test in enumerate(claim["tests"]):
            if "trend" in test and min(map(len, lines_of(test))) < 3:
                yield ("claims", i, "tests", j), "a trend needs three points: add to 'over' or 'each'"


def _is_format(spec: str) -> bool:
    try:
        return not re.search(r"\d{3}", spec) and bool(format(0.5, spec))
    except ValueError:
        return False
