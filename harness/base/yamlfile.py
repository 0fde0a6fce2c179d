"""YAML whose mistakes are told by file, line and the nearest valid key."""

import difflib
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from harness.base.errors import HarnessError
from harness.base.files import ROOT

SCHEMAS = ROOT / "config" / "schema"
Lines = dict[tuple, int]
MOST = 30  # names in one sentence
LARGEST = 100_000  # keys and items of a file, with what its aliases stand for
LONGEST = 1 << 20  # characters; the longest of this project's files has thirty thousand


class _Readable:
    """YAML 1.2 numbers: 3e-4 is a number here, which PyYAML's YAML 1.1 reads as text."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """A date like 2021-13-45 or a tagged `!!int x` fails in PyYAML with whatever Python raises."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError, OverflowError):
            problem = f"{str(node.value)[:40]!r} is no {node.tag.rpartition(':')[2]}; quote it if it is text"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from None


class _Loader(_Readable, yaml.SafeLoader):
    """In Python: slow, with errors that say more, and proof against deep nesting."""


class _Quick(_Readable, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """In C where PyYAML was built with it: more than ten times as fast on this project's files."""


for _loader in (_Loader, _Quick):
    _loader.add_implicit_resolver(
        "tag:yaml.org,2002:float",
        re.compile(r"^[-+]?(\d[\d_]*)(\.\d*)?([eE][-+]?\d+)$|^[-+]?\d[\d_]*\.\d*$|^\.\d+$"),
        list("-+0123456789."),
    )


def read(path: Path, schema: str | None = None) -> Any:
    """The file's content, checked against config/schema/<schema>.yaml."""
    data, lines = read_with_lines(path)
    if schema is not None:
        validate(data, lines, schema, path)
    return data


def read_with_lines(path: Path) -> tuple[Any, Lines]:
    """The content and the line on which each key or item stands."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise HarnessError(f"{path} does not exist: create it or correct the name") from None
    except OSError as error:
        raise HarnessError(f"{path} cannot be read ({error.strerror}): mend its rights") from None
    except UnicodeDecodeError as error:
        raise HarnessError(f"{path} is not UTF-8 text (byte {error.start}): save it as UTF-8") from None
    if len(text) > LONGEST:
        raise HarnessError(f"{path} has {len(text):,} characters, too many for one of this project's files")
    lines: Lines = {(): 1}
    try:
        loader, node = _composed(text)
        _mark(node, (), lines, path)
        return (loader.construct_document(node) if node else None), lines
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise HarnessError(
            f"{path}, line {line}: the character {chr(error.character)!r} is not allowed in YAML: remove it"
        ) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f"line {mark.line + 1}" if mark else "an unknown line"
        raise HarnessError(f"{path}, {at}: not valid YAML ({getattr(error, 'problem', error)})") from None
    except RecursionError:
        raise HarnessError(f"{path}: nested too deeply to be one of this project's files") from None


def _composed(text: str) -> tuple[Any, Any]:
    """The loader and the tree of nodes; what the quick loader refuses, the slow one explains."""
    depth = deepest = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    indented = max((len(line) - len(line.lstrip(" -?:")) for line in text.splitlines()), default=0)
    if deepest + indented < 200:  # the C parser recurses without a limit
        try:
            loader = _Quick(text)
            return loader, loader.get_single_node()
        except yaml.YAMLError:
            pass
    loader = _Loader(text)
    return loader, loader.get_single_node()


def _mark(node: Any, at: tuple, lines: Lines, path: Path) -> None:
    if len(lines) > LARGEST:
        raise HarnessError(f"{path}, line {node.start_mark.line + 1}: aliases multiply: write less of them")
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise HarnessError(f"{path}, line {line}: a key must be plain text")
            here = (*at, key.value)
            if here in lines:
                raise HarnessError(f"{path}, line {line}: {key.value!r} stands twice; remove one of the two")
            lines[here] = line
            _mark(value, here, lines, path)
    elif isinstance(node, yaml.SequenceNode):
        for i, value in enumerate(node.value):
            lines[(*at, i)] = value.start_mark.line + 1
            _mark(value, (*at, i), lines, path)


def line_of(lines: Lines, at: tuple) -> int:
    """The line of the innermost thing on this path that has one."""
    here: tuple = ()
    for part in at:  # a key that YAML reads as a number, like 0:, stands there as its text
        there = [(*here, p) for p in (part, str(part)) if (*here, p) in lines]
        if not there:
            break
        here = there[0]
    return lines.get(here, 1)


def nearest(word: str, words: Any) -> str:
    """'; did you mean …' for a wrong key, or the list of what there is, unless it is too long to help."""
    words = sorted(str(w) for w in words)
    close = difflib.get_close_matches(str(word), words, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    more = f" (and {len(words) - MOST} more)" if len(words) > MOST else ""
    return f"use one of {', '.join(words[:MOST])}{more}"


def _short(text: str) -> str:
    """On one line, and without the middle of what nobody would read."""
    text = " ".join(text.split())
    return text if len(text) <= 200 else f"{text[:100]} … {text[-90:]}"


@cache
def _validator(schema: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(yaml.safe_load((SCHEMAS / f"{schema}.yaml").read_text(encoding="utf-8")))


def _plain(data: Any, at: tuple = ()) -> tuple[tuple, str] | None:
    """The first value that is no text, finite number, yes or no, and what is wrong with it."""
    if isinstance(data, dict | list):
        inside = data.items() if isinstance(data, dict) else enumerate(data)
        return next((found for key, value in inside if (found := _plain(value, (*at, key)))), None)
    if isinstance(data, int | float):
        try:
            finite = math.isfinite(data)
        except OverflowError:  # a whole number that no float can hold
            finite = False
        return None if finite else (at, "is no finite number: write one, or quote it if it is text")
    known = data is None or isinstance(data, str)
    return None if known else (at, f"is a {type(data).__name__}: quote it if it is text")


def validate(data: Any, lines: Lines, schema: str, path: Path) -> None:
    """The first mistake of a file against its JSON schema, as one sentence."""
    if odd := _plain(data):
        at, what = odd
        raise HarnessError(f"{path}, line {line_of(lines, at)}: {_short('.'.join(map(str, at)))} {what}")
    errors = sorted(_validator(schema).iter_errors(data), key=lambda e: (len(e.path), str(e.path)))
    if not errors:
        return
    error = errors[0]
    while error.context:  # inside anyOf/oneOf: the branch that came furthest is the one that was meant
        error = max(error.context, key=lambda e: (len(e.path), e.validator == "additionalProperties"))
    at = tuple(error.absolute_path)
    if "propertyNames" in error.absolute_schema_path:  # it is the key itself that is wrong
        at = (*at, error.instance)
    place = _short(".".join(str(p) for p in at)) or "the file"
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        wrong = next(k for k in error.instance if k not in known)
        line = line_of(lines, (*at, wrong))
        raise HarnessError(f"{path}, line {line}: unknown key {wrong!r} in {place}: {nearest(wrong, known)}")
    if error.validator == "required":
        missing = next(k for k in error.schema["required"] if k not in error.instance)
        raise HarnessError(f"{path}, line {line_of(lines, at)}: {place} lacks the key {missing!r}: add it")
    if error.validator == "enum":
        hint = nearest(error.instance, error.validator_value)
        raise HarnessError(
            f"{path}, line {line_of(lines, at)}: {place} is {error.instance!r}, which does not exist: {hint}"
        )
    raise HarnessError(f"{path}, line {line_of(lines, at)}: {place}: {_short(error.message)}")
