"""Number by number: what the paper prints beside ours, with interval, verdict and reason."""

from collections.abc import Iterable
from html import escape

from harness.report.read import Cell
from harness.report.verdicts import chip

_LONG = 30  # rows; a longer list scrolls in its own box on a screen
_HEADS = ("Number", "Paper", "Ours", "Verdict", "Why")


def is_gap(cell: Cell) -> bool:
    """A place without a number, and the verdict says why."""
    return bool(cell.verdict) and not cell.runs


def is_row(cell: Cell) -> bool:
    """Printed by the paper, or ours with something to say about it; all others stand in the grid."""
    return bool(cell.reported) or not is_gap(cell) and bool(cell.verdict or cell.reason)


def rows(numbered: Iterable[tuple[int, Cell]], title: str) -> str:
    """A row for each of these cells, which stand beside their places among the page's numbers."""
    lines = [_number(cell, number) for number, cell in numbered]
    if not lines:
        return ""
    box = '<div class="compare">'
    if len(lines) > _LONG:
        box = '<div class="compare long" tabindex="0" role="group" aria-label="Number by number">'
    heads = "".join(f'<th scope="col">{name}</th>' for name in _HEADS)
    body = "\n".join(lines)
    return f"""<h4>Number by number</h4>
{box}<table aria-label="{escape(title)}: paper and ours">
<thead><tr>{heads}</tr></thead>
<tbody>
{body}
</tbody></table></div>"""


def _number(cell: Cell, number: int) -> str:
    reported = escape(cell.reported) if cell.reported else '<span class="faint">—</span>'
    return (
        f'<tr class="item number" data-verdict="{cell.verdict}">'
        f'<th scope="row">{escape(cell.row)}'
        f' <span class="column">{escape(cell.column)}</span></th>'
        f'<td class="paper" data-label="Paper">{reported}</td>'
        f'<td class="ours" data-label="Ours">{_ours(cell, number)}</td>'
        f'<td class="verdict">{chip(cell.verdict)}</td>'
        f'<td class="why">{escape(cell.reason)}</td></tr>'
    )


def _ours(cell: Cell, number: int) -> str:
    """Our number, a button where runs stand behind it, with its interval and what the spread is."""
    text = escape(cell.text) or "—"
    if cell.runs:
        label = f"{cell.row}, {cell.column}: {cell.text or 'no value'}, show its runs"
        text = (
            f'<button type="button" class="runs" data-number="{number}" aria-expanded="false"'
            f' aria-label="{escape(label)}">{text}</button>'
        )
    unit = f' <span class="unit">{escape(cell.unit)}</span>' if cell.unit else ""
    shown = interval(cell)
    shown = f' <span class="interval">{shown}</span>' if shown else ""
    sample = f' <span class="sample">{escape(_sample(cell))}</span>' if _sample(cell) else ""
    return text + unit + shown + sample


def interval(cell: Cell) -> str:
    """lo and hi as the number itself is printed; nothing for a counted number."""
    if cell.lo is None or cell.hi is None or cell.lo == cell.hi:
        return ""
    spec = _format(cell.text.partition(" ")[0])
    low, high = (format(end, spec).replace("-", "\u2212") for end in (cell.lo, cell.hi))
    return f"[{low}, {high}]"


def _format(shown: str) -> str:
    """By its magnitude where the number is, else with as many decimals."""
    if "e" in shown:
        return ".2g"
    fraction = shown.partition(".")[2]
    return f",.{len(fraction) - len(fraction.lstrip('0123456789'))}f"


def _sample(cell: Cell) -> str:
    parts = [] if cell.n is None else [f"n {cell.n:,}"]
    if cell.spread is not None and cell.spread_kind:
        parts.append(f"{cell.spread_kind.replace('_', ' ')} {cell.spread:.3g}")
    return " · ".join(parts)
