"""The page around the artefacts: head, overview, contents, the papers' sections, the legend."""

from collections import Counter
from collections.abc import Iterable
from html import escape
from itertools import chain
from pathlib import Path

from harness.numbers.verdict_words import HOLDS, JUDGED
from harness.report.artefact import section
from harness.report.data import cells
from harness.report.read import Artefact, Paper
from harness.report.verdicts import VERDICTS, bar, chip, gravest


def header(papers: list[Paper]) -> str:
    """What was run, when, from which commit, and how it came out, in three lines."""
    runs = {name: run for paper in papers for name, run in paper.runs.items()}
    days = sorted(moment[:10] for run in runs.values() for moment in (run.start, run.end) if moment)
    commits = sorted({run.commit[:10] for run in runs.values() if run.commit})
    hours = sum(run.hours or 0 for run in runs.values())
    when = "none yet" if not days else days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    facts = {
        "Scale": papers[0].scale,
        "Runs": f"{len(runs):,} in {hours:,.1f} h"
        if hours >= 0.1
        else f"{len(runs):,} in {hours * 60:,.1f} min",
        "Dates": when,
        "Commits" if len(commits) > 1 else "Commit": ", ".join(commits) or "none",
    }
    items = "".join(f"<div><dt>{name}</dt><dd>{escape(fact)}</dd></div>" for name, fact in facts.items())
    return f"<h1>{_sentence(papers)}</h1>\n<dl>{items}</dl>"


def _sentence(papers: list[Paper]) -> str:
    counts = Counter(cell.verdict for cell in cells(papers)) + Counter(_claim_verdicts(papers))
    judged = sum(counts[word] for word in JUDGED)
    if not judged:
        return "Nothing is judged at this scale yet"
    hold, fail = sum(counts[word] for word in HOLDS), counts["differs"] + counts["contradicts"]
    sentence = f"{hold:,} of {judged:,} judged numbers and claims hold"
    if fail:
        sentence += f", {fail:,} {'does' if fail == 1 else 'do'} not"
    if counts["unclear"]:
        sentence += f", {counts['unclear']:,} unclear"
    if issues := counts["paper issue"]:
        sentence += f", {issues:,} {'is an issue' if issues == 1 else 'are issues'} of the paper"
    printed = Counter(cell.verdict for cell in cells(papers) if cell.reported)
    told = printed + Counter(_claim_verdicts(papers))
    rest = sum(n for word, n in told.items() if word not in JUDGED)
    return sentence + (f"; {rest:,} are not judged" if rest else "")


def overview(papers: list[Paper]) -> str:
    """Counts per paper and verdict; each count is a button that filters to what it counts."""
    used = Counter(cell.verdict for cell in cells(papers)) + Counter(_claim_verdicts(papers))
    words = [verdict.word for verdict in VERDICTS if used[verdict.word]]
    heads = "".join(f'<th scope="col">{chip(word)}</th>' for word in words)
    bodies = "".join(_overview_paper(paper, words) for paper in papers)
    return f"""<div class="scroll" tabindex="0" role="group" aria-label="Verdicts per paper">
<table class="overview">
<thead><tr><th scope="col">Paper</th><th scope="col"><span class="unseen">What</span></th>{heads}
<th scope="col">all</th></tr></thead>
{bodies}</table></div>"""


def _overview_paper(paper: Paper, words: list[str]) -> str:
    numbers = Counter(cell.verdict for cell in cells([paper]))
    claims = Counter(_claim_verdicts([paper]))
    name = escape(paper.paper)
    rows = (
        _overview_row(paper.paper, "numbers", numbers, words),
        _overview_row(paper.paper, "claims", claims, words),
    )
    return f"""<tbody><tr><th scope="rowgroup" rowspan="2"><a href="#{name}">{name}</a>
<span class="faint">{escape(paper.authors_year)}</span>{bar(numbers + claims)}</th>{rows[0]}</tr>
<tr>{rows[1]}</tr></tbody>
"""


def _overview_row(paper: str, rows: str, counts: Counter[str], words: list[str]) -> str:
    def count(number: int, verdict: str | None, label: str) -> str:
        if not number:
            return '<td class="zero">·</td>'
        aim = "" if verdict is None else f' data-verdict="{verdict}"'
        return (
            f'<td><button type="button" class="count" data-paper="{escape(paper)}" data-rows="{rows}"{aim}'
            f' aria-label="{number} {label} {rows} of {escape(paper)}: show them">{number:,}</button></td>'
        )

    labels = {verdict.word: verdict.label for verdict in VERDICTS}
    counted = "".join(count(counts[word], word, labels[word]) for word in words)
    return f'<th scope="row">{rows}</th>{counted}{count(sum(counts.values()), None, "")}'


def verdict_buttons(papers: list[Paper]) -> str:
    """One toggle per verdict that occurs."""
    used = Counter(cell.verdict for cell in cells(papers)) + Counter(_claim_verdicts(papers))
    return "".join(
        f'<button type="button" class="toggle" data-verdict="{verdict.word}" aria-pressed="false">'
        f"{chip(verdict.word)}<span>{used[verdict.word]:,}</span></button>"
        for verdict in VERDICTS
        if used[verdict.word]
    )


def contents(papers: list[Paper]) -> str:
    """Links to every artefact, each with the sign of its gravest verdict."""
    return "".join(
        f'<li data-paper="{paper.paper}"><a href="#{paper.paper}">{paper.paper}</a><ul>'
        + "".join(_entry(artefact) for artefact in paper.artefacts)
        + "</ul></li>\n"
        for paper in papers
    )


def _entry(artefact: Artefact) -> str:
    worst = gravest(item.verdict for item in (*artefact.cells, *artefact.claims))
    sign = ""
    if worst:
        sign = f'<span class="mark {worst.slug}" title="{worst.label}" aria-hidden="true">{worst.sign}</span>'
        sign += f'<span class="unseen"> ({worst.label})</span>'
    name = escape(artefact.label)
    link = f'<a href="#{escape(artefact.id)}" title="{escape(artefact.title)}">{name}{sign}</a>'
    return f'<li data-artefact="{escape(artefact.id)}">{link}</li>'


def paper_section(paper: Paper, scale_dir: Path, first_number: int) -> str:
    """A paper's heading and its artefacts in the order of the check file."""
    sections = []
    for artefact in paper.artefacts:
        sections.append(section(artefact, paper.paper, scale_dir, first_number))
        first_number += len(artefact.cells)
    return f"""<section class="paper-section" data-paper="{escape(paper.paper)}">
<header class="paper-head"><h2 id="{escape(paper.paper)}">{escape(paper.title)}</h2>
<p class="faint">{escape(paper.authors_year)} · <code>{escape(paper.paper)}</code></p></header>
{"".join(sections)}
</section>"""


def sections(papers: list[Paper], scale_dir: Path) -> str:
    """All papers, the numbers counted through as `data.embed` counts them."""
    out, first = [], 0
    for paper in papers:
        out.append(paper_section(paper, scale_dir, first))
        first += sum(len(artefact.cells) for artefact in paper.artefacts)
    return "\n".join(out)


def legend() -> str:
    return "".join(f"<dt>{chip(v.word)}</dt><dd>{escape(v.meaning)}</dd>" for v in VERDICTS)


def _claim_verdicts(papers: Iterable[Paper]) -> Iterable[str]:
    artefacts = chain.from_iterable(paper.artefacts for paper in papers)
    return (claim.verdict for artefact in artefacts for claim in artefact.claims)
