"""The report: every verdict of a scale on one page that needs nothing but a browser."""

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from string import Template

from harness.base.files import write_atomic
from harness.report.data import embed
from harness.report.page import contents, header, legend, overview, sections, verdict_buttons
from harness.report.read import read

__all__ = ["build"]


def build(scale_dir: Path, out: Path) -> None:
    """Write the page for results/<scale>; the same records give the same bytes."""
    papers = read(scale_dir)
    style, script = _source("page.css"), _source("page.js")
    page = Template(_source("page.html")).substitute(
        policy=_policy(style, script),
        style=style,
        script=script,
        scale=papers[0].scale,
        header=header(papers),
        overview=overview(papers),
        verdicts=verdict_buttons(papers),
        papers="".join(f'<option value="{p.paper}">{p.paper}</option>' for p in papers),
        contents=contents(papers),
        sections=sections(papers, scale_dir),
        legend=legend(),
        data=embed(papers),
    )
    write_atomic(out, page)


def _source(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Nothing runs or loads but our own two texts: a second wall behind the escaping."""
    rules = f"script-src '{_digest(script)}'; style-src '{_digest(style)}'"
    return f"default-src 'none'; img-src data:; {rules}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
