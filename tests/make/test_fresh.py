"""What was made from something else than what is there now is neither accepted nor checked."""

import pytest
import tiny
from sealed import edit_record

from harness.accepted.accept import accept
from harness.accepted.check import compare
from harness.base.errors import HarnessError
from harness.code.code_id import code_id, drawing_id, step_id
from harness.make import fresh, render
from harness.runs import stale
from harness.spec import artefacts

AGAIN = "make it again with `snakemake mini_table_1 --config scale=smoke`"


@pytest.fixture
def layout(tmp_path):
    yield tiny.made(tmp_path)
    tiny.forget()


def refusal(layout) -> str:
    tiny.forget()
    with pytest.raises(HarnessError) as refused:
        accept(artefacts.find("mini/table_1", layout.root), layout, "it is right", layout.root)
    assert AGAIN in str(refused.value)
    changes = [c for c in compare(layout, layout.root) if c.artefact == "mini/table_1"]
    assert changes
    return str(refused.value)


def accepted(layout):
    for artefact in artefacts.artefacts(layout.root):
        accept(artefact, layout, "the first outcome", layout.root)
    assert not compare(layout, layout.root)


def test_an_edited_yaml(layout):
    accepted(layout)
    tiny.edit(layout.root, "tables/mini/table_1.yaml", "title: ", "title: Other ")
    assert "was made before its YAML changed" in refusal(layout)
    told = "\n".join(map(str, compare(layout, layout.root)))
    assert "was made before its YAML changed" in told and "table_1.yaml was edited since it was" in told


def test_an_artefact_that_was_made_in_part(layout, monkeypatch):
    """Its cells are new and its HTML is old: only what was made whole is noted as made."""

    def broken(*_args):
        raise RuntimeError("broken")

    accepted(layout)
    tiny.edit(layout.root, "tables/mini/table_1.yaml", "title: ", "title: Other ")
    with monkeypatch.context() as patched:
        patched.setattr(render, "html_table", broken)
        with pytest.raises(RuntimeError, match="broken"):
            tiny.make_all(layout.root)
    assert "was made before its YAML changed" in refusal(layout)


def test_an_artefact_that_was_made_in_part_of_the_same_yaml(layout, monkeypatch):
    """New cells beside old claims: the note of the whole one must not speak for them."""
    accepted(layout)
    with monkeypatch.context() as patched:
        patched.setattr(render, "html_table", lambda *_args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            tiny.make_all(layout.root)
    assert "was made before its YAML changed" in refusal(layout)


def test_edited_code_that_makes_artefacts(layout, monkeypatch):
    """Cells made by an older rule of verdicts were once accepted as made by today's."""
    accepted(layout)
    monkeypatch.setattr(
        fresh,
        "step_id",
        lambda module, *root: "0" if module == "harness.make.make" else step_id(module, *root),
    )
    assert "was made before its code changed" in refusal(layout)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("takes longer than anybody would wait", "is for scale paper"),
        ("      cpu:\n", "      cpu:\n        differs: [D1]\n"),
    ],
)
def test_an_edited_reason_why_nothing_was_run(tmp_path, old, new):
    """Cells without a number, and captions, tell what experiments.yaml says: an edit changed neither."""
    root = tiny.project(tmp_path)
    tiny.run_all(root, "cpu")
    layout = tiny.make_all(root, "cpu")
    accept(artefacts.find("mini/table_1", root), layout, "the first outcome", root)
    tiny.edit(root, "reproduce/mini/experiments.yaml", old, new)
    with pytest.raises(HarnessError, match="mini/table_1 was made before its experiments changed"):
        accept(artefacts.find("mini/table_1", root), layout, "another outcome", root)
    tiny.forget()


def test_an_edited_module_that_a_drawing_imports(tmp_path):
    """Ten figures import a module that draws for several; they were not drawn again after an edit there."""
    drawing = tiny.write(tmp_path, "figures/mini/figure_1.py", "from harness.curves import lines\n")
    tiny.write(tmp_path, "harness/curves.py", "lines = 1\n")
    before = drawing_id(drawing, tmp_path)
    tiny.write(tmp_path, "harness/curves.py", "lines = 2  # thicker\n")
    after = drawing_id(drawing, tmp_path)
    tiny.write(tmp_path, "harness/curves.py", "lines = 2\n")
    assert before != after == drawing_id(drawing, tmp_path)
    tiny.write(tmp_path, "figures/mini/figure_1.py", "from harness.curves import lines as thick\n")
    assert drawing_id(drawing, tmp_path) != after
    tiny.forget()


def test_an_edited_module(layout):
    accepted(layout)
    module = next((layout.root / "reproduce" / "mini").glob("noise.py"))
    module.write_text(module.read_text() + "\n\nConfig.more = 1\n")
    assert "its code has changed since" in refusal(layout)
    spec = artefacts.find("mini/table_1", layout.root).runs("smoke", layout.root)[0]
    assert not stale.is_there(spec, layout)


def test_an_edited_config(layout):
    accepted(layout)
    spec = artefacts.find("mini/table_1", layout.root).runs("smoke", layout.root)[0]
    assert stale.is_there(spec, layout)
    other = type(spec)(**{**vars(spec), "config": {**spec.config, "more": 1}})
    assert not stale.is_there(other, layout)


def test_records_that_were_made_anew(layout):
    accepted(layout)
    folder = layout.run_folder(artefacts.find("mini/table_1", layout.root).runs("smoke", layout.root)[0].id)
    edit_record(folder, reseal=True, seconds=99.0)
    assert "was made before its records changed" in refusal(layout)


def test_random_streams_are_part_of_every_code_id(tmp_path):
    root = tiny.project(tmp_path)
    before = code_id("reproduce.mini.noise", root)
    tiny.write(root, "harness/base/seeds.py", "KEY = 2\n")
    tiny.forget()
    assert code_id("reproduce.mini.noise", root) != before
