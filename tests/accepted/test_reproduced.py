"""REPRODUCED.md: what stands and what does not, from what was accepted and from nothing else."""

import csv
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import tiny

from harness.accepted import headline, number_lines, outcomes, reproduced, statements
from harness.accepted.accept import accept
from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import Layout, artefact_file
from harness.spec import artefacts

COMMAND = "run `python -m harness reproduced`"


@pytest.fixture(scope="module")
def accepted(tmp_path_factory):
    """The tiny paper, accepted at scale smoke."""
    layout = tiny.made(tmp_path_factory.mktemp("accepted"))
    accept(artefacts.find("mini/table_1", layout.root), layout, "first numbers", layout.root)
    return layout.root


@pytest.fixture
def layout(accepted, tmp_path):
    """The same, to be changed."""
    shutil.copytree(accepted, tmp_path, dirs_exist_ok=True)
    tiny.forget()
    yield Layout("smoke", tmp_path)
    tiny.forget()


def change(layout: Layout, suffix: str, place: str, **values: str) -> None:
    """Another outcome of one line: a cell by `row / column`, a claim by its id."""
    path = artefact_file(layout.published, "mini/table_1", suffix)
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    name = (lambda r: f"{r['row']} / {r['column']}") if "row" in lines[0] else lambda r: r["id"]
    (line,) = [line for line in lines if name(line) == place]
    line.update(values)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)


def section(root: Path, heading: str) -> str:
    """What stands below a heading of the page."""
    found = re.search(
        rf"^### {heading}.*?\n\n(.*?)\n(?:\n|\Z)", reproduced.page(reproduced.read(root)), re.S | re.M
    )
    return found[1] if found else ""


def test_the_page_is_today_s():
    assert (ROOT / "REPRODUCED.md").read_text(encoding="utf-8") == reproduced.page(reproduced.read()), COMMAND


def test_the_readme_s_table_is_today_s():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text == reproduced.with_table(text, reproduced.read()), COMMAND


