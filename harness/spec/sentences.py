"""A claim as it is written, and what it stands for: the sentence that a reader sees and tests of cells."""

import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

FORM = (
    "write 'row | column > row | column', with =, < or > and a number or another cell on the right; behind it"
    " 'by 0.1', or '± 0.1' after ="
)
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
Names = dict[str, list[str]]


def plain(claim: dict[str, Any], names: Names, wrong: Callable[[tuple, str], Exception]) -> dict[str, Any]:
    """The claim with its whole sentence, and its tests as mappings.

    Words of `over` that stand in the id make a claim each; over the others each test ranges by itself.
    """
    words = {word: list(values) for word, values in claim.get("over", {}).items()}
    apart = {word: values for word, values in words.items() if f"{{{word}}}" in claim["id"]}
    within = {word: values for word, values in words.items() if word not in apart}
    tests = []
    for j, test in enumerate(claim["tests"]):
        if isinstance(test, str):
            found = read(test, names, words)
            if found is None:
                raise wrong(("tests", j), f"{test!r} is no test: {FORM}")
            ranged = {word: values for word, values in within.items() if f"{{{word}}}" in test}
            test = {**({"each": ranged} if ranged else {}), **found}
        tests.append(test)
    everything = str([claim["id"], claim["text"], claim["tests"]])
    for word in words:
        if f"{{{word}}}" not in everything:
            raise wrong(("over", word), f"nothing in the claim has {{{word}}}: use it or remove it from over")
    settings = claim.get("settings", ", ".join(f"{{{word}}}" for word in apart))
    rest = {"ours": False, "here": "", **claim, "settings": settings, "over": words, "tests": tests}
    return {**rest, **({"each": apart} if apart else {}), "text": sentence(rest)}


def sentence(claim: dict[str, Any]) -> str:
    """What a reader is shown: whose it is, for which settings, the words, how they were made testable."""
    text = claim["text"].strip()
    if claim["here"]:
        text = f"{text.removesuffix('.')} (here, {claim['here'].strip()})."
    return "(ours) " * claim["ours"] + (f"{claim['settings']}: " if claim["settings"] else "") + text


def read(test: str, names: Names, words: dict[str, Any]) -> dict[str, Any] | None:
    """One line as a mapping; None if it is no test."""
    if trend := re.fullmatch(r"(rising|falling)\((.+)\)", test.strip()):
        line = _side(trend[2]) or _cells(trend[2])
        return {"trend": trend[1], "over": line} if line and not isinstance(line, int | float) else None
    readings = list(_readings(test.strip()))
    for one in readings:  # a name may hold a sign: the reading whose names there are is meant
        sides = [next(iter(s.values())) if isinstance(s, dict) else [s] for s in (one["left"], one["right"])]
        if all(_known(point, names, words) for side in sides for point in side if isinstance(point, list)):
            return one
    return readings[0] if readings else None


def _readings(test: str) -> Iterator[dict[str, Any]]:
    """Wherever a sign stands between two sides."""
    for sign in re.finditer(r" ([<>=]) ", test):
        left, relation, right = test[: sign.start()], sign[1], test[sign.end() :]
        behind = re.fullmatch(rf"(.+?) {'±' if relation == '=' else 'by'} ({_NUMBER})", right)
        spread = [re.fullmatch(r"spread\((.+)\)", side) for side in (left, right)]
        if all(spread) and relation != "=":
            sides = [_cell(one[1]) for one in spread if one]
            if all(sides):
                yield {"of": "spread", "left": sides[0], "relation": relation, "right": sides[1]}
        sides = [_side(left), _side(behind[1] if behind else right)]
        if None not in sides and not isinstance(sides[0], int | float) and not any(spread):
            margin = {"margin": float(behind[2])} if behind else {}
            yield {"left": sides[0], "relation": relation, "right": sides[1], **margin}


def _side(text: str) -> Any:
    """A cell, a number, `mean(…)` of cells, or one cell `minus` another; None if it is none of these."""
    if re.fullmatch(_NUMBER, text):
        return float(text)
    if mean := re.fullmatch(r"mean\((.+)\)", text):
        there = _cells(mean[1])
        return {"mean": there} if there else None
    parts = [_cell(part) for part in text.split(" minus ")]
    if len(parts) == 2 and all(parts):
        return {"gap": parts}
    return parts[0] if len(parts) == 1 else None


def _cell(text: str) -> list[str] | None:
    row, bar, column = text.strip().partition(" | ")
    return [row.strip(), column.strip()] if bar and " | " not in column and ";" not in text else None


def _cells(text: str) -> list[list[str]] | None:
    """`a; b | c` is two cells of one column."""
    rows, bar, columns = text.partition(" | ")
    sides = [[name.strip() for name in side.split(";")] for side in (rows, columns)]
    return [list(point) for point in product(*sides)] if bar and " | " not in columns else None


def _known(point: list[str], names: Names, words: dict[str, Any]) -> bool:
    """Whether there is such a row and such a column, whatever its words stand for."""
    for name, key in zip(point, ("rows", "columns"), strict=True):
        pattern = re.escape(name)
        for word in words:
            pattern = pattern.replace(re.escape(f"{{{word}}}"), ".+")
        if not any(re.fullmatch(pattern, there) for there in names[key]):
            return False
    return True
