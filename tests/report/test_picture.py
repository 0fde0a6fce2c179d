"""Pictures made part of the page: smaller, the same, and never more than what they are."""

import base64
import io
import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from PIL import Image

from harness.base.errors import HarnessError
from harness.report.picture import picture

NAMESPACE = "http://www.w3.org/2000/svg"


def png(path: Path) -> Path:
    """A picture with soft edges and clear corners, larger than its WebP."""
    image = Image.new("RGBA", (120, 80), (10, 90, 200, 0))
    image.paste(Image.radial_gradient("L").resize((100, 60)), (10, 10))
    image.save(path, metadata=None, compress_level=1)
    return path


def test_a_large_svg_gives_way_to_pixels(tmp_path):
    svg = tmp_path / "f.svg"
    svg.write_text("<svg>" + " " * 100_000 + "</svg>")
    assert picture(svg, tmp_path / "f.png").startswith("data:image/svg+xml,%3Csvg%3E")
    assert picture(svg, png(tmp_path / "f.png")).startswith("data:image/webp;base64,")
    svg.write_text("<svg/>")
    assert picture(svg, tmp_path / "f.png") == "data:image/svg+xml,%3Csvg/%3E"


@pytest.mark.parametrize("content", [b"GIF89a", b"", b"\x89PNG\r\n\x1a\n" + bytes(100), b"<svg/>"])
def test_what_is_no_picture_is_refused(tmp_path, content):
    (tmp_path / "f.png").write_bytes(content)
    with pytest.raises(HarnessError, match=r"f\.png is not a picture of its kind"):
        picture(tmp_path / "f.svg", tmp_path / "f.png")
    (tmp_path / "f.svg").write_bytes(b"\x89PNG")
    with pytest.raises(HarnessError, match=r"f\.svg is not a picture of its kind"):
        picture(tmp_path / "f.svg", tmp_path / "none.png")


def test_a_picture_keeps_every_pixel(tmp_path):
    path = png(tmp_path / "f.png")
    kind, data = re.fullmatch("data:image/(.*?);base64,(.*)", picture(tmp_path / "f.svg", path)).groups()
    content = base64.b64decode(data)
    assert kind == "webp" and len(content) < path.stat().st_size
    before, after = (Image.open(source).convert("RGBA") for source in (path, io.BytesIO(content)))
    assert before.tobytes() == after.tobytes()


def test_a_drawing_of_lines_stays_the_same_drawing(tmp_path):
    svg = tmp_path / "f.svg"
    svg.write_text(
        f"<?xml version='1.0'?>\n<svg xmlns='{NAMESPACE}'>\n <g id='a\"b'>\n  <path d='M 1 2 \nL 3 4\n'/>"
        "<text>50\u00a0% &amp; #1 <tspan>é</tspan></text></g></svg>"
    )
    source = picture(svg, tmp_path / "f.png").removeprefix("data:image/svg+xml,")
    assert not set(source) & set("<>\"'#&\n")
    told = [
        [(e.tag, e.attrib, (e.text or "").strip()) for e in ElementTree.fromstring(text).iter()]
        for text in (svg.read_text(), unquote(source))
    ]
    told[0][2][1]["d"] = " ".join(told[0][2][1]["d"].split()) + " "
    assert told[0] == told[1]
