"""The report: whole, escaped, the same bytes twice, and plain words where a file is missing."""

import re

import pytest
from report.made import edit, embedded, made
from report.sample import HOSTILE, PARAMS, write_results

from harness.base.errors import HarnessError
from harness.report import build
from harness.report.numbers import interval
from harness.report.read import Cell
from harness.report.verdicts import VERDICTS, gravest

LIMIT = 5_000_000


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
    assert "12 of 15 judged numbers and claims hold, 2 do not, 1 is an issue of the paper; " in tree.text
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
    pressed = [int(a["data-number"]) for _, a in tree.tags if "data-number" in a]
    assert pressed == [k for k, runs in enumerate(data["numbers"]) if runs]
    assert len(tree.having("button", "runs")) == len(pressed) - 6  # the grid's become buttons when it opens
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


@pytest.mark.parametrize(
    ("text", "lo", "hi", "shown"),
    [
        ("1.3e-07 (2e-08)", 8e-8, 1.8e-7, "[8e−08, 1.8e−07]"),
        ("-3.7e+23 (1e+23)", -1.28e30, 5e23, "[−1.3e+30, 5e+23]"),
        ("0.76 (0.01)", 0.7213, 0.7987, "[0.72, 0.80]"),
        ("12,345 (3)", 12340.2, 12350.1, "[12,340, 12,350]"),
    ],
)
def test_an_interval_is_printed_as_its_number(text, lo, hi, shown):
    """That of a vanishing number was [0.0, 0.0], of an exploding one thirty digits."""
    cell = Cell("r", "c", text, lo, "", 3, None, None, lo, hi, None, "", "", ())
    assert interval(cell) == shown
