"""Accepting an outcome: with a reason, with everything there, with where it came from."""

import getpass
import json
import lzma
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import tiny
from sealed import edit_record

from harness.accepted import reproduced
from harness.accepted.accept import accept, accept_all
from harness.accepted.check import compare
from harness.base.errors import HarnessError
from harness.base.files import sha256_of
from harness.base.layout import Layout
from harness.make.fresh import outputs
from harness.runs import archives
from harness.runs.record import read_record
from harness.spec import artefacts


@pytest.fixture
def layout(tmp_path):
    yield tiny.made(tmp_path)
    tiny.forget()


def table(layout: Layout) -> artefacts.Artefact:
    return artefacts.find("mini/table_1", layout.root)


@pytest.mark.parametrize("reason", ["", " ", "ok", "fine\n"])
def test_no_reason_no_acceptance(layout, reason):
    with pytest.raises(HarnessError, match="accept needs --reason"):
        accept(table(layout), layout, reason, layout.root)
    assert not layout.published.exists()


@pytest.mark.parametrize("suffix", [".cells.csv", ".claims.csv", ".md", ".tex", ".html"])
def test_a_missing_file_is_named_with_the_command_that_makes_it(layout, suffix):
    (layout.results / f"tables/mini/table_1{suffix}").unlink()
    with pytest.raises(HarnessError) as refused:
        accept(table(layout), layout, "it is right", layout.root)
    assert f"table_1{suffix}" in str(refused.value)
    assert "`python -m harness make mini/table_1 --scale smoke`" in str(refused.value)
    assert not layout.published.exists()


def test_a_record_that_was_changed_is_not_accepted(layout):
    run = layout.run_folder("mini/noise/strong/low/s1") / "run.json"
    run.write_text(run.read_text().replace('"seed": 1', '"seed": 2'))
    with pytest.raises(HarnessError, match="was changed after its run ended"):
        accept(table(layout), layout, "it is right", layout.root)
    assert not layout.published.exists()


def test_what_is_accepted_is_what_was_made(layout):
    written = accept(table(layout), layout, "first numbers of this table", layout.root)
    assert written == layout.published / "tables/mini/table_1.provenance.json"
    for path in outputs(table(layout), layout.results):
        if path.suffix == ".html":  # made again from the cells
            assert not (layout.published / path.relative_to(layout.results)).exists()
            continue
        assert (layout.published / path.relative_to(layout.results)).read_bytes() == path.read_bytes()
    assert compare(layout, layout.root) == []


def test_the_provenance_is_complete(layout):
    provenance = json.loads(accept(table(layout), layout, "first numbers", layout.root).read_text())
    assert (provenance["artefact"], provenance["scale"]) == ("mini/table_1", "smoke")
    assert provenance["reason"] == "first numbers"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", provenance["accepted"])
    specs = table(layout).runs("smoke", layout.root)
    assert [run["run"] for run in provenance["runs"]] == [spec.id for spec in specs]
    assert len(specs) == 12
    for run, spec in zip(provenance["runs"], specs, strict=True):
        assert run["config"] == spec.config and run["seed"] == spec.seed and run["status"] == "done"
        assert re.fullmatch("[0-9a-f]{16}", run["code"]) and run["commit"]
        assert run["tables"] == {"values.csv": sha256_of(layout.run_folder(spec.id) / "values.csv")}
        assert {"device", "threads", "machine", "started", "seconds", "truths"} <= run.keys()


def test_nothing_published_tells_of_this_machine(layout):
    accept(table(layout), layout, "first numbers", layout.root)
    private = {str(layout.root), str(Path.home()), socket.gethostname(), sys.prefix, os.getcwd()}
    if len(getpass.getuser()) > 4:
        private.add(getpass.getuser())
    for path in layout.published.rglob("*"):
        if path.is_file():
            text = path.read_bytes()
            text = lzma.decompress(text).decode() if path.suffix == ".xz" else text.decode()
            assert not [word for word in private if len(word) > 3 and word in text], path.name
            assert not re.search(r'"(/|[A-Z]:\\)', text), f"{path.name} holds an absolute path"


