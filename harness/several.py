"""Lines of an artefact's YAML that stand for several: `each`, and the words in their texts."""

import re
from itertools import product
from typing import Any

from harness.yamlfile import Lines


def expanded(data: dict[str, Any], lines: Lines) -> tuple[dict[str, Any], Lines]:
    """Lines and claims with `each` become one per combination, the last word running fastest."""
    data, lines = dict(data), dict(lines)
    inside: dict[tuple, Lines] = {}  # the lines of each row, column or claim, found in one go
    for path, n in lines.items():
        inside.setdefault(path[:2], {})[path[2:]] = n
    for key in ("rows", "columns", "claims"):
        several, at = [], []
        for i, line in enumerate(data.get(key, [])):
            for one in each(line):
                several.append(one | {"id": _slug(one["id"])} if key == "claims" else one)
                at.append(inside.get((key, i), {}))
        data[key] = several
        lines |= {(key, i, *rest): n for i, there in enumerate(at) for rest, n in there.items()}
    return data, lines


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
