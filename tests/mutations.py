"""YAML texts with slips in them: keys dropped, misspelt or doubled, values of any kind, files cut short."""

import random
from collections.abc import Iterator
from typing import Any

import yaml

ODD = [None, True, "", " ", "x", "nan", "{word}", "Ünïcödé ☃", "-", "1e999", "x" * 3000, "../..", "a\nb"]
ODD += [0, -1, 1, 3, 10**18, 10**400, 0.5, -0.0, 1e-300, 1e300, float("nan"), float("inf"), float("-inf")]
ODD += [[], {}, [[]], [None], {"a": None}, {1: 2}, {"x": {"y": []}}, ["a", "b", "c"], [1, 2, 3]]
PIECES = ["\t", "\x00", "\r", "\ufeff", "- ", ": ", "&a ", "*a", "<<: *a", "{", "]", "'", '"', "#", "|", "\n"]
PIECES += ["!!python/object/apply:os.system [x]", "!!int ", "---\n", "? ", "\u2028", "é", "2021-99-99"]

BARE = ["", "\n", "# nothing\n", "null\n", "[]\n", "{}\n", "---\n---\n", "x\n"]


def mutated(text: str, chance: random.Random) -> str:
    """The text with one to three slips."""
    for _ in range(chance.choice([1, 1, 2, 3])):
        text = chance.choice([_in_the_tree, _in_the_tree, _in_the_tree, _in_the_text])(text, chance)
    return text


def _in_the_tree(text: str, chance: random.Random) -> str:
    """A slip that leaves it YAML."""
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return text
    if not isinstance(data, dict | list) or not data:
        return text
    holder, key = chance.choice(list(_places(data)))
    other, name = chance.choice(list(_places(data)))
    slip = chance.randrange(9)
    if slip == 0:
        del holder[key]
    elif slip == 1:
        holder[key] = chance.choice(ODD)
    elif slip == 2:
        holder[key] = _alike(holder[key], chance)
    elif slip == 3 and isinstance(holder, dict):
        holder[_misspelt(str(key), chance)] = holder.pop(key)
    elif slip == 4 and isinstance(holder, dict):
        holder[chance.choice(ODD[:20])] = holder[key]
    elif slip == 5 and isinstance(holder, list):
        holder += [holder[key]] * chance.choice([1, 2])
    elif slip == 6:
        holder[key], other[name] = other[name], holder[key]
    elif slip == 7 and isinstance(holder, dict):
        holder[name] = other[name]  # a known key where it does not belong
    else:
        holder[key] = [holder[key]]
    try:
        return yaml.safe_dump(data, sort_keys=False, allow_unicode=chance.random() < 0.5)
    except (yaml.YAMLError, RecursionError, ValueError, TypeError):
        return text


def _places(data: Any, above: tuple[int, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """Each key of a block and each item of a list, with what holds it; one may hold itself."""
    pairs = list(data.items()) if isinstance(data, dict) else list(enumerate(data))
    for key, value in pairs:
        yield data, key
        if isinstance(value, dict | list) and id(value) not in above:
            yield from _places(value, (*above, id(value)))


def _alike(value: Any, chance: random.Random) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return chance.choice([-value, value * 1000, value + 0.5, -1, 0, float("nan"), str(value), value > 0])
    return _misspelt(value, chance) if isinstance(value, str) else chance.choice(ODD)


def _misspelt(word: str, chance: random.Random) -> str:
    at = chance.randrange(len(word) + 1)
    return word[:at] + chance.choice(["", "x", "E", "{", "_", "ö", " "]) + word[at + 1 :]


def _in_the_text(text: str, chance: random.Random) -> str:
    """A slip of somebody who types, or of a disk."""
    lines = text.splitlines(keepends=True) or [""]
    at, to = chance.randrange(len(lines)), chance.randrange(len(lines))
    place = chance.randrange(len(text) + 1)
    slip = chance.randrange(8)
    if slip == 0:
        lines[at] = ""
    elif slip == 1:
        lines[at] *= 2
    elif slip == 2:
        lines[at], lines[to] = lines[to], lines[at]
    elif slip == 3:
        lines[at] = chance.choice([" ", "  ", "\t"]) + lines[at]
    elif slip == 4:
        lines[at] = lines[at].lstrip()
    elif slip == 5:
        return text[:place]
    elif slip == 6:
        return text[:place] + chance.choice(PIECES) + text[place + chance.choice([0, 0, 1, 5]) :]
    else:
        return chance.choice([*BARE, "\ufeff" + text])
    return "".join(lines)
