"""What was accepted, made again in a checkout that has no runs and no data."""

import pytest
import tiny
from faulty.falsify import ARCHIVE, in_archive
from faulty.spoilt import gone
from gold import accepted

from harness.accepted.remade import FROM_RECORDS, SHOWN, place_of, remake
from harness.base.errors import HarnessError
from harness.make.fresh import outputs
from harness.report import build
from harness.spec import artefacts


def test_all_is_made_again_from_kept_records_and_nothing_else_is_touched(tmp_path):
    layout = accepted(tmp_path)
    before = {path: path.read_bytes() for path in layout.published.rglob("*") if path.is_file()}
    made = list(remake("smoke", layout.root, jobs=1))
    every = artefacts.artefacts(layout.root)
    assert [one.artefact for one in made] == [artefact.name for artefact in every]
    assert not any(one.wrong for one in made) and {one.how for one in made} == {FROM_RECORDS}
    place = place_of("smoke", layout.root)
    assert all(path.is_file() for artefact in every for path in outputs(artefact, place.results))
    assert before == {path: path.read_bytes() for path in layout.published.rglob("*") if path.is_file()}


def test_an_accepted_cell_that_records_do_not_give_is_told(tmp_path):
    layout = accepted(tmp_path)
    path = layout.published / "tables/gold/table_1.cells.csv"
    path.write_text(path.read_text().replace("plain,a,70.875", "plain,a,71"))
    wrong = {one.artefact: one.wrong for one in remake("smoke", layout.root, jobs=1) if one.wrong}
    look = "python -m harness check gold/table_1 --published --scale smoke"
    assert wrong == {"gold/table_1": f"its cells.csv is not what was accepted. Look closer: {look}"}


def test_without_its_records_an_artefact_is_shown_from_its_accepted_cells(tmp_path):
    layout = accepted(tmp_path)
    gone(ARCHIVE)(layout)
    made = {one.artefact: one for one in remake("smoke", layout.root, jobs=1)}
    assert made["gold/table_1"].how == SHOWN and not made["gold/table_1"].wrong
    shown = place_of("smoke", layout.root).results / "tables/gold/table_1.md"
    assert shown.read_bytes() == (layout.published / "tables/gold/table_1.md").read_bytes()


def test_a_damaged_kept_record_is_not_passed_over(tmp_path):
    """Its artefact would be shown from accepted cells, and nobody would know that a record was lost."""
    layout = accepted(tmp_path)
    in_archive(seal=False, metrics=[])(layout)
    (wrong,) = [one for one in remake("smoke", layout.root, jobs=1) if one.wrong]
    assert wrong.artefact == ARCHIVE and wrong.wrong.endswith("is damaged")


def test_where_nothing_was_accepted_it_says_so(tmp_path):
    root = tiny.project(tmp_path)
    with pytest.raises(HarnessError, match="nothing was ever accepted at scale cpu"):
        list(remake("cpu", root))


def test_the_page_says_which_artefacts_have_no_kept_records(tmp_path):
    layout = accepted(tmp_path)
    gone(ARCHIVE)(layout)
    assert [one.wrong for one in remake("smoke", layout.root, jobs=1)].count("") == len(
        artefacts.artefacts(layout.root)
    )
    place = place_of("smoke", layout.root)
    problems = build(place, layout.root)
    assert "no record is kept of 12 of its runs: it is shown as it was accepted" in problems
    assert not any("run it with" in problem for problem in problems)
