"""Publishing: several files and their digests at once, whatever kills the process in between."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import tiny
from gold import accepted

from harness.accepted.accept import accept_all
from harness.accepted.check import check
from harness.accepted.withdraw import withdraw
from harness.base.errors import HarnessError
from harness.base.files import at_work
from harness.base.layout import Layout
from harness.published import manifest, publish
from harness.spec import artefacts

TABLE = "tables/mini/table_1.yaml"


def contents(layout: Layout) -> dict[str, bytes]:
    """All of published/, without the times at which something was accepted."""
    found = {
        p.relative_to(layout.published).as_posix(): p.read_bytes() for p in manifest.accepted_files(layout)
    }
    return {name: b"" if name.endswith("provenance.json") else content for name, content in found.items()}


@pytest.fixture
def layout(tmp_path):
    """Accepted once; then the paper prints another number and all is made again."""
    layout = tiny.made(tmp_path)
    list(accept_all(artefacts.artefacts(tmp_path), layout, "first numbers", tmp_path))
    tiny.edit(tmp_path, TABLE, "| high | 5.0", "| high | 9.0")
    tiny.make_all(tmp_path)
    yield layout
    tiny.forget()


class Killed(BaseException):
    """Nothing catches it, as nothing catches a kill."""


def dying(monkeypatch, after: int) -> None:
    """The process dies at this rename."""
    real, left = os.replace, [after]

    def replace(*names: object) -> None:
        if not left[0]:
            raise Killed
        left[0] -= 1
        real(*names)

    monkeypatch.setattr(os, "replace", replace)


def test_a_kill_at_any_rename_leaves_the_old_outcome_or_the_new(layout, monkeypatch):
    """Once 17 of 20 points left a mixture, and check was green on 16 of them."""
    table = artefacts.artefacts(layout.root)

    def change() -> None:
        list(accept_all(table, layout, "the paper prints nine", layout.root))

    before, point, killed = contents(layout), 0, True
    while killed and not publish.is_unfinished(layout):
        assert contents(layout) == before
        with monkeypatch.context() as patched:
            dying(patched, point)
            try:
                change()
                killed = False
            except Killed:
                point += 1
    assert killed and point > 5
    told = [str(c) for c in check(layout, layout.root, here=False).changes]
    assert any("holds an acceptance that was cut short" in line for line in told)
    change()
    after = contents(layout)
    assert after != before and not publish.is_unfinished(layout)
    assert not [path for path in layout.published.rglob(".*")]
    assert [c for c in check(layout, layout.root, here=False).changes if "reproduce" not in c.what] == []


def test_what_a_kill_left_half_moved_is_finished_by_the_next(layout, monkeypatch):
    table, point = artefacts.artefacts(layout.root), 0
    while True:
        with monkeypatch.context() as patched:
            dying(patched, point)
            try:
                list(accept_all(table, layout, "the paper prints nine", layout.root))
                break
            except Killed:
                point += 1
        publish.finish(layout)
        assert manifest.differences(layout).keys() <= {TABLE}  # the spec is another until it is accepted
    assert point > 5 and manifest.differences(layout) == {}


def test_other_tools_read_the_digests(tmp_path):
    layout = accepted(tmp_path)
    command = ["sha256sum", "--check", "--quiet", "published/smoke/SHA256SUMS"]
    assert subprocess.run(command, cwd=layout.root, capture_output=True).returncode == 0
    (layout.published / "tables/gold/table_1.md").write_text("better\n")
    assert subprocess.run(command, cwd=layout.root, capture_output=True).returncode == 1


NAMES = ["", "a\r", "/etc/hosts", "../a", "a/../b", "a//b", "./a"]


@pytest.mark.parametrize(
    "line", ["no digest", "{first}", "\udcff", *(f"{'0' * 64}  {name}" for name in NAMES)]
)
def test_digests_that_are_none_are_told(layout, line):
    path = manifest.path(layout)
    first = path.read_text().splitlines()[0]
    added = f"{line.format(first=first)}\n"
    path.write_bytes(path.read_bytes() + added.encode(errors="surrogateescape"))
    with pytest.raises(HarnessError, match=r"SHA256SUMS, line \d+ is no digest of a file, or its second one"):
        check(layout, layout.root)


def test_an_artefact_is_withdrawn_in_public(layout):
    with pytest.raises(HarnessError, match="is an artefact of the project: delete its YAML first"):
        withdraw("mini/table_1", layout, "nobody reads it", layout.root)
    (layout.root / TABLE).unlink()
    tiny.forget()
    with pytest.raises(HarnessError, match="was not accepted at scale smoke"):
        withdraw("mini/table_7", layout, "nobody reads it", layout.root)
    assert withdraw("mini/table_1", layout, "nobody reads it", layout.root) == "published/smoke/withdrawn.csv"
    assert (
        'mini/table_1,"2 hold, 2 not refuted",1 holds,nobody reads it'
        in (layout.published / "withdrawn.csv").read_text()
    )
    assert not list(layout.published.rglob("table_1*")) and manifest.differences(layout) == {}


def test_two_hands_do_not_publish_at_once(layout):
    with at_work(layout.published), pytest.raises(HarnessError, match="another process works in .*smoke"):
        publish.publish(layout, {layout.published / "page.md": b""})
    assert not (layout.published / "page.md").exists()


def test_a_kill_while_what_was_moved_is_cleared_away_leaves_nothing(layout, monkeypatch):
    page, real = {layout.published / "page.md": b"1"}, shutil.rmtree

    def rmtree(folder: Path, **how: bool) -> None:
        if (folder / "places.json").is_file():
            raise Killed
        real(folder, **how)

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", rmtree)
        with pytest.raises(Killed):
            publish.publish(layout, page)
    assert list(layout.published.rglob(".*"))
    assert not publish.is_unfinished(layout)
    publish.publish(layout, page)
    assert not list(layout.published.rglob(".*"))
