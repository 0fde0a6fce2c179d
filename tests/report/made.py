"""A report made of the sample, as text and as tags."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

from report.sample import write_results

from harness.report import build


class Tree(HTMLParser):
    """Start tags with attributes in order, and the visible text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def having(self, tag: str, word: str) -> list[dict]:
        return [a for t, a in self.tags if t == tag and word in (a.get("class") or "").split()]


def made(folder: Path, **changes) -> tuple[str, Tree]:
    out = folder / "report" / "index.html"
    build(write_results(folder, **changes), out)
    page = out.read_text(encoding="utf-8")
    return page, Tree(page)


def edit(folder: Path, change) -> Path:
    """The sample with sotl's check file changed in place; its scale folder."""
    scale_dir = write_results(folder)
    path = scale_dir / "check" / "sotl.json"
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))
    return scale_dir


def embedded(page: str) -> dict:
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1)
    )
