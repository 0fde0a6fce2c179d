"""The report: whole, escaped, the same bytes twice, and plain words where a file is missing."""

import json
import re
import shutil
from pathlib import Path

import gold
import pytest
from report.made import Tree, built, embedded, made
from report.sample import HOSTILE, PARAMS, write_results
from sealed import edit_record

from harness.accepted import outcomes
from harness.report import read
from harness.report.numbers import interval
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
        "nb201 cifar10 x-test at 200 epochs (nb201-table): mean of trials; nb201.bin, sha256 5d1f0a775d1f",
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
    assert "0.72 to 0.79" in tree.text  # two decimals, as the number itself
    assert "n 200 · bootstrap 0.0187" in tree.text
    assert page.count('class="chip differs"') >= 3  # filter, tally, row


def test_the_head_counts_and_dates_come_from_the_records(tmp_path):
    _, tree = made(tmp_path)
    assert "Of the papers’ claims 1 holds, 1 is contradicted, 1 not judged" in tree.text
    assert "2026-03-01 to 2026-03-03" in tree.text and "0a1b2c3d4e" in tree.text
    counts = {
        (a["data-paper"], a["data-rows"], a.get("data-verdict")) for a in tree.having("button", "count")
    }
    assert ("sotl", "claims measured smaller", "contradicts") in counts
    assert ("icw", "claims measured smaller", None) not in counts  # it has none, so there is nothing to press


def test_each_number_knows_its_runs(tmp_path):
    page, tree = made(tmp_path)
    data = embedded(page)
    names = [data["runs"][k]["id"] for k in data["numbers"][9]]  # after icw's eight cells and all of its runs
    assert names == [f"sotl/params_correlation/params/nb201-cifar10/s{s}" for s in range(3)]
    assert json.loads(data["configs"][data["runs"][0]["config"]])["architectures"] == 200
    assert data["shared"][data["runs"][0]["shared"]]["host"] == "bench-1, 4 cores"
    pressed = [int(a["data-number"]) for _, a in tree.tags if "data-number" in a]
    tables = [8, 18]  # whose numbers have their runs
    assert sorted(pressed) == [k for k, runs in enumerate(data["numbers"]) if runs and k not in tables]
    assert len(tree.having("button", "runs")) == len(pressed) - 6  # the grid's become buttons when it opens
    assert len(data["configs"]) == 7 and len(data["shared"]) == 1  # equal ones are kept once


def test_headings_descend_and_tables_name_their_heads(tmp_path):
    _, tree = made(tmp_path)
    levels = [int(t[1]) for t, _ in tree.tags if re.fullmatch("h[1-6]", t)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(levels, levels[1:], strict=False))
    assert all("scope" in a for t, a in tree.tags if t == "th")
    assert all(a.get("type") == "button" for t, a in tree.tags if t == "button")
    assert all(a.get("alt") for t, a in tree.tags if t == "img")
    assert len(tree.ids()) == len(set(tree.ids()))


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
    assert json.loads(embedded(page)["configs"][0])["space"] == HOSTILE


def test_the_same_records_give_the_same_bytes(tmp_path):
    first, _ = made(tmp_path / "a")
    second, _ = made(tmp_path / "b")
    assert first == second


def damaged(folder: Path, file: str, old: str = "", new: str = "") -> tuple[str, Tree, list[str]]:
    """The report where one file reads otherwise, or is not there."""
    layout = write_results(folder)
    path = layout.results / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8") if old else path.unlink()
    return built(layout)


CELLS, CLAIMS = "tables/sotl/table_4_5.cells.csv", "tables/sotl/table_4_5.claims.csv"
RUN = "runs/sotl/params_correlation/params/nb101-1/s1/run.json"


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (CELLS, "agrees,", "fine,", r"table_4_5\.cells\.csv has the unknown verdict 'fine': make it again"),
        (CELLS, "0.7613", "much", r"cells\.csv is not as it was written \(could not convert"),
        (
            CELLS,
            ",reason,",
            ",reasons,",
            r"cells\.csv is not as it was written \(there is no column 'reason'",
        ),
        (
            CELLS,
            "",
            "",
            "table_4_5 is not made yet: make it with `snakemake sotl_table_4_5 --config scale=smoke`",
        ),
        (CLAIMS, "agrees", "fine", r"claims\.csv has the unknown verdict 'fine'"),
        (
            CLAIMS,
            "params-darts",
            "params-strong",
            "claims.csv is not as it was .*params-strong stands 2 times",
        ),
        (CLAIMS, "", "", "table_4_5 is not made yet"),
        (RUN, "bench-1", "bench-2", r"run\.json was changed after its run ended: `snakemake` runs it again"),
        (RUN, "", "", r"nb101-1/s1/run\.json is not there: run it with"),
        ("figures/sotl/figure_4_9.svg", "<svg", "<gvs", r"figure_4_9\.svg is not a picture of its kind"),
        ("figures/sotl/figure_4_9.svg", "", "", r"figure_4_9\.svg does not exist: make its figure again"),
    ],
)
def test_a_damaged_part_is_one_sentence_and_takes_nothing_else_away(tmp_path, file, old, new, message):
    """Once a single damaged file left no page at all."""
    _, tree, (problem,) = damaged(tmp_path, file, old, new)
    name = "sotl/figure_4_9" if "figure" in file else "sotl/table_4_5"
    assert re.search(message, problem) and "\n" not in problem and tree.text.count(problem) == 1
    assert f"Not shown whole: {name}.\n" in tree.text
    assert "SoGN leads for the first four epochs" in tree.text and "16,896" in tree.text
    if file not in (CELLS, CLAIMS):
        assert "six of seven spaces lie between" in tree.text and "0.76 (0.02)" in tree.text
    assert {"icw/table_3", "sotl/table_4_5", "sotl/figure_4_9"} <= set(tree.ids())


