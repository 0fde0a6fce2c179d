"""Records that travel with the project: packed, and laid out again in a checkout that never ran them."""

import io
import lzma
import shutil
import tarfile

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


def refused(layout: Layout, content: bytes) -> str:
    """What is said of an archive of these bytes, of which nothing is laid out."""
    path = kept.archive("mini", layout)
    path.write_bytes(content)
    shutil.rmtree(layout.results)
    with pytest.raises(HarnessError) as caught:
        kept.lay_out("mini", layout, layout.root)
    assert not layout.results.exists() and not (layout.root / "outside").exists()
    assert str(caught.value).startswith(f"{path} ")
    return str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "../../outside/run.json",
        "/etc/run.json",
        "mini/noise/../low/s1/run.json",
        f"{RUN}/../run.json",
        f"{RUN}/checkpoint",
        f"{RUN}/.hidden.csv",
        f"{RUN}/deeper/run.json",
        "run.json",
        "",
    ],
)
def test_an_archive_with_a_name_that_is_no_runs_is_refused(layout, name):
    """Once nothing was written, and nothing said: 0 records laid out, exit 0."""
    whole = {f"{RUN}/run.json": (layout.run_folder(RUN) / "run.json").read_bytes()}
    told = refused(layout, kept._pack({**whole, name: b"{}"}))
    assert f"(ValueError: {name!r} is no file of a run, or stands twice)" in told


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE])
def test_an_archive_with_anything_but_files_is_refused(layout, kind):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as tar:
        member = tarfile.TarInfo(f"{RUN}/run.json")
        member.type, member.linkname = kind, "/etc/passwd"
        tar.addfile(member)
    assert "is no file of a run" in refused(layout, packed.getvalue())


def test_an_archive_that_names_a_file_twice_is_refused(layout):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as tar:
        for _ in range(2):
            tar.addfile(tarfile.TarInfo(f"{RUN}/run.json"))
    assert "stands twice" in refused(layout, packed.getvalue())


def test_a_bomb_is_refused_before_it_is_unpacked(layout, monkeypatch):
    """In a member as in a header of tar's own, which tarfile reads whole."""
    monkeypatch.setattr(kept, "UNPACKED", 1 << 20)
    zeros = kept._pack({f"{RUN}/values.csv": bytes(2 << 20)})
    assert len(zeros) < 2000
    assert refused(layout, zeros).endswith("mini.tar.xz unpacks to more than 1 MB: remove it")
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, 2 << 20
    layout.results.mkdir()
    bomb = lzma.compress(header.tobuf() + bytes(2 << 20))
    assert refused(layout, bomb).endswith("mini.tar.xz unpacks to more than 1 MB: remove it")


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
    if any(laid.values()):
        pytest.skip(f"code or config changed since {paper} was run: run it again and keep its records")
    made = []
    for artefact in artefacts(tmp_path):
        runs = {run.id for run in artefact.runs(scale, tmp_path)}
        if artefact.paper == paper and runs and runs <= laid.keys():
            make(artefact, layout, tmp_path)
            made.append(artefact.name)
    assert made
    assert [str(c) for c in compare(layout, tmp_path) if c.artefact in made] == []
