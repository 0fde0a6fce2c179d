"""Other words for accepted outcomes: captions and claims are written anew, numbers and verdicts stay."""

import json
import shutil
from dataclasses import replace

import pytest
import tiny

from harness.accepted import rejudge, reproduced
from harness.accepted.accept import accept
from harness.accepted.check import compare
from harness.accepted.reword import reword_all
from harness.base.errors import HarnessError
from harness.base.layout import Layout, artefact_file
from harness.cli.commands import main
from harness.numbers import cellfile
from harness.spec import artefacts, fingerprint

YAML = "tables/mini/table_1.yaml"


@pytest.fixture
def layout(tmp_path):
    """An accepted table whose runs and results are gone."""
    layout = tiny.made(tmp_path)
    accept(table(layout), layout, "first numbers", layout.root)
    shutil.rmtree(layout.results)
    yield layout
    tiny.forget()


def table(layout: Layout) -> artefacts.Artefact:
    return artefacts.find("mini/table_1", layout.root)


def reword(layout: Layout) -> dict:
    (written,) = reword_all([table(layout)], layout, "clearer words", layout.root)
    return json.loads(written.read_text())


def published(layout: Layout, suffix: str) -> str:
    return artefact_file(layout.published, "mini/table_1", suffix).read_text()


def test_a_title_changes_in_every_file_and_no_number_does(layout):
    cells, claims = published(layout, ".cells.csv"), published(layout, ".claims.csv")
    tiny.edit(layout.root, YAML, "title: Means and correlations", "title: Means beside correlations")
    provenance = reword(layout)
    assert published(layout, ".cells.csv") == cells and published(layout, ".claims.csv") == claims
    for suffix in (".md", ".tex"):
        assert "Means beside correlations" in published(layout, suffix)
    assert not artefact_file(layout.published, "mini/table_1", ".html").exists()
    assert provenance["reason"] == "first numbers"
    assert [each["reason"] for each in provenance["reworded"]] == ["clearer words"]
    assert "The mean is higher" in (layout.root / "REPRODUCED.md").read_text()


def test_made_again_the_reworded_table_is_what_check_expects(layout):
    tiny.edit(layout.root, YAML, "The mean is higher where it was set higher.", "Set higher, it is higher.")
    tiny.edit(layout.root, YAML, "title: Means and correlations", "title: Means beside correlations")
    reword(layout)
    tiny.run_all(layout.root)
    tiny.make_all(layout.root)
    assert compare(layout, layout.root) == []
    assert published(layout, ".md") == artefact_file(layout.results, "mini/table_1", ".md").read_text()


def test_a_claim_keeps_the_verdict_of_its_test_under_another_name(layout):
    before = cellfile.claims(artefact_file(layout.published, "mini/table_1", ".claims.csv"))[0]
    text = (layout.root / YAML).read_text()
    start = text.index("  - id: high-above-low")
    renamed = text[start:].replace("high-above-low", "renamed").replace("where: section 1", "where: ours")
    later = text[start:].replace("    tests:", "    from: paper\n    tests:")
    tiny.write(layout.root, YAML, text[:start] + later + renamed)
    reword(layout)
    waits, same = cellfile.claims(artefact_file(layout.published, "mini/table_1", ".claims.csv"))
    assert (waits["id"], waits["verdict"]) == ("high-above-low", "not comparable")
    assert (same["id"], same["where"]) == ("renamed", "ours")
    assert (same["verdict"], same["reason"]) == (before["verdict"], before["reason"])


@pytest.mark.parametrize(
    "old, new, what",
    [
        (
            '[{left: [high, strong], relation: ">", right: [low, strong]}]',
            '[{left: [high, correlation], relation: ">", right: [low, correlation]}]',
            "other tests of claim high-ab",
        ),
        ("deviations:", "paired_by_seed: true\ndeviations:", "other cells or printed numbers"),
        ('"5.0 (0.2)", weak', '"5.1 (0.2)", weak', "other cells or printed numbers"),
        ("strong, metric: mean}", "weak, metric: mean}", "other cells or printed numbers"),
    ],
)
def test_what_decides_a_verdict_is_no_word(layout, old, new, what):
    files = {path: path.read_bytes() for path in layout.published.rglob("*") if path.is_file()}
    tiny.edit(layout.root, YAML, old, new)
    with pytest.raises(HarnessError, match=f"mini/table_1 has {what}.*make it with `snakemake mini_table_1"):
        reword(layout)
    assert {path: path.read_bytes() for path in files} == files


