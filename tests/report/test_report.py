"""The report: whole, escaped, the same bytes twice, and plain words where a file is missing."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report.sample import HOSTILE, PARAMS, write_results

from harness.errors import HarnessError
from harness.files import ROOT
from harness.report import build
from harness.report.inline import picture, table_fragment
from harness.report.verdicts import VERDICTS, gravest

LIMIT = 5_000_000


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


def test_every_artefact_is_a_section_with_an_anchor_and_its_place_in_the_paper(tmp_path):
    page, tree = made(tmp_path)
    assert [a["id"] for a in tree.having("section", "artefact")] == [
        "icw/table_3",
        "sotl/table_4_5",
        "sotl/figure_4_9",
    ]
    for text in (
        "Table 4.5, §4.2.4",
        "snakemake sotl_table_4_5 --config scale=smoke",
        "nb201-table sha256 5d1f0a77…",
    ):
        assert text in tree.text
    links = [a["href"] for t, a in tree.tags if t == "a" and "class" not in a]
    assert {"#icw/table_3", "#sotl/table_4_5", "#sotl/figure_4_9"} <= set(links)
    assert len(page.encode()) < LIMIT


def test_numbers_stand_beside_the_paper_with_interval_and_verdict(tmp_path):
    page, tree = made(tmp_path)
    rows = tree.having("tr", "number")
    assert [row["data-verdict"] for row in rows][-len(PARAMS) - 12 : -12] == [
        verdict for *_, verdict in PARAMS
    ]
    assert "[0.72, 0.79]" in tree.text  # two decimals, as the number itself
    assert "n 200 · bootstrap 0.0187" in tree.text
    assert page.count('class="chip differs"') >= 3  # filter, tally, row


def test_the_head_counts_and_dates_come_from_the_records(tmp_path):
    _, tree = made(tmp_path)
    assert "12 of 14 judged numbers and claims hold, 2 do not" in tree.text
    assert "2026-03-01 to 2026-03-03" in tree.text and "0a1b2c3d4e" in tree.text
    counts = {
        (a["data-paper"], a["data-rows"], a.get("data-verdict")) for a in tree.having("button", "count")
    }
    assert ("sotl", "claims", "contradicts") in counts and ("icw", "numbers", "match") in counts
    assert ("icw", "claims", None) not in counts  # it has none, so there is nothing to press


def test_each_number_knows_its_runs(tmp_path):
    page, tree = made(tmp_path)
    data = embedded(page)
    names = [data["runs"][k]["id"] for k in data["numbers"][8]]  # after icw's eight cells
    assert names == [f"sotl/params_correlation/params/nb201-cifar10/s{s}" for s in range(3)]
    assert data["configs"][data["runs"][0]["config"]]["architectures"] == 200
    assert data["shared"][data["runs"][0]["shared"]]["host"] == "bench-1"
    pressed = [int(a["data-number"]) for a in tree.having("button", "runs")]
    assert pressed == [k for k, runs in enumerate(data["numbers"]) if runs]
    assert len(data["configs"]) == 3 and len(data["shared"]) == 1  # equal ones are kept once


def test_headings_descend_and_tables_name_their_heads(tmp_path):
    _, tree = made(tmp_path)
    levels = [int(t[1]) for t, _ in tree.tags if re.fullmatch("h[1-6]", t)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(levels, levels[1:], strict=False))
    assert all("scope" in a for t, a in tree.tags if t == "th")
    assert all(a.get("type") == "button" for t, a in tree.tags if t == "button")
    assert all(a.get("alt") for t, a in tree.tags if t == "img")
    ids = [a["id"] for _, a in tree.tags if "id" in a]
    assert len(ids) == len(set(ids))


def test_nothing_is_fetched_from_anywhere(tmp_path):
    _, tree = made(tmp_path)
    for _, attributes in tree.tags:
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith(("#", "data:")), attributes
    policy = next(a["content"] for t, a in tree.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy and "unsafe" not in policy


def test_a_hostile_string_is_only_text(tmp_path):
    page, tree = made(tmp_path, reason=HOSTILE)
    assert tree.text.count(HOSTILE) >= 5  # row, column, paper, ours, why
    assert [t for t, _ in tree.tags].count("script") == 2
    assert all(a["src"].startswith("data:") and "onerror" not in a for t, a in tree.tags if t == "img")
    assert embedded(page)["runs"][0]["command"] == HOSTILE


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


def test_the_same_records_give_the_same_bytes(tmp_path):
    first, _ = made(tmp_path / "a")
    second, _ = made(tmp_path / "b")
    assert first == second


def test_a_missing_figure_is_told_in_one_sentence(tmp_path):
    scale_dir = write_results(tmp_path)
    (scale_dir / "figures/sotl/figure_4_9.svg").unlink()
    with pytest.raises(
        HarnessError, match=r"sotl/figure_4_9 names .*figure_4_9\.svg, which does not exist: run `snakemake"
    ):
        build(scale_dir, tmp_path / "index.html")
    assert not (tmp_path / "index.html").exists()


def test_a_large_svg_gives_way_to_a_smaller_png(tmp_path):
    svg, png = tmp_path / "f.svg", tmp_path / "f.png"
    svg.write_text("<svg>" + " " * 100_000 + "</svg>")
    png.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    assert 'src="data:image/png;base64,' in picture(svg, png, "curve")
    svg.write_text("<svg/>")
    assert 'src="data:image/svg+xml;base64,' in picture(svg, png, "curve")
    png.write_bytes(b"GIF89a")
    with pytest.raises(HarnessError, match="not a picture of its kind"):
        picture(None, png, "curve")


def first_cell(record: dict) -> dict:
    return record["artefacts"][0]["cells"][0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda r: first_cell(r).update(verdict="fine"),
            r"\(sotl/table_4_5\), cell 1 has the unknown verdict 'fine'",
        ),
        (lambda r: first_cell(r).pop("reason"), "cell 1 lacks 'reason'"),
        (lambda r: first_cell(r).update(lo="0.7"), "'lo' is '0.7', which has the wrong type"),
        (lambda r: first_cell(r).update(lo=float("nan")), "NaN is not JSON"),
        (lambda r: first_cell(r).update(runs=["sotl/gone"]), "names run 'sotl/gone', which is not listed"),
        (lambda r: r["artefacts"][0].update(files={"html": "../../x"}), "lies outside"),
        (lambda r: r["artefacts"][0].update(kind="plot"), "a table or a figure"),
        (lambda r: r["artefacts"].append(r["artefacts"][0]), "sotl/table_4_5 twice"),
        (lambda r: r.update(scale="cpu"), "mixes the scales cpu, smoke"),
    ],
)
def test_a_damaged_check_file_is_refused_by_name(tmp_path, change, message):
    with pytest.raises(HarnessError, match=message):
        build(edit(tmp_path, change), tmp_path / "index.html")


def test_an_artefact_without_runs_and_files_is_shown_as_such(tmp_path):
    def strip(record):
        record["artefacts"][1] |= {"files": {"svg": None}, "cells": [], "claims": []}

    out = tmp_path / "index.html"
    build(edit(tmp_path, strip), out)
    assert "no run at this scale has fed this artefact" in out.read_text()


def test_no_check_file_says_what_to_run(tmp_path):
    with pytest.raises(HarnessError, match="run `snakemake check` first"):
        build(tmp_path, tmp_path / "index.html")


def test_signs_tell_verdicts_apart_without_colour():
    assert len({verdict.sign for verdict in VERDICTS}) == len(VERDICTS)
    assert gravest(["match", "not run", "differs", ""]).word == "differs"
    assert gravest([]) is None


def test_a_table_as_the_pipeline_writes_it_is_markup_and_no_text():
    html = ROOT / "tests" / "golden" / "expected" / "tables" / "gold" / "table_1.html"
    assert "<abbr" in html.read_text(encoding="utf-8")
    assert "&lt;abbr" not in table_fragment(html)
