"""Lines of an artefact's YAML that stand for several: `each`, and the words in their texts."""

import math
import re
from itertools import product
from pathlib import Path
from typing import Any

from harness.base.errors import HarnessError
from harness.base.yamlfile import Lines, line_of

MOST = 100_000  # cells, or combinations of words; the largest artefact has 1,300


def expanded(data: dict[str, Any], lines: Lines, path: Path) -> tuple[dict[str, Any], Lines]:
    """Lines and claims with `each` become one per combination, the last word running fastest."""
    _refuse_too_many(data, (), 1, lines, path)
    data, lines = dict(data), dict(lines)
    inside: dict[tuple, Lines] = {}  # the lines of each row, column or claim, found in one go
    for place, n in lines.items():
        inside.setdefault(place[:2], {})[place[2:]] = n
    for key in ("rows", "columns", "claims"):
        several, at = [], []
        for i, line in enumerate(data.get(key, [])):
            for one in each(line):
                several.append(one | {"id": _slug(one["id"])} if key == "claims" else one)
                at.append(inside.get((key, i), {}))
        data[key] = several
        lines |= {(key, i, *rest): n for i, there in enumerate(at) for rest, n in there.items()}
    if (cells := len(data["rows"]) * len(data["columns"])) > MOST:
        raise HarnessError(f"{path}: {cells:,} cells are more than {MOST:,}: make several artefacts of it")
    return data, lines


def _refuse_too_many(value: Any, at: tuple, times: int, lines: Lines, path: Path) -> None:
    """Before they are written out: a dozen words of ten values each would never come to an end."""
    if isinstance(value, dict):
        words = value.get("each")
        times *= math.prod(map(len, words.values())) if isinstance(words, dict) and at else 1
        if times > MOST:
            line = line_of(lines, (*at, "each"))
            raise HarnessError(f"{path}, line {line}: each makes {times:,} of this, more than {MOST:,}")
    if isinstance(value, dict | list):
        for key, inside in value.items() if isinstance(value, dict) else enumerate(value):
            if key != "each":
                _refuse_too_many(inside, (*at, key), times, lines, path)


def each(line: dict[str, Any]) -> list[dict[str, Any]]:
    """The line itself, or where it has `each`, one line per combination of its words."""
    words = line.get("each", {})
    rest = {k: v for k, v in line.items() if k != "each"}
    return [replaced(rest, dict(zip(words, values, strict=True))) for values in product(*words.values())]


def _slug(text: str) -> str:
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")


def replaced(value: Any, words: dict[str, Any]) -> Any:
    """The same with `{word}` replaced in every text of it."""
    if not words:
        return value
    if isinstance(value, dict):
        return {k: replaced(v, words) for k, v in value.items()}
    if isinstance(value, list):
        return [replaced(v, words) for v in value]
    if isinstance(value, str):
        for word, text in words.items():
            value = value.replace(f"{{{word}}}", str(text))
    return value


def over(several: list[dict[str, Any]]) -> list[Any]:
    """What a trend runs over: a list, or with `each` one side per combination."""
    there = several[0].get("over", [])
    is_list = isinstance(there, list) and all(isinstance(side, list | dict) for side in there)
    return there if is_list else [one["over"] for one in several]


def points(side: Any) -> list[list[Any]]:
    """The cells that one side of a claim's test is made of; a number is made of none."""
    if isinstance(side, dict):
        return next(iter(side.values()))  # of a gap or a mean
    return [side] if isinstance(side, list) else []
