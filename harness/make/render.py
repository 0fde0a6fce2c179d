"""Cells → Markdown, LaTeX and HTML in the paper's layout. Formatting only: no number is made here."""

import math
import re
from collections.abc import Callable
from typing import Any

import pandas as pd
from jinja2 import Environment

from harness.base.layout import SCALES
from harness.make.texlayout import CELL, HEAD, LABEL, groups, wrapped
from harness.numbers.cellfile import CELL as CELLS
from harness.numbers.verdict_words import MARKS
from harness.spec.artefacts import Artefact

_TEX = {"&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "$": r"\$", "{": r"\{", "}": r"\}"}
_TEX |= {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "\n": " "}
_TEX |= {"×": r"$\times$", "≈": r"$\approx$", "±": r"$\pm$", "–": "--", "−": "$-$", "°": r"$^\circ$"}
_TEX |= {"λ": r"$\lambda$", "ρ": r"$\rho$", "τ": r"$\tau$", "§": r"\S{}", "·": r"$\cdot$", "²": r"$^2$"}
_TEX |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "√": r"$\surd$", "→": r"$\to$"}
_TEX |= {"≠": r"$\neq$", "≤": r"$\leq$", "≥": r"$\geq$", "†": r"$^\dagger$"}
_TEX |= {"Π": r"$\Pi$", "∗": r"$^*$", "½": r"$\frac12$", "σ": r"$\sigma$", "‖": r"$\|$"}
_TEX |= {"∆": r"$\Delta$", "Δ": r"$\Delta$", "α": r"$\alpha$"}

SMALLER = "°"  # behind a number of a smaller scale

_HTML = Environment(autoescape=True, trim_blocks=True).from_string("""\
<table>
<thead><tr><td></td>{% for c in columns %}<th scope="col">{{ c }}</th>{% endfor %}</tr></thead>
<tbody>
{% for r in rows %}
<tr><th scope="row">{{ r }}</th>{% for c in columns %}{% set cell = grid.get((r, c)) %}<td>
{%- if cell %}{{ cell.ours }}
{%- if cell.reported %} <span class="reported">[{{ cell.reported }}]</span>{% endif %}
{%- if cell.verdict %} <abbr title="{{ cell.verdict }}">{{ cell.mark }}</abbr>{% endif %}
{%- endif %}</td>{% endfor %}</tr>
{% endfor %}
</tbody>
</table>
""")


def number(value: float, spec: str) -> str:
    """Our number as the artefact wants it printed; whole numbers with thousands."""
    if not math.isfinite(value):
        return "undefined"
    if spec:
        return format(value, _fitting(value, spec))
    if float(value).is_integer():
        return f"{int(value):,}" if abs(value) < 1e15 else f"{value:.3g}"
    return f"{value:.3g}"


def _fitting(value: float, spec: str) -> str:
    """By its magnitude where digits or zeros tell nothing: losses that explode or vanish."""
    decimals = re.search(r"\.(\d+)f$", spec)
    fits = not decimals or 10.0 ** -(int(decimals[1]) + 2) <= abs(value) < 1e9 or value == 0
    return spec if fits else ".2g"


def ours(cell: pd.Series, spec: str) -> str:
    """`0.79 (0.02)`, a setting's text, or a dash where nothing was run."""
    if cell["n"] == 0:
        return cell["text"] or "–"
    spread = cell["spread"]
    if math.isfinite(spread) and (not spec or spec.endswith("g")):
        spec = _like(spread) or spec
    value = number(cell["value"], spec)
    if not math.isfinite(spread):
        return value
    # A spread below the last digit shown is a zero, but beside a number that is itself told by its magnitude.
    fitting = _fitting(cell["value"], spec).lstrip("+")
    return f"{value} ({format(spread, '.2g' if fitting[-1:] in ('', 'g') else fitting)})"


def shown(cell: pd.Series, spec: str) -> str:
    """The same with a sign behind what is of a smaller scale than the whole; the caption tells of which."""
    return ours(cell, spec) + SMALLER * bool(cell.get("scale"))


def of_own_scale(cells: pd.DataFrame) -> pd.DataFrame:
    """With holes where a smaller scale filled them: a drawing shows one scale."""
    if "scale" not in cells:
        return cells
    other = cells["scale"] != ""
    numbers = [name for name, kind in CELLS.items() if kind is float]
    filled = {name: cells[name].mask(other) for name in numbers}
    filled |= {name: cells[name].mask(other, 0) for name in ("n", "architectures")}
    return cells.assign(**filled, text=cells["text"].mask(other, ""))


