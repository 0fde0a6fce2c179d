"""Files of an artefact made part of the page: a table fragment or a picture."""

import base64
import io
import re
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

from harness.base.errors import HarnessError
from harness.report.read import Artefact

_SVG_LIMIT = 60_000  # bytes; a larger one gives way to pixels, so that the page stays light
_SAFE = " !()*+,-./:;=?@[]_{}~|^$"  # what a data address may hold as it is
_TAGS = {
    "table", "caption", "colgroup", "col", "thead", "tbody", "tfoot", "tr", "th", "td",
    "b", "i", "em", "strong", "abbr", "sub", "sup", "small", "span", "code", "br",
}  # fmt: skip
_EMPTY = {"br", "col"}
_ATTRIBUTES = {"class", "scope", "colspan", "rowspan", "title", "abbr"}


def find_files(artefact: Artefact, scale_dir: Path) -> dict[str, Path]:
    """The artefact's files by kind; each that is named must be there and inside the scale's folder."""
    found = {}
    for kind, name in artefact.files.items():
        if not name:
            continue
        path = scale_dir / str(name)
        if not path.resolve().is_relative_to(scale_dir.resolve()):
            raise HarnessError(f"{artefact.id} names {name}, which lies outside {scale_dir}: check again")
        if not path.is_file():
            raise HarnessError(
                f"{artefact.id} names {path}, which does not exist: run `{artefact.command}` again"
            )
        found[kind] = path
    return found


def layout(artefact: Artefact, found: dict[str, Path]) -> str:
    """The artefact as the paper lays it out; empty where it was not made yet."""
    if "html" in found:
        return table_fragment(found["html"])
    if "svg" in found or "png" in found:
        return picture(found.get("svg"), found.get("png"), f"{artefact.title}. {artefact.caption}")
    return ""


def picture(svg: Path | None, png: Path | None, alt: str) -> str:
    """An image element: scripts inside a picture cannot run and its ids cannot clash with another's."""
    if svg is not None and (png is None or svg.stat().st_size <= _SVG_LIMIT):
        source = _of_svg(svg)
    else:
        source = _of_png(png)
    return f'<img alt="{escape(alt)}" src="data:{source}">'


def _of_svg(path: Path) -> str:
    """As text, which takes a quarter less than base64; white space in XML attributes is one space anyway."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if "<svg" not in text:
        raise _no_picture(path)
    return "image/svg+xml," + quote(re.sub("[ \t\r\n]+", " ", text), safe=_SAFE)


def _of_png(path: Path) -> str:
    """The same pixels as lossless WebP, which takes half of what matplotlib's PNG does."""
    from PIL import Image

    content, memory = path.read_bytes(), io.BytesIO()
    try:
        image = Image.open(io.BytesIO(content), formats=["PNG"])
        image.convert("RGBA").save(memory, "WEBP", lossless=True, exact=True)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise _no_picture(path) from error
    small = memory.getvalue()
    kind, data = ("webp", small) if len(small) < len(content) else ("png", content)
    return f"image/{kind};base64,{base64.b64encode(data).decode()}"


def _no_picture(path: Path) -> HarnessError:
    return HarnessError(f"{path} is not a picture of its kind: delete it and run its target again")


def table_fragment(path: Path) -> str:
    """The table with the tags and attributes of a plain table; anything else becomes visible text."""
    fragment = _Fragment()
    fragment.feed(path.read_text(encoding="utf-8"))
    fragment.close()
    if fragment.tables != 1 or fragment.open:
        raise HarnessError(f"{path} is not one whole <table>: delete it and run its target again")
    return "".join(fragment.out)


class _Fragment(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.out: list[str] = []
        self.open: list[str] = []
        self.tables = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _TAGS or (not self.open and tag != "table"):
            self.handle_data(self.get_starttag_text() or "")
            return
        kept = [f' {name}="{escape(value or "")}"' for name, value in attrs if name in _ATTRIBUTES]
        self.out.append(f"<{tag}{''.join(kept)}>")
        self.tables += tag == "table"
        if tag not in _EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _EMPTY:
            return
        if self.open and self.open[-1] == tag:
            self.open.pop()
            self.out.append(f"</{tag}>")
        elif tag in _TAGS:
            self.open.append(f"wrongly closed {tag}")  # refused at the end: the nesting is broken
        else:
            self.handle_data(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self.out.append(escape(data))
