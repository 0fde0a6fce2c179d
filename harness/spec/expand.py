"""Rows and columns of an artefact's YAML that stand for several: groups, `each`, `x` and `...`."""

import re
from itertools import product
from pathlib import Path
from typing import Any

from harness.base.errors import HarnessError
from harness.base.yamlfile import Lines, line_of, nearest
from harness.spec.sentences import plain

MOST = 100_000  # cells, or combinations of words; the largest artefact has 1,300
MORE = ("...", "…")
NUMBERS = {"k": float, "q": float, "seed": int}  # keys of a line that are numbers although a {word} is a text
NESTED = ("only", "words")  # keys of a line that are merged key by key


def expanded(data: dict[str, Any], lines: Lines, path: Path) -> tuple[dict[str, Any], Lines]:
    """Rows, columns and claims one by one: those of groups, and one per combination of `each`."""
    data = counted(data, (), lines, path)
    _refuse_too_many(data, (), 1, lines, path)
    lines, found = dict(lines), {}
    for key in ("rows", "columns"):
        found[key] = [one for i, line in enumerate(data[key]) for one in _flat(line, key, (key, i))]
    names = {key: [str(line.get("name")) for line, _ in several] for key, several in found.items()}
    found["claims"] = []
    for claim, at in _claims(data):

        def wrong(there: tuple, what: str, at: tuple = at) -> HarnessError:
            return HarnessError(f"{path}, line {line_of(lines, (*at, *there))}: {what}")

        found["claims"] += [(one | {"id": _slug(one["id"])}, at) for one in each(plain(claim, names, wrong))]
    data = {**data, **{key: [line for line, _ in several] for key, several in found.items()}}
    _place(found, lines)
    if (cells := len(data["rows"]) * len(data["columns"])) > MOST:
        raise HarnessError(f"{path}: {cells:,} cells are more than {MOST:,}: make several artefacts of it")
    _columns_of_rows(data, lines, path)
    return data, lines


def _flat(line: dict[str, Any], key: str, at: tuple) -> list[tuple[dict[str, Any], tuple]]:
    """The lines of a group, each with what the group shares and with its place in the file."""
    if "x" in line:
        words = {"x": line["x"], **line.get("each", {})}
        named = {} if key in line else {"name": "{x}"}
        line = {**named, **{k: v for k, v in line.items() if k != "x"}, "each": words}
    if key not in line:
        return [(_numbers(one), at) for one in each(line)]
    found = []
    for one in each(line):
        shared = {k: v for k, v in one.items() if k != key}
        for i, inner in enumerate(one[key]):
            found += _flat(merged(shared, inner), key, (*at, key, i))
    return found


def _claims(data: dict[str, Any]) -> list[tuple[dict[str, Any], tuple]]:
    """Each claim as it is written, with what its group shares: most often its place and its scale."""
    found = []
    for i, claim in enumerate(data.get("claims", [])):
        shared = {key: value for key, value in claim.items() if key != "claims"}
        for j, inner in enumerate(claim.get("claims", [])):
            scales = {"from", "at"} if {"from", "at"} & inner.keys() else set()
            rest = {key: value for key, value in shared.items() if key not in scales}
            found.append(({**rest, **inner}, ("claims", i, "claims", j)))
        found += [] if "claims" in claim else [(claim, ("claims", i))]
    return found


def merged(shared: dict[str, Any], line: dict[str, Any]) -> dict[str, Any]:
    """A line with what its group shares; where both say something, the line decides."""
    both = {key: {**shared[key], **line[key]} for key in NESTED if key in shared and key in line}
    return {**shared, **line, **both}


def _place(found: dict[str, list[tuple[dict[str, Any], tuple]]], lines: Lines) -> None:
    """Each line's own place, and that of all inside it, is where it was written."""
    inside: dict[tuple, Lines] = {at: {} for several in found.values() for _, at in several}
    for place, n in lines.items():
        for long in range(2, len(place) + 1):
            if place[:long] in inside:
                inside[place[:long]][place[long:]] = n
    for key, several in found.items():
        for i, (_, at) in enumerate(several):
            lines |= {(key, i, *rest): n for rest, n in inside[at].items()}


def _columns_of_rows(data: dict[str, Any], lines: Lines, path: Path) -> None:
    """`columns` of a row by name: a group's name stands for all columns in it."""
    groups: dict[str, list[str]] = {}
    for column in data["columns"]:
        for name in dict.fromkeys((column.pop("group", column["name"]), column["name"])):
            groups.setdefault(str(name), []).append(str(column["name"]))
    for i, row in enumerate(data["rows"]):
        for name in row.get("columns", []):
            if str(name) not in groups:
                line = line_of(lines, ("rows", i, "columns"))
                hint = nearest(name, groups)
                raise HarnessError(f"{path}, line {line}: column {name!r} of a row does not exist: {hint}")
        if "columns" in row:
            row["columns"] = [column for name in row["columns"] for column in groups[str(name)]]


