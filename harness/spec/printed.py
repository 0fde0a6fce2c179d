"""What a paper prints, as tables that one lays beside its page: `printed: |` of an artefact's YAML."""

import re
from pathlib import Path
from typing import Any

from harness.base.errors import HarnessError
from harness.base.yamlfile import Lines, line_of, nearest

_BAR = re.compile(r"(?<!\\)\|")


def numbers(data: dict[str, Any], lines: Lines, path: Path) -> dict[str, dict[str, str]]:
    """Row → column → text of `printed`: tables with bars, columns above, an empty line between two."""
    rows = {str(row["name"]): row for row in data["rows"]}
    columns = [str(column["name"]) for column in data["columns"]]
    first = line_of(lines, ("printed",)) + 1
    found: dict[str, dict[str, str]] = {}
    heads: list[str] = []

    def wrong(n: int, what: str) -> HarnessError:
        return HarnessError(f"{path}, line {n}: {what}")

    for n, text in enumerate(data["printed"].split("\n"), first):
        if not text.strip():
            heads = []
            continue
        if not re.fullmatch(r"\|.*(?<!\\)\|", text.strip()):
            raise wrong(n, "a line of a printed table begins and ends with a bar: | row | 0.5 | 0.6 |")
        row, *cells = [cell.strip().replace(r"\|", "|") for cell in _BAR.split(text.strip())[1:-1]]
        if not heads:
            heads = cells
            for name in heads:
                if name not in columns:
                    raise wrong(n, f"printed column {name!r} does not exist: {nearest(name, columns)}")
            if row or not heads or len(set(heads)) < len(heads):
                raise wrong(n, "above a printed table stand its columns, each once, and nothing above rows")
            continue
        if row not in rows:
            raise wrong(n, f"printed row {row!r} does not exist: {nearest(row, rows)}")
        if len(cells) != len(heads):
            raise wrong(n, f"printed row {row!r} has {len(cells)} cells below {len(heads)} columns")
        for column, cell in zip(heads, cells, strict=True):
            if cell and column in found.setdefault(row, {}):
                raise wrong(n, f"{row} / {column} is printed twice: remove one of the two")
            if cell and column not in rows[row].get("columns", columns):
                raise wrong(n, f"{row} / {column} is printed, and the row has no such column: add it")
            if cell:
                found[row][column] = cell
                lines |= {("printed", row): n, ("printed", row, column): n}
    return found
