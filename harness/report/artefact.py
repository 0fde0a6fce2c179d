"""One artefact as a section: what it is, how the paper shows it, and number by number how it fares."""

from collections import Counter
from html import escape
from pathlib import Path

from harness.report.inline import find_files, layout
from harness.report.read import Artefact, Cell
from harness.report.verdicts import VERDICTS, chip

_LONG = 30  # rows; a longer list (the points of a curve) scrolls in its own box on a screen


def section(artefact: Artefact, paper: str, scale_dir: Path, first_number: int) -> str:
    """The whole section; `first_number` is the place of its first cell among the page's numbers."""
    found = find_files(artefact, scale_dir)
    name = escape(artefact.id)
    return f"""<section class="artefact" id="{name}" data-paper="{escape(paper)}" data-kind="{artefact.kind}"
 aria-labelledby="{name}/title">
<header>
<p class="eyebrow">{escape(artefact.where)}</p>
<h3 id="{name}/title">{escape(artefact.title)}
<a class="anchor" href="#{name}" aria-label="Link to {escape(artefact.where)}">#</a></h3>
<p class="tally">{_tally(artefact)}</p>
<p class="caption">{escape(artefact.caption)}</p>
{command(artefact.command)}
</header>
{_shown(artefact, found)}
{_numbers(artefact, first_number)}
{_claims(artefact)}
{_sources(artefact, found, scale_dir)}
</section>"""


def command(text: str) -> str:
    return (
        f'<div class="command"><code>{escape(text)}</code>'
        '<button type="button" class="copy" hidden>Copy</button></div>'
    )


def _tally(artefact: Artefact) -> str:
    counts = Counter(item.verdict for item in (*artefact.cells, *artefact.claims))
    parts = [f"{chip(v.word)} <b>{counts[v.word]}</b>" for v in VERDICTS if counts[v.word]]
    return "".join(f"<span>{part}</span>" for part in parts)


def _shown(artefact: Artefact, found: dict[str, Path]) -> str:
    content = layout(artefact, found)
    if not content:
        return '<p class="absent">Nothing to show yet: no run at this scale has fed this artefact.</p>'
    if content.startswith("<img"):
        return f'<h4>The figure</h4>\n<div class="figure">{content}</div>'
    return (
        "<h4>In the paper’s layout</h4>\n"
        f'<div class="layout" tabindex="0" role="group" aria-label="{escape(artefact.title)}">{content}</div>'
    )


def _numbers(artefact: Artefact, first_number: int) -> str:
    if not artefact.cells:
        return ""
    rows = "\n".join(_number(cell, first_number + k) for k, cell in enumerate(artefact.cells))
    box = '<div class="compare">'
    if len(artefact.cells) > _LONG:
        box = '<div class="compare long" tabindex="0" role="group" aria-label="Number by number">'
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Number", "Paper", "Ours", "Verdict", "Why"))
    return f"""<h4>Number by number</h4>
{box}<table aria-label="{escape(artefact.title)}: paper and ours">
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}
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
    interval = f' <span class="interval">{_interval(cell)}</span>' if _interval(cell) else ""
    sample = f' <span class="sample">{escape(_sample(cell))}</span>' if _sample(cell) else ""
    return text + unit + interval + sample


def _interval(cell: Cell) -> str:
    """lo and hi with the decimals of the number as printed; nothing for a counted number."""
    if cell.lo is None or cell.hi is None or cell.lo == cell.hi:
        return ""
    decimals = _decimals(cell.text)
    return f"[{_signed(cell.lo, decimals)}, {_signed(cell.hi, decimals)}]"


def _decimals(text: str) -> int:
    head = text.split()[0] if text.split() else ""
    fraction = head.partition(".")[2]
    return len(fraction) - len(fraction.lstrip("0123456789"))


def _signed(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}".replace("-", "\u2212")


def _sample(cell: Cell) -> str:
    parts = [] if cell.n is None else [f"n {cell.n:,}"]
    if cell.spread is not None and cell.spread_kind:
        parts.append(f"{cell.spread_kind.replace('_', ' ')} {cell.spread:.3g}")
    return " · ".join(parts)


def _claims(artefact: Artefact) -> str:
    if not artefact.claims:
        return ""
    items = "\n".join(
        f'<li class="item claim" data-verdict="{claim.verdict}">{chip(claim.verdict)}'
        f'<div><p>{escape(claim.text)} <span class="faint">{escape(claim.where)}</span></p>'
        f'<p class="why">{escape(claim.reason)}</p></div></li>'
        for claim in artefact.claims
    )
    return f'<h4>Claims</h4>\n<ul class="claims">\n{items}\n</ul>'


def _sources(artefact: Artefact, found: dict[str, Path], scale_dir: Path) -> str:
    """Deviations, truths and files: what the numbers rest on."""
    notes = "".join(f"<dt>{escape(note.id)}</dt><dd>{escape(note.text)}</dd>" for note in artefact.notes)
    truths = "".join(f"<li>{escape(truth)}</li>" for truth in artefact.truths)
    names = ", ".join(
        f"<code>{escape(path.relative_to(scale_dir).as_posix())}</code>" for path in found.values()
    )
    parts = []
    if notes:
        parts.append(f'<h4>Deviations</h4>\n<dl class="notes">{notes}</dl>')
    if truths:
        parts.append(f'<h4>Truths</h4>\n<ul class="truths">{truths}</ul>')
    if names:
        parts.append(f'<p class="files">Files, below the scale’s folder: {names}</p>')
    return "\n".join(parts)