@pytest.mark.parametrize("name", ["REPRODUCED.md", "README.md"])
def test_every_link_leads_somewhere(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert len(links) > 20
    named = dict(re.findall(r"^\[([\w-]+)\]: (\S+)$", text, re.M))
    assert set(re.findall(r"\]\[([\w-]+)\]", text)) <= named.keys()
    links += named.values()
    assert [link for link in links if not link.startswith("https:") and not (ROOT / link).exists()] == []


def test_accept_writes_the_page(layout):
    text = (layout.root / "REPRODUCED.md").read_text()
    assert text == reproduced.page(reproduced.read(layout.root))
    assert "\n| | [A tiny paper](#mini) |\n" in text and "Accepted: 1 table or figure at scale smoke." in text
    told = "- The mean is higher where it was set higher. (section 1, [Table 1][mini-table_1]) *+5 ± 0.49.*"
    assert section(layout.root, "What holds").splitlines()[-1] == told
    assert text.endswith("\n[mini-table_1]: published/smoke/tables/mini/table_1.md\n")
    assert reproduced.write(layout.root) == []  # nothing new


def test_a_part_of_a_figure_is_part_of_its_link(layout):
    """Once it stood behind the mark of the link: `[Figure 4.4]†a`."""
    change(layout, ".claims.csv", "high-above-low", where="Table 1a, section 1")
    assert "(Table 1a" not in (told := section(layout.root, "What holds"))
    assert "([Table 1a][mini-table_1], section 1)" in told


def test_a_contradiction_is_told_with_what_was_measured(layout):
    change(layout, ".claims.csv", "high-above-low", verdict="contradicts", reason="by -0.4 ± 0.1")
    assert section(layout.root, "What holds").count("\n") == 0  # the numbers
    told = section(layout.root, "What is contradicted")
    assert told.startswith("- The mean is higher") and "Why" not in told
    tiny.edit(
        layout.root,
        "tables/mini/table_1.yaml",
        "id: high-above-low",
        "why: drawn so (D1)\n    id: high-above-low",
    )
    told = section(layout.root, "What is contradicted")
    assert told.endswith(" Why: drawn so ([D1](reproduce/mini/NOTES.md)).")


def test_a_difference_shows_both_numbers(layout):
    change(layout, ".cells.csv", "high / weak", verdict="differs", reason="+1 from the printed number", n="3")
    told = section(layout.root, "What differs")
    assert re.match(r"- high, weak: \d\.\d\d \(\d\.\d\d\), printed 5\.0 \(0\.2\)\. \*\+1 from", told)
    assert told.endswith("from the printed number.* ([Table 1][mini-table_1])")
    tiny.edit(layout.root, "tables/mini/table_1.yaml", "setting: high}", "setting: high, why: drawn so (D1)}")
    why = " Why: drawn so ([D1](reproduce/mini/NOTES.md)). ([Table 1][mini-table_1])"
    assert section(layout.root, "What differs").endswith(why)


def test_what_the_paper_gets_wrong_points_at_its_deviation(layout):
    issue = 'method: weak, paper_issue: "D1: they are drawn", gives: "1"'
    tiny.edit(layout.root, "tables/mini/table_1.yaml", "method: weak", issue)
    for row in ("low", "high"):
        change(layout, ".cells.csv", f"{row} / weak", verdict="paper issue", reason="as D1 says")
    told = section(layout.root, "Where the paper is at odds")
    assert told == (
        "- 2 numbers of [Table 1][mini-table_1]†: they are drawn ([D1](reproduce/mini/NOTES.md))."
    )


def test_what_does_not_fit_in_the_paper_is_told_and_counted(layout):
    lines = (
        "low | weak = high | weak  # section 1: they are said to be equal\n  low | weak = 0  # section 1\n"
    )
    tiny.edit(layout.root, "tables/mini/table_1.yaml", "claims:", f"consistency: |\n  {lines}claims:")
    told = section(layout.root, "Where the paper is at odds")
    assert told.endswith(": they are said to be equal (section 1): low | weak = high | weak: 0 against 5.")
    page = reproduced.page(reproduced.read(layout.root))
    assert "| printed numbers against each other | 1 fit, 1 does not |" in page


def test_the_largest_scale_counts(layout):
    change(
        layout,
        ".claims.csv",
        "high-above-low",
        verdict="not comparable",
        reason="judged from scale cpu on",
        parts="",
    )
    assert "at scale smoke, where what is trained or queried is not judged: [Table 1]" in section(
        layout.root, "What is not judged"
    )
    layout.published.rename(layout.root / "published" / "cpu")
    layout = Layout("cpu", layout.root)
    assert section(layout.root, "What is not judged") == (
        "- 1 claim of [Table 1][mini-table_1]†: judged from scale cpu on.\n"
        "  - The mean is higher where it was set higher. (section 1, [Table 1][mini-table_1]†)"
    )
    change(
        layout,
        ".claims.csv",
        "high-above-low",
        verdict="not run",
        parts="1",
        part="low / weak",
    )
    change(layout, ".cells.csv", "low / weak", verdict="not run", reason="nobody would wait", runs="", n="0")
    assert section(layout.root, "What is not judged").startswith("- 1 number and 1 claim of [Table 1]")
    assert "table_1]†: nobody would wait.\n  - The mean" in section(layout.root, "What is not judged")


def test_many_numbers_are_no_flood(layout, monkeypatch):
    for row in ("low", "high"):
        for column in ("strong", "weak"):
            change(layout, ".cells.csv", f"{row} / {column}", verdict="differs", reason="off")
    monkeypatch.setattr(number_lines, "SHOWN", 1)
    assert section(layout.root, "What differs").splitlines()[1:] == [
        "- 3 more of the 4 printed numbers of [Table 1][mini-table_1]."
    ]


def test_one_claim_in_several_settings_is_one_line(layout):
    claim = tiny.TABLE[tiny.TABLE.index("  - id: high-above-low") :]
    several = "".join(
        claim.replace("high-above-low", name)
        .replace("The mean is", f'"{setting}: the mean is')
        .replace("set higher.\n", 'set higher."\n')
        for name, setting in (("one", "X, a"), ("two", "X, b"), ("three", "Y, a"))
    )
    tiny.write(layout.root, "tables/mini/table_1.yaml", tiny.TABLE.replace(claim, several))
    tiny.make_all(layout.root)
    accept(artefacts.find("mini/table_1", layout.root), layout, "three claims", layout.root)
    change(
        layout,
        ".claims.csv",
        "three",
        verdict="unclear",
        reason="+0.1 ± 0.3",
        needed_runs="7",
        would_be="agrees",
    )
    assert section(layout.root, "What was judged setting by setting") == (
        "- The mean is higher where it was set higher. (section 1, [Table 1][mini-table_1])"
        " 2 hold (X (a, b)); 1 undecided."
    )
    (fared,) = reproduced.read(layout.root)
    told = headline.of_classes(fared.found)
    assert told["claims measured smaller"] == "1 by an earlier rule, setting by setting"


def test_two_claims_of_the_same_words_stay_two(layout):
    """Once they were told as one that is made in two settings: "2 of 2: , "."""
    claim = tiny.TABLE[tiny.TABLE.index("  - id: high-above-low") :]
    second = claim.replace("high-above-low", "again").replace("section 1", "section 2")
    tiny.write(layout.root, "tables/mini/table_1.yaml", tiny.TABLE + second)
    tiny.make_all(layout.root)
    accept(artefacts.find("mini/table_1", layout.root), layout, "two claims", layout.root)
    held = section(layout.root, "What holds").splitlines()[-2:]
    text = "- The mean is higher where it was set higher. (section"
    assert [line.partition(",")[0] for line in held] == [f"{text} 1", f"{text} 2"]
    change(layout, ".claims.csv", "again", verdict="unclear")
    assert section(layout.root, "What was judged setting by setting") == ""


def test_a_claim_accepted_without_columns_for_its_parts_is_told_in_its_sentence(layout):
    path = artefact_file(layout.published, "mini/table_1", ".claims.csv")
    first = "id,text,where,verdict,reason"
    path.write_text(f"{first}\nhigh-above-low,It is so.,section 1,unclear,+0.1 ± 0.3: who knows\n")
    assert section(layout.root, "What is undecided").endswith(" *+0.1 ± 0.3: who knows.*")


def test_verdicts_of_an_earlier_rule_are_marked_where_they_are_counted(layout):
    """Once they were counted as today's, and a line at the end of the page said otherwise."""
    path = artefact_file(layout.published, "mini/table_1", ".provenance.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"rule": 1}))
    papers = reproduced.read(layout.root)
    link = "[Table 1][mini-table_1]†"
    counted = "4 numbers and 1 claim"
    assert f"† Judged by an earlier rule of verdicts and to be made again: {counted} of {link}." in (
        statements.page(papers)
    )
    assert "table_1.md)°†" in reproduced.table(papers)
    assert "from other runs, code or rules than today's, to be made again" in reproduced.table(papers)
    assert "†" not in statements.page([replace(papers[0], found=[replace(papers[0].found[0], old="")])])


def test_where_text_code_and_data_differ_is_said_first(layout):
    tiny.edit(
        layout.root,
        "reproduce/mini/experiments.yaml",
        "year: 2021",
        "year: 2021\nknow: [drawn otherwise (D1)]",
    )
    told = section(layout.root, "What to know of text, code and data")
    assert told == "- Drawn otherwise ([D1](reproduce/mini/NOTES.md))."


def test_what_it_would_take_has_its_hours(layout):
    change(layout, ".claims.csv", "high-above-low", verdict="unclear", needed_runs="7", would_be="agrees")
    path = artefact_file(layout.published, "mini/table_1", ".provenance.json")
    noted = json.loads(path.read_text())
    path.write_text(json.dumps(noted | {"runs": [run | {"seconds": 600.0} for run in noted["runs"]]}))
    told = section(layout.root, "What is undecided")
    assert "**About 7 runs instead of 3 (10 min each): agrees.**" in told


def test_claims_of_ours_are_counted_apart(layout):
    change(layout, ".claims.csv", "high-above-low", text="(ours) It is so.")
    (fared,) = reproduced.read(layout.root)
    counts = headline.counts(fared.found)
    assert counts[headline.OURS] == {"agrees": 1} and not any(counts[n] for n in headline.SENTENCES)
    assert section(layout.root, "Claims of ours").startswith("- *holds:* It is so. (section 1, [Table 1]")
    assert "It is so" not in section(layout.root, "What holds")


def test_what_was_measured_at_scale_smoke_is_not_at_the_published_set_up(layout):
    """Once the page counted eighty numbers of the smallest runs as measured at the published set-up."""
    (fared,) = reproduced.read(layout.root)
    counts = headline.counts(fared.found)
    assert not counts[headline.PUBLISHED] and counts[headline.SMALLER].total() == 4


def test_counts_in_words():
    counts = outcomes.Counter({"match": 1, "agrees": 2, "differs": 1, "contradicts": 2, "not run": 3})
    assert outcomes.in_words(counts) == "3 hold, 1 differs, 2 contradict, 3 not judged"
    assert outcomes.in_words(outcomes.Counter({"agrees": 1})) == "1 holds"


def test_a_provenance_that_was_cut_short_is_one_sentence(layout):
    path = artefact_file(layout.published, "mini/table_1", ".provenance.json")
    path.write_text(path.read_text()[:-20])
    with pytest.raises(HarnessError, match="table_1.provenance.json is cut short or no provenance"):
        reproduced.read(layout.root)
