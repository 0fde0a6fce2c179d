"""Pictures and tables made part of the page: smaller, the same, and never more than what they are."""

import base64
import io
import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from PIL import Image

from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.report.inline import picture, table_fragment

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
    assert 'src="data:image/webp;base64,' in picture(svg, png(tmp_path / "f.png"), "curve")
    svg.write_text("<svg/>")
    assert 'src="data:image/svg+xml,%3Csvg/%3E"' in picture(svg, tmp_path / "f.png", "curve")


@pytest.mark.parametrize("content", [b"GIF89a", b"", b"\x89PNG\r\n\x1a\n" + bytes(100), b"<svg/>"])
def test_what_is_no_picture_is_refused(tmp_path, content):
    (tmp_path / "f.png").write_bytes(content)
    with pytest.raises(HarnessError, match=r"f\.png is not a picture of its kind"):
        picture(None, tmp_path / "f.png", "curve")
    (tmp_path / "f.svg").write_bytes(b"\x89PNG")
    with pytest.raises(HarnessError, match=r"f\.svg is not a picture of its kind"):
        picture(tmp_path / "f.svg", None, "curve")


def test_a_picture_keeps_every_pixel(tmp_path):
    path = png(tmp_path / "f.png")
    kind, data = re.search('src="data:image/(.*?);base64,(.*?)"', picture(None, path, "curve")).groups()
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
    source = re.search('src="data:image/svg\\+xml,(.*?)"', picture(svg, None, "curve")).group(1)
    assert not set(source) & set("<>\"'#&\n")
    told = [
        [(e.tag, e.attrib, (e.text or "").strip()) for e in ElementTree.fromstring(text).iter()]
        for text in (svg.read_text(), unquote(source))
    ]
    told[0][2][1]["d"] = " ".join(told[0][2][1]["d"].split()) + " "
    assert told[0] == told[1]


def test_markup_in_a_table_fragment_becomes_text(tmp_path):
    path = tmp_path / "t.html"
    path.write_text('<table onclick="x()"><tr><td class="a" style="b"><img src=x><b>1</b></td></tr></table>')
    assert table_fragment(path) == '<table><tr><td class="a">&lt;img src=x&gt;<b>1</b></td></tr></table>'


@pytest.mark.parametrize(
    "text", ["", "<p>no table</p>", "<table><tr>", "<table></tr></table>", "<table></table></div>" * 2]
)
def test_a_broken_table_fragment_is_refused(tmp_path, text):
    path = tmp_path / "t.html"
    path.write_text(text)
    with pytest.raises(HarnessError, match="not one whole <table>"):
        table_fragment(path)


def test_a_table_as_the_pipeline_writes_it_is_markup_and_no_text():
    html = ROOT / "tests" / "golden" / "expected" / "tables" / "gold" / "table_1.html"
    assert "<abbr" in html.read_text(encoding="utf-8")
    assert "&lt;abbr" not in table_fragment(html)
