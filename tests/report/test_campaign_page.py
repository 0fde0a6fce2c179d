"""The page of a campaign that is not whole: what failed, what is missing, what was once accepted instead."""

import re
import shutil

import gold
import pytest
import tiny
from report.made import Tree, built, embedded
from report.sample import write_results

from harness import report
from harness.base.layout import artefact_file
from harness.campaign import campaign


def test_a_failed_run_is_shown_with_the_end_of_its_log(tmp_path):
    """Once a red campaign left no page, or yesterday's."""
    layout = write_results(tmp_path)
    name = "sotl/params_correlation/params/nb101-1/s1"
    shutil.rmtree(layout.run_folder(name))
    log = layout.results / "log" / "runs" / f"{name}.log"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"line {k}\n" for k in range(50)) + "harness: <b>no room</b> on the disk\n")
    _, tree, problems = built(layout)
    assert "1 of its runs is not there, 1 job began and did not end" in tree.text
    assert "line 49\nharness: <b>no room</b> on the disk" in tree.text and "line 44" not in tree.text
    (opened,) = tree.having("details", "lacking")
    assert "open" in opened and len(problems) == 1


def test_runs_that_were_never_begun_are_counted(tmp_path):
    layout = write_results(tmp_path)
    shutil.rmtree(layout.results / "runs/sotl/finetune")
    _, tree, _ = built(layout)
    assert "3 of its runs are not there" in tree.text and "began" not in tree.text.partition("<script")[0][:0]
    (folded,) = tree.having("details", "lacking")
    assert "open" not in folded


def test_what_was_not_made_here_is_shown_as_it_was_accepted(tmp_path):
    layout = gold.accepted(tmp_path)
    shutil.rmtree(layout.results)
    _, tree, problems = built(layout)
    assert "Not made here; shown as it was accepted. To make it: snakemake gold_table_1" in tree.text
    assert problems == [] and tree.having("tr", "number")
    log = layout.results / "log" / "gold" / "table_1.log"
    log.parent.mkdir(parents=True)
    log.write_text("harness: it cannot be made\n")
    _, tree, (problem,) = built(layout)
    assert problem.endswith("--config scale=smoke`; what follows was accepted earlier")
    assert "harness: it cannot be made" in tree.text and "Not shown whole: gold/table_1" in tree.text


def test_a_claim_leads_to_the_runs_of_what_it_compares(tmp_path):
    layout = gold.accepted(tmp_path)
    page, tree, _ = built(layout)
    data = embedded(page)
    fewer = 0
    for section in report.read_papers(layout, layout.root)[0].sections:
        for claim in section.claims:
            assert [data["runs"][k]["id"] for k in data["numbers"][claim["place"]]] == list(claim["runs"])
            assert set(claim["runs"]) <= set(section.behind[-1])
            fewer += 0 < len(claim["runs"]) < len(section.behind[-1])
    assert fewer > 1 and len(tree.having("p", "item-runs")) > 1


def test_a_page_of_one_paper(tmp_path):
    layout = write_results(tmp_path)
    report.build(layout, tmp_path, paper="icw")
    tree = Tree((layout.report.parent / "icw.html").read_text())
    assert [a["id"] for a in tree.having("section", "artefact")] == ["icw/table_3"]
    assert not layout.report.exists()


def test_after_a_failure_no_older_page_stays(tmp_path, monkeypatch):
    layout = write_results(tmp_path)
    report.build(layout, tmp_path)
    before = layout.report.read_text()
    other = layout.report.with_name("sotl.html").relative_to(tmp_path).as_posix()
    report.after_failure(layout, ["failed: no <b>room</b>\n        again: harness run x"], [other], tmp_path)
    for page in (layout.report, tmp_path / other):
        text = Tree(page.read_text()).text
        assert "The campaign that wrote this page failed." in text and "failed: no <b>room</b>" in text
    assert "The campaign" not in before
    monkeypatch.setattr(report, "build", lambda *_: 1 / 0)
    report.after_failure(layout, ["failed: <i>"], [], tmp_path)
    text = layout.report.read_text()
    assert "failed: &lt;i&gt;" in text and "could not be written: ZeroDivisionError" in text


def test_a_campaign_takes_away_the_page_that_it_is_to_write(tmp_path):
    """A kill -9 leaves nobody who could write what failed."""
    layout = write_results(tmp_path)
    report.build(layout, tmp_path)
    campaign.forget(layout, [])
    assert layout.report.exists()
    campaign.forget(layout, [layout.report.relative_to(tmp_path).as_posix()])
    assert not layout.report.exists()


def test_claims_of_ours_are_never_red_and_count_for_no_artefact(tmp_path):
    layout = write_results(tmp_path)
    path = artefact_file(layout.results, "sotl/figure_4_9", ".claims.csv")
    path.write_text(path.read_text().replace("SoG ranks better", "(ours) SoG ranks better"))
    page, tree, _ = built(layout)
    assert len(tree.having("span", "ours")) == 1 and "claims of ours 1 is contradicted" in tree.text
    listed = re.search(r'<li data-artefact="sotl/figure_4_9">.*?</li>', page, re.S)[0]
    assert "contradicts" not in listed


@pytest.fixture(autouse=True)
def forgotten():
    yield
    tiny.forget()
