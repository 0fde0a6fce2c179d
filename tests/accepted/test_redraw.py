"""Accepted pages and pictures drawn again: other words and drawings, the same cells and claims."""

import shutil

import pytest
import tiny
from gold import accepted

from harness.accepted.accept import accept
from harness.accepted.redraw import redraw
from harness.base.errors import HarnessError
from harness.base.layout import Layout, artefact_file
from harness.published import manifest
from harness.spec import artefacts

TABLE = "tables/mini/table_1.yaml"


@pytest.fixture
def layout(tmp_path):
    layout = tiny.made(tmp_path)
    accept(artefacts.find("mini/table_1", tmp_path), layout, "first numbers", tmp_path)
    shutil.rmtree(layout.results)  # nothing is left of its runs
    shutil.rmtree(layout.published / "records", ignore_errors=True)
    yield layout
    tiny.forget()


def again(layout: Layout) -> list[str]:
    tiny.forget()
    return [path.name for path in redraw(artefacts.find("mini/table_1", layout.root), layout)]


def stands(layout: Layout) -> dict[str, bytes]:
    judged = (".cells.csv", ".claims.csv", ".provenance.json")
    return {s: artefact_file(layout.published, "mini/table_1", s).read_bytes() for s in judged}


def test_another_title_is_shown_and_no_cell_changes(layout):
    before = stands(layout)
    assert again(layout) == []
    tiny.edit(layout.root, TABLE, "Means and correlations", "Better words")
    assert again(layout) == ["table_1.md", "table_1.tex"]
    page = artefact_file(layout.published, "mini/table_1", ".md")
    assert "Better words" in page.read_text() and stands(layout) == before
    left = manifest.differences(layout)
    assert not any("table_1" in name for name in left)  # the page and the spec are sealed as they are now


def test_other_cells_are_refused(layout):
    before = artefact_file(layout.published, "mini/table_1", ".md").read_bytes()
    tiny.edit(layout.root, TABLE, "| high | 5.0", "| high | 9.0")
    with pytest.raises(
        HarnessError, match="asks for other cells than those accepted at scale smoke: make it"
    ):
        again(layout)
    assert artefact_file(layout.published, "mini/table_1", ".md").read_bytes() == before


def test_a_spec_that_tests_otherwise_is_not_sealed(layout):
    """Its page has no verdict of a claim; `check` must go on to tell that the tests are others."""
    tiny.edit(layout.root, TABLE, "Means and correlations", "Better words")
    text = (layout.root / TABLE).read_text()
    tiny.write(
        layout.root, TABLE, text.replace("high | strong > low | strong", "high | strong > low | strong by 9")
    )
    assert (layout.root / TABLE).read_text() != text
    assert again(layout) == ["table_1.md", "table_1.tex"]
    assert manifest.differences(layout)[TABLE] == "was edited"


@pytest.mark.parametrize("suffix", [".cells.csv", ".claims.csv", ".provenance.json"])
def test_cells_that_somebody_edited_are_not_drawn(layout, suffix):
    path = artefact_file(layout.published, "mini/table_1", suffix)
    path.write_text(path.read_text().replace("high", "low", 1) + " ")
    with pytest.raises(HarnessError, match=f"table_1{suffix} is not as it was accepted: bring it back with"):
        again(layout)


def test_what_was_never_accepted_has_nothing_to_draw(tmp_path):
    layout = tiny.made(tmp_path)
    with pytest.raises(HarnessError, match="mini/table_1 was never accepted at scale smoke"):
        redraw(artefacts.find("mini/table_1", tmp_path), layout)
    tiny.forget()


def test_a_picture_of_another_drawing_is_sealed_with_what_drew_it(tmp_path):
    layout = accepted(tmp_path)
    (figure,) = [a for a in artefacts.artefacts(layout.root) if a.kind == "figure"]
    assert redraw(figure, layout) == []
    text = figure.drawing.read_text()
    figure.drawing.write_text(
        text + "\n\n_draw = draw\n\n\ndef draw(cells, figure):\n    _draw(cells, figure)\n"
    )
    assert redraw(figure, layout) == []  # other code, the same picture
    figure.drawing.write_text(figure.drawing.read_text() + "    figure.set_size_inches(2, 2)\n")
    assert [path.suffix for path in redraw(figure, layout)] == [".png"]
    assert manifest.differences(layout) == {}
    tiny.forget()
