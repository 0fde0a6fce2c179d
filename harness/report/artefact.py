"""One artefact as a section: what it is, how the paper shows it, and number by number how it fares."""

from collections import Counter
from html import escape
from pathlib import Path

from harness.report.grid import grid
from harness.report.inline import find_files, layout
from harness.report.numbers import is_row, rows
from harness.report.read import Artefact
from harness.report.verdicts import VERDICTS, chip


def section(artefact: Artefact, paper: str, scale_dir: Path, first_number: int) -> str:
    """The whole section; `first_number` is the place of its first cell among the page's numbers."""
    found = find_files(artefact, scale_dir)
    numbered = list(enumerate(artefact.cells, first_number))
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
{rows([(k, cell) for k, cell in numbered if is_row(cell)], artefact.title)}
{_claims(artefact)}
{grid([(k, cell) for k, cell in numbered if not is_row(cell)], artefact.title)}
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
        label = f'tabindex="0" role="group" aria-label="{escape(artefact.title)}"'
        return f'<h4>The figure</h4>\n<div class="figure" {label}>{content}</div>'
    return (
        "<h4>In the paper’s layout</h4>\n"
        f'<div class="layout" tabindex="0" role="group" aria-label="{escape(artefact.title)}">{content}</div>'
    )


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
