"""The report: every verdict of a scale on one page that needs nothing but a browser."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from harness.base.files import ROOT, write_atomic
from harness.base.layout import Layout
from harness.report.numbers import blocks, gaps
from harness.report.read import read_papers
from harness.report.runs import behind
from harness.report.summary import facts, in_classes, sentence, verdicts
from harness.report.verdicts import BY_WORD, VERDICTS, gravest, shares

__all__ = ["after_failure", "build", "page_of"]


def build(layout: Layout, root: Path = ROOT, paper: str = "", failed: Sequence[str] = ()) -> list[str]:
    """Write the page of a scale, the same bytes for the same files; a sentence for each damaged part.

    `paper`: of this one alone, on a page of its own. `failed`: what the campaign says that did not go well.
    """
    papers = read_papers(layout, root, paper)
    style, script = (files(__name__).joinpath(f"page.{kind}").read_text("utf-8") for kind in ("css", "js"))
    page = _templates().get_template("page.html")
    shown = page.render(
        papers=papers,
        scale=layout.scale,
        sentence=sentence(papers),
        in_classes=in_classes(papers),
        failed=failed,
        facts=facts(papers, layout.scale),
        counts=verdicts(papers),
        data=behind(papers, layout.scale),
        policy=_policy(script=script, style=style),
        style=style,
        script=script,
    )
    write_atomic(page_of(layout, paper), shown + "\n")
    return [problem for paper in papers for section in paper.sections for problem in section.problems]


def page_of(layout: Layout, paper: str = "") -> Path:
    return layout.report.with_name(f"{paper}.html") if paper else layout.report


def after_failure(layout: Layout, failed: Sequence[str], planned: Iterable[str], root: Path = ROOT) -> None:
    """Write every page that stands there, or was to be written, with what failed."""
    folder = layout.report.parent
    pages = {*folder.glob("*.html"), *(layout.root / name for name in planned)}
    for path in sorted(pages):
        try:
            build(layout, root, "" if path == layout.report else path.stem, failed or ["it was stopped"])
        except Exception as error:  # whatever it is: yesterday's page must not stay
            told = [*failed, f"this page could not be written: {type(error).__name__}: {error}"]
            text = "".join(f"<pre>{escape(line)}</pre>" for line in told)
            head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Failed</title><h1>Failed</h1>'
            write_atomic(path, f"{head}{text}</html>\n")


def _templates() -> Environment:
    """Every text is escaped, as it may come from YAML or a record, but for what is ours and marked `safe`."""
    options = {"autoescape": True, "undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    found = Environment(loader=PackageLoader(__name__, "."), **options)
    found.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    found.globals |= {"BY_WORD": BY_WORD, "VERDICTS": VERDICTS, "gravest": gravest, "shares": shares}
    found.globals |= {"blocks": blocks, "gaps": gaps}
    return found


def _policy(**ours: str) -> str:
    """Nothing runs or loads but our own two texts: a second wall behind the escaping."""
    digests = {kind: base64.b64encode(hashlib.sha256(text.encode()).digest()) for kind, text in ours.items()}
    rules = "; ".join(f"{kind}-src 'sha256-{digest.decode()}'" for kind, digest in digests.items())
    return f"default-src 'none'; img-src data:; {rules}; base-uri 'none'; form-action 'none'"
