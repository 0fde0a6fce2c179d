"""Records that travel with the project: packed, and laid out again in a checkout that never ran them."""

import shutil

import pytest
import tiny
from sealed import edit_record

from harness import kept
from harness.artefacts import artefacts
from harness.check import compare
from harness.errors import HarnessError
from harness.files import ROOT, sha256_of
from harness.fresh import require_fresh
from harness.layout import SCALES, Layout
from harness.make import make

RUN = "mini/noise/strong/low/s1"


@pytest.fixture
def layout(tmp_path):
    """A project of which every record is kept, and none stands in results/."""
    tiny.project(tmp_path)
    layout = tiny.run_all(tmp_path)
    kept.keep("mini", layout, tmp_path)
    yield layout
    tiny.forget()


def contents(layout: Layout) -> dict[str, bytes]:
    runs = layout.results / "runs"
    return {p.relative_to(runs).as_posix(): p.read_bytes() for p in runs.rglob("*") if p.is_file()}


def test_a_table_is_made_of_kept_records_as_of_fresh_ones(layout):
    fresh = contents(layout)
    shutil.rmtree(layout.results)
    laid = kept.lay_out("mini", layout, layout.root)
    assert len(laid) == 12 and not any(laid.values())
    assert contents(layout) == fresh
    tiny.make_all(layout.root)
    for table in artefacts(layout.root):
        assert set(require_fresh(table, layout, layout.root)) <= set(laid)


def test_the_same_records_make_the_same_archive(layout):
    path = kept.archive("mini", layout)
    before = sha256_of(path)
    shutil.rmtree(layout.results)  # what is kept already is enough to keep it again
    kept.keep("mini", layout, layout.root)
    assert sha256_of(path) == before


def test_only_what_is_missing_is_laid_out(layout):
    shutil.rmtree(layout.run_folder(RUN))
    others = contents(layout)
    assert kept.lay_out("mini", layout, layout.root) == {RUN: ""}
    assert others.items() <= contents(layout).items()
    assert kept.lay_out("mini", layout, layout.root) == {}


def test_a_record_that_lost_a_table_gets_it_back(layout):
    """Once its run.json alone made it count as there, and no table could be made."""
    (layout.run_folder(RUN) / "values.csv").unlink()
    assert kept.lay_out("mini", layout, layout.root) == {RUN: ""}
    tiny.make_all(layout.root)


def test_a_record_of_other_code_is_left_to_be_run(layout):
    shutil.rmtree(layout.results)
    tiny.edit(layout.root, "reproduce/mini/noise.py", "truth.mean()", "truth.mean() + 1")
    reasons = kept.lay_out("mini", layout, layout.root)
    assert set(reasons.values()) == {"its code has changed since it was kept"}
    assert not list(layout.results.rglob("run.json"))
    assert not [p for p in layout.results.rglob(".laid-out-*")]


def test_records_of_other_code_are_not_kept(layout):
    tiny.edit(layout.root, "reproduce/mini/noise.py", "truth.mean()", "truth.mean() + 1")
    with pytest.raises(HarnessError, match="there is no record to keep"):
        kept.keep("mini", layout, layout.root)


def test_a_record_that_was_edited_in_the_archive_is_left_to_be_run(layout):
    edit_record(layout.run_folder(RUN), seed=7)
    files = {f"{RUN}/{path.name}": path.read_bytes() for path in sorted(layout.run_folder(RUN).iterdir())}
    kept.archive("mini", layout).write_bytes(kept._pack(files))
    shutil.rmtree(layout.results)
    assert kept.lay_out("mini", layout, layout.root) == {RUN: "its kept record is damaged"}
    assert not layout.run_folder(RUN).exists()


def test_names_in_an_archive_lead_nowhere_else(layout):
    """Only runs that exist are looked for, by name."""
    kept.archive("mini", layout).write_bytes(
        kept._pack({"../../outside/run.json": b"{}", "/etc/run.json": b"{}"})
    )
    shutil.rmtree(layout.results)
    assert kept.lay_out("mini", layout, layout.root) == {}
    assert not (layout.root / "outside").exists() and not layout.results.exists()


@pytest.mark.parametrize("share", [0, 0.1, 0.5])
def test_an_archive_that_was_cut_short_is_told(layout, share):
    path = kept.archive("mini", layout)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    shutil.rmtree(layout.run_folder(RUN))
    with pytest.raises(HarnessError, match=r"mini.tar.xz cannot be read .*: bring it back with"):
        kept.lay_out("mini", layout, layout.root)


def test_without_an_archive_it_says_so(layout):
    kept.archive("mini", layout).unlink()
    with pytest.raises(HarnessError, match="no records of mini are kept at scale smoke"):
        kept.lay_out("mini", layout, layout.root)


def test_records_too_large_for_a_clone_are_refused(layout, monkeypatch):
    before = kept.archive("mini", layout).read_bytes()
    monkeypatch.setattr(kept, "LIMIT", 1000)
    with pytest.raises(HarnessError, match="the records of mini take .* MB: they are not kept"):
        kept.keep("mini", layout, layout.root)
    assert kept.archive("mini", layout).read_bytes() == before


KEPT = [
    (path.name.removesuffix(".tar.xz"), scale)
    for scale in SCALES
    for path in sorted((Layout(scale).published / "records").glob("*.tar.xz"))
]


@pytest.mark.parametrize("paper, scale", KEPT)
def test_accepted_outcomes_follow_from_the_kept_records(paper, scale, tmp_path, monkeypatch):
    """What a reader makes of the records in published/ is what stands beside them.

    Cells and claims: that pages and figures are made of cells alone is tested in test_published and
    test_drawings.
    """
    monkeypatch.setattr("harness.make.render_all", lambda *_: None)
    for folder in ("harness", "reproduce", "tables", "figures", "published"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    layout = Layout(scale, tmp_path)
    laid = kept.lay_out(paper, layout, tmp_path)
    changed = {run: reason for run, reason in laid.items() if reason}
    assert not changed, "run these again, or where no number moved `python -m harness vouch` the change"
    made = []
    for artefact in artefacts(tmp_path):
        runs = {run.id for run in artefact.runs(scale, tmp_path)}
        if artefact.paper == paper and runs and runs <= laid.keys():
            make(artefact, layout, tmp_path)
            made.append(artefact.name)
    assert made
    assert [str(c) for c in compare(layout, tmp_path) if c.artefact in made] == []