def test_another_test_is_judged_by_the_cells_as_it_would_be_by_the_runs(layout):
    """The text of many a claim could not be mended while its runs, of hours, were elsewhere."""
    tiny.edit(layout.root, YAML, "right: [low, strong]", "right: [low, weak]")
    assert reword(layout)["reworded"][0]["judged by cells"] == ["high-above-low"]
    tiny.run_all(layout.root)
    tiny.make_all(layout.root)
    assert compare(layout, layout.root) == []
    made = artefact_file(layout.results, "mini/table_1", ".claims.csv")
    assert made.read_text() == published(layout, ".claims.csv")


def test_what_is_compared_run_by_run_is_not_judged_by_cells(layout):
    cells = cellfile.cells(artefact_file(layout.published, "mini/table_1", ".cells.csv"))
    (claim,) = table(layout).data["claims"]
    assert rejudge.by_cells(claim, cells, "smoke", by_seed=False).word == "agrees"
    assert rejudge.by_cells(claim, cells, "smoke", by_seed=True) is None
    for cell in cells:
        cell["runs"] = cells[0]["runs"]
    assert rejudge.by_cells(claim, cells, "smoke", by_seed=False) is None


def test_a_claim_that_was_not_tested_then_is_judged_by_the_cells(tmp_path):
    tiny.project(tmp_path, TABLE=tiny.TABLE.replace("    tests:", "    from: cpu\n    tests:"))
    tiny.run_all(tmp_path)
    layout = tiny.make_all(tmp_path)
    accept(table(layout), layout, "first numbers", layout.root)
    tiny.edit(layout.root, YAML, "    from: cpu\n", "")
    assert reword(layout)["reworded"][0]["judged by cells"] == ["high-above-low"]
    (claim,) = cellfile.claims(artefact_file(layout.published, "mini/table_1", ".claims.csv"))
    assert claim["verdict"] == "agrees"
    tiny.forget()


def test_what_was_never_accepted_has_no_words(tmp_path):
    layout = tiny.made(tmp_path)
    with pytest.raises(HarnessError, match="mini/table_1 was not accepted at scale smoke"):
        reword(layout)
    tiny.forget()


def test_no_reason_no_other_words(layout):
    with pytest.raises(HarnessError, match="reword needs --reason with at least a few words"):
        list(reword_all([table(layout)], layout, "ok", layout.root))


def test_an_unknown_artefact_is_told_on_the_command_line():
    with pytest.raises(SystemExit, match="artefact 'mini/table_9' does not exist"):
        main(["reword", "mini/table_9", "--reason", "two words"])


@pytest.mark.parametrize(
    "old, new, place, what",
    [
        ("right: [low, strong]", "right: [low, weak]", "claim high-above-low", "is tested otherwise than"),
        (
            "deviations:",
            "paired_by_seed: true\ndeviations:",
            "claim high-above-low",
            "is tested otherwise than",
        ),
        ("  runs: 3\n", "  runs: 3\n  architectures: 9\n", "", "was accepted with other cells or printed"),
    ],
)
def test_check_tells_of_equal_verdicts_that_came_about_otherwise(tmp_path, old, new, place, what):
    """Once claims were tested otherwise than when their verdicts were accepted, and nothing told."""
    layout = tiny.made(tmp_path)
    accept(table(layout), layout, "first numbers", layout.root)
    tiny.edit(layout.root, YAML, old, new)
    tiny.make_all(layout.root)
    found = [c for c in compare(layout, layout.root) if "since it was accepted" not in c.what]
    assert {c.place for c in found} == {place} and any(c.what.startswith(what) for c in found)
    tiny.forget()


def test_words_of_several_are_written_once_and_not_where_the_first_is_refused(layout, monkeypatch):
    written = []
    monkeypatch.setattr(reproduced, "write", written.append)
    tiny.edit(layout.root, YAML, "title: Means and correlations", "title: Means beside correlations")
    assert len(list(reword_all([table(layout)] * 2, layout, "clearer words", layout.root))) == 1
    assert written == [layout.root]
    tiny.edit(layout.root, YAML, "metric: mean}", "metric: median}")
    with pytest.raises(HarnessError):
        reword(layout)
    assert written == [layout.root]


def test_one_that_was_never_accepted_keeps_no_other_from_its_words(layout):
    """`reword <paper>` once stopped at the first artefact that was not accepted at the scale yet."""
    tiny.edit(layout.root, YAML, "title: Means and correlations", "title: Means beside correlations")
    never = replace(table(layout), name="mini/table_0")
    done = reword_all([never, table(layout)], layout, "clearer words", layout.root)
    assert next(done) == artefact_file(layout.published, "mini/table_1", ".provenance.json")
    with pytest.raises(HarnessError, match="^mini/table_0 was not accepted at scale smoke"):
        next(done)
    assert "Means beside correlations" in published(layout, ".md")