def _like(spread: float) -> str:
    """As many decimals as two digits of the spread have; '' where there is none, or nothing but one."""
    if not 0 < spread < 1e6:
        return ""
    return f",.{max(0, 1 - math.floor(math.log10(spread)))}f"


def caption(
    artefact: Artefact, scale: str, cells: pd.DataFrame, truths: list[str], outdated: str = ""
) -> str:
    """What a reader must know to judge the numbers: scale, n, spread, truth, and whether others are due."""
    data = artefact.data
    made = cells[cells["runs"] != ""]
    where = data["where"]
    parts = [f"{where[0].upper()}{where[1:]}: {data['title']}."]
    if data.get("caption"):
        parts.append(data["caption"].strip())
    runs = {run for text in made["runs"] for run in text.split()}
    behind = sorted({int(n) for n in made["n"] if n > 0})
    each = f", n = {_span(behind)} per number" if behind else ""
    made_by = f"{len(runs)} run{'s' if len(runs) != 1 else ''}{_seeds(runs)}"
    scored = sorted({int(n) for n in made["architectures"] if n > 0})
    each += f", {_span(scored)} architecture{'s' * (scored[-1] > 1)}" if scored else ""
    parts.append(f"Scale {scale}{_set_up(artefact, scale)}, {made_by}{each}.")
    kinds = {
        "sample_sd": "sample standard deviation over runs or repeats",
        "bootstrap": "of one run, or of one pair, the standard error by bootstrap over architectures",
    }
    spreads = [words for kind, words in kinds.items() if (cells["spread_kind"] == kind).any()]
    if spreads:
        parts.append(f"In parentheses: {'; '.join(spreads)}.")
    for smaller in filter(None, dict.fromkeys(cells.get("scale", ()))):
        behind = sorted({int(n) for n in cells["n"][cells["scale"] == smaller] if n > 0})
        of = f", n = {_span(behind)} per number" if behind else ""
        of += ", and is not drawn" * (artefact.kind == "figure")
        parts.append(f"{SMALLER} is of scale {smaller}{_set_up(artefact, smaller)}{of}.")
    if truths:
        parts.append(f"Truth: {'; '.join(truths)}.")
    if outdated:
        parts.append(f"It {outdated}, and is to be made again.")
    parts += [f"Paper issue: {one.told}." for one in data.get("consistency", ()) if one.wrong]
    return " ".join(parts)


def _set_up(artefact: Artefact, scale: str) -> str:
    """How far it is from the published one."""
    if differs := ", ".join(artefact.differs(scale)):
        return f" (not the published set-up: {differs})"
    small = scale == SCALES[0] and artefact.data.get("comparable_from", scale) != scale
    return " (far from the published set-up: it shows that everything runs)" if small else ""


def _span(counts: list[int]) -> str:
    return f"{counts[0]:,} to {counts[-1]:,}" if len(counts) > 1 else f"{counts[0]:,}"


def _seeds(runs: set[str]) -> str:
    """` (seeds 0 to 2)`, from the names of the runs."""
    seeds = sorted({int(run.rsplit("/s", 1)[1]) for run in runs})
    if len(seeds) < 2:
        return f" (seed {seeds[0]})" if seeds else ""
    row = seeds == list(range(seeds[0], seeds[-1] + 1))
    return f" (seeds {f'{seeds[0]} to {seeds[-1]}' if row else ', '.join(map(str, seeds))})"


def markdown(artefact: Artefact, cells: pd.DataFrame, text: str) -> str:
    """Each cell: ours [paper] mark."""
    cells, text = _filled(cells, text)

    def cell(c: pd.Series) -> str:
        paper = f" [{c['reported']}]" if c["reported"] else ""
        mark = MARKS[c["verdict"]][0]
        return _md(f"{shown(c, format_of(artefact, c))}{paper}{' ' + mark if mark else ''}")

    rows, columns, grid = _grid(cells, cell)
    heads = ["", *columns]
    lines = ["| " + " | ".join(map(_md, heads)) + " |", "|---" * len(heads) + "|"]
    for r in rows:
        line = [_md(r), *(grid.get((r, c), "") for c in columns)]
        lines.append(f"| {' | '.join(line)} |")
    legend = ", ".join(f"{MARKS[v][0]} {v}" for v in MARKS if v and (cells["verdict"] == v).any())
    return "\n".join(
        [*lines, "", _no_html(text), "", f"Ours [paper] mark: {legend or 'the paper prints no numbers'}.", ""]
    )