def _refuse_too_many(value: Any, at: tuple, times: int, lines: Lines, path: Path) -> None:
    """Before they are written out: a dozen words of ten values each would never come to an end."""
    if isinstance(value, dict):
        times *= len(value["x"]) if isinstance(value.get("x"), list) else 1
        for key in ("each", "over"):
            words = value.get(key)
            for values in words.values() if isinstance(words, dict) and at else ():
                times *= len(values)
            if times > MOST:
                line = line_of(lines, (*at, key))
                raise HarnessError(f"{path}, line {line}: {key} makes {times:,} of this, more than {MOST:,}")
    if isinstance(value, dict | list):
        for key, inside in value.items() if isinstance(value, dict) else enumerate(value):
            if key not in ("each", "over"):
                _refuse_too_many(inside, (*at, key), times, lines, path)


def counted(value: Any, at: tuple, lines: Lines, path: Path) -> Any:
    """`[0, 10, ..., 300]` in full, wherever words or x values are listed."""
    if isinstance(value, dict):
        return {key: counted(inside, (*at, key), lines, path) for key, inside in value.items()}
    if not isinstance(value, list):
        return value
    if not any(item in MORE for item in value if isinstance(item, str)):
        return [counted(inside, (*at, i), lines, path) for i, inside in enumerate(value)]
    found: list[Any] = []
    for i, item in enumerate(value):
        if item not in MORE:
            found.append(item)
            continue
        line = line_of(lines, at)
        ends = [*found[-2:], *value[i + 1 : i + 2]]
        if len(ends) < 2 or i + 1 == len(value) or not all(type(end) is int for end in ends):
            raise HarnessError(f"{path}, line {line}: '...' stands between whole numbers: [0, 10, ..., 300]")
        step = ends[-2] - ends[-3] if len(ends) == 3 else 1
        if step == 0 or (ends[-1] - ends[-2]) % step or (ends[-1] - ends[-2]) // step < 1:
            raise HarnessError(f"{path}, line {line}: steps of {step} from {ends[-2]} never reach {ends[-1]}")
        if (ends[-1] - ends[-2]) // step > MOST:
            raise HarnessError(f"{path}, line {line}: '...' stands for more than {MOST:,} numbers")
        found += range(ends[-2] + step, ends[-1], step)
    return found


def each(line: dict[str, Any]) -> list[dict[str, Any]]:
    """The line itself, or with `each` one line per combination of its words, the last running fastest.

    A word's value may bring keys along: `each: {set: {MNIST: {setting: mnist}}}`.
    """
    words = line.get("each", {})
    rest = {k: v for k, v in line.items() if k != "each"}
    found = []
    for values in product(*words.values()):
        brought: dict[str, Any] = {}
        for there, value in zip(words.values(), values, strict=True):
            brought = merged(brought, (there[value] or {}) if isinstance(there, dict) else {})
        found.append(replaced(merged(brought, rest), dict(zip(words, values, strict=True))))
    return found


def _numbers(line: dict[str, Any]) -> dict[str, Any]:
    """`k: "{x}"` is a number once {x} is one."""
    for key, kind in NUMBERS.items():
        if isinstance(line.get(key), str):
            try:
                number = kind(line[key])
            except ValueError:
                continue
            line[key] = int(number) if number == int(number) else number
    return line


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


def lines_of(test: dict[str, Any]) -> list[list[Any]]:
    """What a trend runs along: its list, or the last of its words. Values of other words have a line each."""
    sides = [one["over"] for one in each(test) if "over" in one]
    if all(isinstance(side, list) and isinstance(side[0], list | dict) for side in sides):
        return sides
    along = len([*test["each"].values()][-1]) if "each" in test else 1
    return [sides[i : i + along] for i in range(0, len(sides), along)]


def sides_of(test: dict[str, Any]) -> list[Any]:
    """All that a test is made of."""
    said = [one[key] for one in each(test) for key in ("left", "right", "quarter_of") if key in one]
    return said + [side for line in lines_of(test) for side in line]


def points(side: Any) -> list[list[Any]]:
    """The cells that one side of a claim's test is made of; a number is made of none."""
    if isinstance(side, dict):
        return next(iter(side.values()))  # of a gap or a mean
    return [side] if isinstance(side, list) else []
