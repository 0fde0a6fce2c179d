"""A figure's picture made part of the page."""

import base64
import io
import re
from pathlib import Path
from urllib.parse import quote

from harness.base.errors import HarnessError

_SVG_LIMIT = 60_000  # bytes; a larger one gives way to pixels, so that the page stays light
_SAFE = " !()*+,-./:;=?@[]_{}~|^$"  # what a data address may hold as it is


def picture(svg: Path, png: Path) -> str:
    """Its address as an image: scripts inside cannot run and its ids cannot clash with another's."""
    if svg.is_file() and (svg.stat().st_size <= _SVG_LIMIT or not png.is_file()):
        return _of_svg(svg)
    if not png.is_file():
        raise HarnessError(f"{svg} does not exist: make its figure again")
    return _of_png(png)


def _of_svg(path: Path) -> str:
    """As text, which takes a quarter less than base64; white space in XML attributes is one space anyway."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if "<svg" not in text:
        raise _no_picture(path)
    return "data:image/svg+xml," + quote(re.sub("[ \t\r\n]+", " ", text), safe=_SAFE)


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
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def _no_picture(path: Path) -> HarnessError:
    return HarnessError(f"{path} is not a picture of its kind: delete it and make its figure again")