def test_many_missing_records_are_one_sentence(tmp_path):
    layout = write_results(tmp_path)
    shutil.rmtree(layout.results / "runs/sotl/params_correlation")
    page, tree, (problem,) = built(layout)
    assert problem.endswith("; and so for 17 more of its runs")
    assert len(tree.having("tr", "number")) == 27 and len(embedded(page)["runs"]) == 3
    assert "It was accepted" not in tree.text


def test_nothing_made_is_told_for_each_artefact(tmp_path):
    layout = write_results(tmp_path)
    shutil.rmtree(layout.results)
    _, tree, problems = built(layout)
    assert len(problems) == 3 and "No claim is tested at this scale yet" in tree.text


def test_a_reader_sees_on_which_machine_and_versions_records_were_made(tmp_path, monkeypatch):
    layout = write_results(tmp_path)
    there = {"processor": "bench-1", "cores": 4, "torch": "2.13.0", "blas": "openblas 0.3"}
    monkeypatch.setattr(read, "machine", lambda: there)
    assert "elsewhere" not in built(layout)[1].text  # records that name no versions tell nothing of them
    run = layout.run_folder("sotl/finetune/sog/nb201-cifar10/s2")
    edit_record(run, reseal=True, machine=there | {"cores": 8, "torch": "2.12.1"})
    _, tree, _ = built(layout)
    (told,) = re.findall("Its runs were made elsewhere.*", tree.text)
    assert told == "Its runs were made elsewhere, where digits may differ: torch 2.12.1 (here 2.13.0)."
    assert tree.text.index("sotl_figure_4_9 --config") > tree.text.index(told) > tree.text.index("NB101-3")


def test_a_reader_sees_that_what_was_accepted_is_of_older_code(tmp_path):
    layout = gold.accepted(tmp_path)
    page, tree, problems = built(layout)
    assert outcomes.OLD not in tree.text and problems == []
    provenance = layout.published / "tables/gold/table_1.provenance.json"
    noted = json.loads(provenance.read_text())
    noted["rule"] -= 1
    for run in noted["runs"]:
        run["machine"]["processor"] = "another"
    provenance.write_text(json.dumps(noted))
    _, tree, _ = built(layout)
    assert tree.text.count(outcomes.OLD) == 1
    old = "Its outcome of scale smoke in published/ was judged by an earlier rule of verdicts, and is to be"
    assert f"{outcomes.OLD} {old} made again." in tree.text
    assert tree.text.count("Its accepted outcome of scale smoke was made elsewhere: processor another") == 1
    provenance.write_text("{")
    _, tree, (problem,) = built(layout)
    assert "table_1.provenance.json is cut short" in problem and "782,938" in tree.text


def test_signs_tell_verdicts_apart_without_colour():
    assert len({verdict.sign for verdict in VERDICTS}) == len(VERDICTS)
    assert gravest(["match", "not run", "differs", ""]).word == "differs"
    assert gravest([]) is None


@pytest.mark.parametrize(
    ("text", "lo", "hi", "shown"),
    [
        ("1.3e-07 (2e-08)", 8e-8, 1.8e-7, "8e−08 to 1.8e−07"),
        ("-3.7e+23 (1e+23)", -1.28e30, 5e23, "−1.3e+30 to 5e+23"),
        ("0.76 (0.01)", 0.7213, 0.7987, "0.72 to 0.80"),
        ("12,345 (3)", 12340.2, 12350.1, "12,340 to 12,350"),
    ],
)
def test_an_interval_is_printed_as_its_number(text, lo, hi, shown):
    """That of a vanishing number was [0.0, 0.0], of an exploding one thirty digits."""
    assert interval(text, lo, hi) == shown