def test_what_reads_as_before_is_left_alone(layout):
    """`reword <paper>` once noted its reason in the provenance of artefacts of which no word had changed."""
    files = {path: path.read_bytes() for path in layout.published.rglob("*") if path.is_file()}
    assert list(reword_all([table(layout)], layout, "clearer words", layout.root)) == []
    assert {path: path.read_bytes() for path in files} == files


def test_cells_that_were_cut_short_are_not_shown(layout):
    """Half of a published table was once written anew from half of its cells."""
    path = artefact_file(layout.published, "mini/table_1", ".cells.csv")
    path.write_text(path.read_text()[:-20])
    tiny.edit(layout.root, YAML, "title: Means and correlations", "title: Means beside correlations")
    shown = published(layout, ".md")
    with pytest.raises(HarnessError, match="table_1.cells.csv is not as it was written"):
        reword(layout)
    assert published(layout, ".md") == shown


def test_a_provenance_that_was_cut_short_is_one_sentence(layout):
    path = artefact_file(layout.published, "mini/table_1", ".provenance.json")
    path.write_text(path.read_text()[:-20])
    with pytest.raises(HarnessError, match="is cut short or no provenance: check it out again"):
        reword(layout)


def test_a_twin_that_waits_hides_no_verdict(layout):
    """One claim of the paper at scale paper, and ours of the same test at this one."""
    text = (layout.root / YAML).read_text()
    start = text.index("  - id: high-above-low")
    twin = text[start:].replace("high-above-low", "twin").replace("    tests:", "    at: paper\n    tests:")
    tiny.write(layout.root, YAML, text + twin)
    reword(layout)
    tiny.edit(layout.root, YAML, "id: high-above-low", "id: renamed")
    reword(layout)
    first, second = cellfile.claims(artefact_file(layout.published, "mini/table_1", ".claims.csv"))
    assert (first["verdict"], second["verdict"]) == ("agrees", "not comparable")


@pytest.mark.parametrize(
    "old, new, same",
    [
        ('relation: ">", right: [low, strong]', 'right: [low, strong], relation: ">"', True),
        ("right: [low, strong]", "right: [low, strong], margin: 0.0", False),
        ("each: {a: [low, high], b: [strong, weak]}", "each: {b: [strong, weak], a: [low, high]}", False),
    ],
)
def test_the_hash_of_a_claim_is_that_of_what_is_judged(tmp_path, old, new, same):
    """Once the order of the words of `each`, which orders a trend, made no difference."""
    trend = '{trend: rising, each: {a: [low, high], b: [strong, weak]}, over: ["{a}", "{b}"]}'
    more = f"  - {{id: line, text: It rises., where: here, tests: [{trend}]}}\n"
    tiny.project(tmp_path, TABLE=tiny.TABLE + more)
    before = fingerprint.of_claims(artefacts.find("mini/table_1", tmp_path), "smoke")
    tiny.edit(tmp_path, YAML, old, new)
    after = fingerprint.of_claims(artefacts.find("mini/table_1", tmp_path), "smoke")
    assert (before == after) == same
    tiny.forget()


def test_a_column_called_as_a_word_is_no_word(tmp_path):
    tiny.project(tmp_path, TABLE=tiny.TABLE.replace("method: strong, metric", "only: {format: pt}, metric"))
    before = fingerprint.of_cells(artefacts.find("mini/table_1", tmp_path))
    tiny.edit(tmp_path, YAML, "format: pt", "format: onnx")
    assert fingerprint.of_cells(artefacts.find("mini/table_1", tmp_path)) != before
    tiny.edit(tmp_path, YAML, 'format: ".2f"', 'format: ".3f"')
    tiny.edit(tmp_path, YAML, "format: onnx", "format: pt")
    assert fingerprint.of_cells(artefacts.find("mini/table_1", tmp_path)) == before
    tiny.forget()


def test_a_number_edited_by_hand_is_not_sealed_with_other_words(layout):
    """Where no records are kept, check was green on it afterwards."""
    cells = artefact_file(layout.published, "mini/table_1", ".cells.csv")
    cells.write_text(cells.read_text().replace("strong,", "strong,1", 1))
    tiny.edit(layout.root, YAML, "title: Means and correlations", "title: Means beside correlations")
    with pytest.raises(
        HarnessError, match=r"table_1\.cells\.csv was edited: bring it back with `git checkout -- pub"
    ):
        reword(layout)