def test_accepting_again_replaces(layout):
    accept(table(layout), layout, "first numbers", layout.root)
    tiny.edit(layout.root, "tables/mini/table_1.yaml", "| high | 5.0", "| high | 9.0")
    tiny.make_all(layout.root)
    changes = compare(layout, layout.root)
    assert {c.place for c in changes} == {"", "high / strong"}  # "": the YAML was edited
    provenance = accept(table(layout), layout, "the paper prints nine", layout.root)
    assert json.loads(provenance.read_text())["reason"] == "the paper prints nine"
    assert compare(layout, layout.root) == []


def test_of_several_the_page_is_written_once_also_where_one_is_refused(layout, monkeypatch):
    for name in ("table_2", "table_3"):
        text = tiny.TABLE.replace("mini/table_1", f"mini/{name}")
        tiny.write(layout.root, f"tables/mini/{name}.yaml", text)
    tiny.make_all(layout.root)
    (layout.results / "tables/mini/table_3.md").unlink()
    written = []
    monkeypatch.setattr(reproduced, "write", written.append)
    done = []
    with pytest.raises(HarnessError, match="mini/table_3 has no table_3.md"):
        for path in accept_all(artefacts.artefacts(layout.root), layout, "looked through", layout.root):
            done.append(path.name)
    assert done == ["table_1.provenance.json", "table_2.provenance.json"] and written == [layout.root]


def test_records_of_uncommitted_code_are_refused(layout):
    """63 of 843 accepted runs once came from code that is nowhere."""
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "reproduce"], [*who, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", "-C", str(layout.root), *words], check=True, capture_output=True)
    notes = layout.root / "reproduce/mini/NOTES.md"
    before = notes.read_text()
    notes.write_text(before + "\nMore.\n")
    tiny.forget()
    with pytest.raises(HarnessError, match="has changes that are in no commit, .*: commit them first"):
        accept(table(layout), layout, "it is right", layout.root)
    assert not layout.published.exists()
    notes.write_text(before)
    tiny.forget()
    accept(table(layout), layout, "it is right", layout.root)


@pytest.mark.parametrize("again", ["accept", "keep"])
def test_a_run_made_again_elsewhere_leaves_the_record_that_others_name(layout, monkeypatch, again):
    """Two clones with two commits: the second once took the first's kept records away."""
    tiny.write(layout.root, "tables/mini/table_2.yaml", tiny.TABLE.replace("mini/table_1", "mini/table_2"))
    tiny.make_all(layout.root)
    accept(table(layout), layout, "first numbers", layout.root)
    shutil.rmtree(layout.results / "runs")
    monkeypatch.setattr("harness.runs.execute.commit", lambda *_: "0123456789ab")
    tiny.run_all(layout.root)
    tiny.make_all(layout.root)
    if again == "accept":
        other = artefacts.find("mini/table_2", layout.root)
        noted = json.loads(accept(other, layout, "first numbers", layout.root).read_text())
        assert "0123456789ab" not in {run["commit"] for run in noted["runs"]}
        assert compare(layout, layout.root) == []
    else:
        archives.keep("mini", layout, layout.root)
        assert [change for change in compare(layout, layout.root) if change.artefact == "mini/table_1"] == []


def test_a_record_that_holds_something_else_replaces_the_kept_one(layout):
    accept(table(layout), layout, "first numbers", layout.root)
    folder = layout.run_folder("mini/noise/strong/low/s1")
    edit_record(folder, reseal=True, allocator="another")
    tiny.make_all(layout.root)
    noted = json.loads(accept(table(layout), layout, "another allocator", layout.root).read_text())
    assert read_record(folder)["digest"] in {run["digest"] for run in noted["runs"]}
