"""REPRODUCED.md and the README's table of papers, out of what was accepted in published/."""

import tempfile
from pathlib import Path

from harness.accepted import findings, headline
from harness.accepted.outcomes import OLD, SMALL, Outcome, capital, of_paper
from harness.accepted.statements import Fared, page
from harness.base.errors import HarnessError
from harness.base.files import ROOT, write_atomic
from harness.base.layout import SCALES, Layout
from harness.spec import experiments

MARKERS = ("<!-- papers: by `python -m harness reproduced` -->", "<!-- /papers -->")
_MARKS = {
    SMALL: f"{SMALL} so far at scale {SCALES[0]}, where what is trained or queried is shown and not judged.",
    OLD: f"{OLD} counted as accepted from other runs, code or rules than today's, to be made again.",
}
_WHERE = "[REPRODUCED.md](REPRODUCED.md) names each claim, with what was measured."


def write(root: Path = ROOT) -> list[Path]:
    """Both files where they changed; a project without a README has none."""
    changed = outdated(root)
    for path, text in changed.items():
        write_atomic(path, text)
    return list(changed)


def require_writable(layout: Layout, files: dict[Path, bytes], root: Path = ROOT) -> None:
    """An error where these files of published/ are ones that README sentences cannot be written of."""
    with tempfile.TemporaryDirectory() as folder:
        apart = Layout(layout.scale, layout.root, Path(folder))
        for path, content in files.items():
            if path.suffix != ".xz":  # records are not read here
                place = apart.results / path.relative_to(layout.published)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
        outdated(root, apart)


def outdated(root: Path = ROOT, soon: Layout | None = None) -> dict[Path, str]:
    """Those of the two that do not say what was accepted, or soon is, with what they would."""
    papers = read(root, soon)
    texts = {root / "REPRODUCED.md": page(papers)}
    readme = root / "README.md"
    if readme.is_file():
        texts[readme] = with_table(with_found(readme.read_text(encoding="utf-8"), papers, root), papers)
    there = {path: path.read_text(encoding="utf-8") if path.is_file() else "" for path in texts}
    return {path: text for path, text in texts.items() if there[path] != text}


def read(root: Path = ROOT, soon: Layout | None = None) -> list[Fared]:
    return [_fared(name, root, soon) for name in experiments.paper_names(root)]


def _fared(name: str, root: Path, soon: Layout | None) -> Fared:
    found = of_paper(name, root, soon)
    return Fared(experiments.paper(name, root), found, frozenset(findings.linked(found, name, root)))


def with_found(readme: str, papers: list[Fared], root: Path = ROOT) -> str:
    """The README with what was found, before anything else."""
    return findings.with_found(readme, [findings.told(each.paper, each.found, root) for each in papers])


def with_table(readme: str, papers: list[Fared]) -> str:
    """The README with today's table between its two markers."""
    start, end = (readme.find(marker) for marker in MARKERS)
    if not 0 <= start < end:
        raise HarnessError(f"README.md lacks the lines {MARKERS[0]!r} and {MARKERS[1]!r}: add them")
    return readme[: start + len(MARKERS[0])] + f"\n\n{table(papers)}\n\n" + readme[end:]


def table(papers: list[Fared]) -> str:
    """One line per paper: how its numbers and its claims fare, and where they are shown."""
    lines = ["| name | paper | printed numbers | claims | shown in |", "|---|---|---|---|---|"]
    for fared in papers:
        title = f"{fared.paper.title}. {capital(fared.paper.authors)}, {fared.paper.year}"
        shown = "; ".join(filter(None, [_links(fared.found), _not_there(fared.paper)]))
        told = headline.of_classes(fared.found)
        of_claims = {name.removeprefix("claims "): told.pop(name, "") for name in headline.SENTENCES}
        claims = "; ".join(f"{name}: {words}" for name, words in of_claims.items() if words) or "none"
        told.pop(headline.OURS, "")
        numbers = "; ".join(f"{name}: {words}" for name, words in told.items()) or "none"
        lines.append(f"| `{fared.paper.name}` | {title} | {numbers} | {claims} | {shown} |")
    told = "\n".join(lines)
    return f"{told}\n\n{' '.join([*(text for mark, text in _MARKS.items() if mark in told), _WHERE])}"


def _not_there(paper: experiments.Paper) -> str:
    return f"not there: {', '.join(paper.not_there)}" if paper.not_there else ""


def _links(found: list[Outcome]) -> str:
    """`Tables 3.1, 4.1; Figures …`, each a link; ° marks the smallest scale."""
    kinds: dict[str, list[str]] = {}
    for o in found:
        word, _, number = o.name.partition(" ")
        counted = word in ("Table", "Figure") and not number.startswith("of ")
        label = f"[{number if counted else o.name}]({o.page}){SMALL * o.small}{OLD * bool(o.old)}"
        kinds.setdefault(word if counted else "", []).append(label)
    return "; ".join(
        f"{word}{'s' * (len(links) > 1)} {', '.join(links)}" if word else ", ".join(links)
        for word, links in kinds.items()
    )
