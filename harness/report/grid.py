"""Numbers that the paper does not print, rows × columns: most are the points of a figure's curves."""

from collections.abc import Iterable, Sequence
from html import escape

from harness.report.numbers import interval, is_gap
from harness.report.read import Cell
from harness.report.verdicts import chip

_SHORT = 30  # numbers; more than these are folded, so that the page can be read and walked through by key

Numbered = Sequence[tuple[int, Cell]]


def grid(numbered: Numbered, title: str) -> str:
    """The valued cells in blocks of rows with common columns; the others by what they lack."""
    if not numbered:
        return ""
    valued = [(number, cell) for number, cell in numbered if not is_gap(cell)]
    gaps = [cell for _, cell in numbered if is_gap(cell)]
    parts = [_sheet(valued, title)] if valued else []
    parts += [f'<ul class="gaps">\n{_gaps(gaps)}\n</ul>'] if gaps else []
    body, opened = "\n".join(parts), " open" if len(numbered) <= _SHORT else ""
    return f"""<details class="unprinted"{opened}>
<summary><h4>{_heading(len(valued), len(gaps))}</h4></summary>
{body}
</details>"""


def _heading(valued: int, gaps: int) -> str:
    what = f"{valued or gaps:,} number{'s' * ((valued or gaps) > 1)} that the paper does not print"
    if not valued:
        return f"{what}, without a value"
    return f"{what}; {gaps:,} more without a value" if gaps else what


def _sheet(valued: Numbered, title: str) -> str:
    tables = "\n".join(_table(block) for block in _blocks(valued))
    ns = sorted({cell.n for _, cell in valued if cell.n})
    n = f"n = {ns[0]:,}{f' to {ns[-1]:,}' if len(ns) > 1 else ''} per number" if ns else ""
    shown = "in brackets the 95 % interval" if any(interval(cell) for _, cell in valued) else ""
    told = f'<p class="faint">Ours: {", ".join(filter(None, (n, shown)))}.</p>\n' if n or shown else ""
    label = escape(f"{title}: numbers that the paper does not print")
    return f'{told}<div class="sheet" tabindex="0" role="group" aria-label="{label}">\n{tables}\n</div>'


def _blocks(valued: Numbered) -> list[dict[str, dict[str, tuple[int, Cell]]]]:
    """row → column → cell; a row most of whose columns are new begins another block."""
    lines: dict[str, dict[str, tuple[int, Cell]]] = {}
    for number, cell in valued:
        lines.setdefault(cell.row, {})[cell.column] = (number, cell)
    blocks: list[dict[str, dict[str, tuple[int, Cell]]]] = []
    columns: set[str] = set()
    for row, line in lines.items():
        if 2 * len(columns & line.keys()) < len(line):
            blocks.append({})
            columns = set()
        blocks[-1][row] = line
        columns |= line.keys()
    return blocks


def _table(block: dict[str, dict[str, tuple[int, Cell]]]) -> str:
    longest_first = sorted(block.values(), key=len, reverse=True)  # it has most of the artefact's order
    columns = list(dict.fromkeys(column for line in longest_first for column in line))
    heads = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    lines = (
        f'<tr><th scope="row">{escape(row)}</th>'
        + "".join(_cell(*line[column]) if column in line else "<td></td>" for column in columns)
        + "</tr>"
        for row, line in block.items()
    )
    body = "\n".join(lines)
    return f"<table>\n<thead><tr><td></td>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"


def _cell(number: int, cell: Cell) -> str:
    """Plain text; the page's script makes a button of the number, which leads to its runs."""
    between = interval(cell)
    aim = f" data-number={number}" if cell.runs else ""
    between = f"<i>{between}</i>" if between else ""
    return f'<td class="item"{aim}>{escape(cell.text) or "—"}{between}</td>'


def _gaps(cells: list[Cell]) -> str:
    """One line per reason, with how many numbers it explains and, folded, which."""
    by_reason: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        by_reason.setdefault((cell.verdict, cell.reason), []).append(cell)
    return "\n".join(_gap(verdict, reason, missing) for (verdict, reason), missing in by_reason.items())


def _gap(verdict: str, reason: str, cells: list[Cell]) -> str:
    count = f"{len(cells):,} number{'s' * (len(cells) > 1)}"
    where = f"{_listed(cell.row for cell in cells)} · {_listed(cell.column for cell in cells)}"
    return (
        f'<li class="item" data-verdict="{verdict}" data-count="{len(cells)}">{chip(verdict)}'
        f"<details><summary>{count}: {escape(reason)}</summary>"
        f'<p class="faint">{escape(where)}</p></details></li>'
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))
