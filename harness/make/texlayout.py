r"""Wide tables on a page of LaTeX: long texts wrapped, columns that do not fit moved to the next table."""

import re
from collections.abc import Sequence

PAGE = 112  # characters of \footnotesize that stand side by side on a page with margins of 2 cm
GAP = 1.5  # between two columns
HEAD, LABEL, CELL = 14, 32, 34  # characters before a heading, a row's name or a cell is wrapped


def wrapped(text: str, width: int, align: str, at: str = "t") -> str:
    """A text of LaTeX, below each other where it is longer."""
    lines = _lines(text, width)
    if len(lines) == 1:
        return text
    # Braces: a line that begins with [ would be read as the space after the line before.
    return rf"\begin{{tabular}}[{at}]{{@{{}}{align}@{{}}}}" + r" \\{} ".join(lines) + r"\end{tabular}"


def groups(labels: Sequence[str], columns: Sequence[Sequence[str]]) -> list[list[int]]:
    """Which columns (heading first) stand together beside the rows' names; each group fits on a page."""
    room = PAGE - max((_widest(label, LABEL) for label in labels), default=0)
    found: list[list[int]] = [[]]
    used = 0.0
    for k, (head, *cells) in enumerate(columns):
        wide = GAP + max([_widest(head, HEAD), *(_widest(cell, CELL) for cell in cells)])
        if found[-1] and used + wide > room:
            found.append([])
            used = 0.0
        found[-1].append(k)
        used += wide
    return found


def _lines(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and _length(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _widest(text: str, width: int) -> int:
    return max(_length(line) for line in _lines(text, width))


def _length(text: str) -> int:
    r"""Printed characters: `\alpha` and `\&` are one, braces and dollars none."""
    return len(re.sub(r"[${}^]", "", re.sub(r"\\([a-zA-Z]+|.)(\{\})?", "x", text)))
