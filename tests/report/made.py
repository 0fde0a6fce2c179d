"""A report made of the sample, as text and as tags."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

from report.sample import write_results

from harness.base.layout import Layout
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

    def ids(self) -> list[str]:
        return [a["id"] for _, a in self.tags if "id" in a]


def built(layout: Layout) -> tuple[str, Tree, list[str]]:
    """The page, its tags, and what is said of damaged parts."""
    problems = build(layout, layout.root)
    page = layout.report.read_text(encoding="utf-8")
    return page, Tree(page), problems


def made(folder: Path, **changes) -> tuple[str, Tree]:
    page, tree, problems = built(write_results(folder, **changes))
    assert problems == []
    return page, tree


def embedded(page: str) -> dict:
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1)
    )