def latex(artefact: Artefact, cells: pd.DataFrame, text: str) -> str:
    """Booktabs tables, several where one is too wide for a page; the paper's number in brackets."""
    cells, text = _filled(cells, text)

    def cell(c: pd.Series) -> str:
        paper = f" [{_tex(c['reported'])}]" if c["reported"] else ""
        return f"{_tex(shown(c, format_of(artefact, c)))}{paper} {MARKS[c['verdict']][1]}".strip()

    rows, columns, grid = _grid(cells, cell)
    heads, names = [_tex(c) for c in columns], [_tex(r) for r in rows]
    body = [[grid.get((r, c), "") for r in rows] for c in columns]
    tables = []
    for group in groups(names, [[head, *cells] for head, cells in zip(heads, body, strict=True)]):
        first = not tables
        lines = [r"\begin{table}", r"\centering\footnotesize\setlength{\tabcolsep}{4pt}"]
        lines += [] if first else [rf"{_tex(artefact.data['where'])}, continued\\[3pt]"]
        lines += [rf"\begin{{tabular}}{{l{'r' * len(group)}}}", r"\toprule"]
        lines += [" & ".join(["", *(wrapped(heads[k], HEAD, "r", "b") for k in group)]) + r" \\", r"\midrule"]
        for i, name in enumerate(names):
            line = [wrapped(name, LABEL, "l"), *(wrapped(body[k][i], CELL, "r") for k in group)]
            lines.append(" & ".join(line) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}"]
        lines += [rf"\caption{{{_tex(text)}}}", rf"\label{{tab:{artefact.target}}}"] if first else []
        tables += [*lines, r"\end{table}", ""]
    return "\n".join(tables)


def html_table(artefact: Artefact, cells: pd.DataFrame) -> str:
    """A <table> in the paper's layout, the same in its file and in the report."""

    def cell(c: pd.Series) -> dict[str, str]:
        told = {"ours": shown(c, format_of(artefact, c)), "mark": MARKS[c["verdict"]][0]}
        return told | {"reported": c["reported"], "verdict": c["verdict"]}

    rows, columns, grid = _grid(cells, cell)
    return _HTML.render(rows=rows, columns=columns, grid=grid)


def format_of(artefact: Artefact, cell: pd.Series) -> str:
    """The row's format, else the column's, else the artefact's."""
    for key, name in (("rows", cell["row"]), ("columns", cell["column"])):
        for line in artefact.data[key]:
            if str(line["name"]) == name and "format" in line:
                return line["format"]
    return artefact.data.get("format", "")


def _filled(cells: pd.DataFrame, text: str) -> tuple[pd.DataFrame, str]:
    """Without rows and columns that hold no number, ours or the paper's; the caption names them instead."""
    filled = (cells["n"] > 0) | (cells["text"] != "") | (cells["reported"] != "")
    left_out = []
    for by in ("row", "column"):
        some = filled.groupby(cells[by], sort=False).any()
        names = [str(name) for name in some.index[~some]]
        if 0 < len(names) < len(some):
            cells, filled = cells[~cells[by].isin(names)], filled[~cells[by].isin(names)]
            left_out.append(f"{by}{'s' * (len(names) > 1)} {_named(names)}")
    return cells, f"{text} No number at this scale: {' and '.join(left_out)}." if left_out else text


def _named(names: list[str]) -> str:
    return "; ".join(names) if len(names) <= 6 else f"{names[0]}; {names[1]}; …; {names[-1]} ({len(names)})"


def _grid(
    cells: pd.DataFrame, show: Callable[[pd.Series], Any]
) -> tuple[list[str], list[str], dict[tuple[str, str], Any]]:
    rows = list(dict.fromkeys(cells["row"]))
    columns = list(dict.fromkeys(cells["column"]))
    return rows, columns, {(c["row"], c["column"]): show(c) for _, c in cells.iterrows()}


def _tex(text: str) -> str:
    """No command of LaTeX's; at the beginning of a line [ and * would belong to the line break before."""
    guard = "{}" if str(text).startswith(("[", "*")) else ""
    return guard + "".join(_TEX.get(ch, ch) for ch in str(text))


def _md(text: str) -> str:
    return _no_html(text).replace("\n", " ").replace("|", r"\|")


def _no_html(text: str) -> str:
    return re.sub("<(?=[a-zA-Z/!?])", r"\<", text)
