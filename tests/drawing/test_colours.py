"""Colours belong to a paper: what one adds changes no other's figures."""

import pytest

from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.code.code_id import drawing_id
from harness.drawing import style

EVERY = sorted((ROOT / "figures").glob("*/colours.yaml"))


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.parent.name)
def test_each_paper_s_colours_can_be_used(path):
    style.use_colours(path)
    assert style.COLOURS and style.COLOURS.keys() == style.LABELS.keys()
    assert {*style.COLOURS.values()} <= {*style.PALETTE.values()}


def test_another_paper_s_colours_are_forgotten(tmp_path):
    style.use_colours(EVERY[0])
    style.use_colours(tmp_path / "colours.yaml")
    assert style.COLOURS == style.LABELS == {}


@pytest.mark.parametrize(
    "look", ["teal", "{colour: teal}", "{label: x}", "{colour: blue, width: 2}", "[blue]"]
)
def test_a_colour_that_is_none_of_the_palette_is_one_sentence(tmp_path, look):
    path = tmp_path / "colours.yaml"
    path.write_text(f"SoTL: {look}\n")
    with pytest.raises(HarnessError, match="'SoTL' has no colour of the palette: write one of blue, orange"):
        style.use_colours(path)


def test_a_figure_is_drawn_again_for_its_own_paper_s_colours_only(tmp_path):
    mine, other = tmp_path / "mine" / "figure_1.py", tmp_path / "other" / "figure_1.py"
    for path in (mine, other):
        path.parent.mkdir()
        path.write_text("def draw(cells, figure): ...\n")
    before = [drawing_id(path) for path in (mine, other)]
    (tmp_path / "other" / "colours.yaml").write_text("SoTL: blue\n")
    after = [drawing_id(path) for path in (mine, other)]
    assert before[0] == after[0] and before[1] != after[1]
