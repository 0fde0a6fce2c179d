"""Records that travel with the project: packed, and laid out again in a checkout that never ran them."""

import io
import lzma
import shutil
import tarfile

import pytest
import tiny
from sealed import edit_record

from harness.accepted.check import KEPT, check
from harness.base.errors import HarnessError
from harness.base.files import at_work, sha256_of
from harness.base.layout import SCALES, Layout
from harness.make.fresh import require_fresh
from harness.runs import archives
from harness.runs.stale import why_stale
from harness.spec.artefacts import artefacts
from harness.spec.experiments import paper as experiments_of

RUN = "mini/noise/strong/low/s1"


@pytest.fixture
def layout(tmp_path):
    """A project of which every record is kept, and none stands in results/."""
    tiny.project(tmp_path)
    layout = tiny.run_all(tmp_path)
    archives.keep("mini", layout, tmp_path)
    yield layout
    tiny.forget()


def contents(layout: Layout) -> dict[str, bytes]:
    runs = layout.results / "runs"
    return {p.relative_to(runs).as_posix(): p.read_bytes() for p in runs.rglob("*") if p.is_file()}


def test_a_table_is_made_of_kept_records_as_of_fresh_ones(layout):
    fresh = contents(layout)
    shutil.rmtree(layout.results)
    laid = archives.lay_out("mini", layout, layout.root)
    assert len(laid) == 12 and not any(laid.values())
    assert contents(layout) == fresh
    tiny.make_all(layout.root)
    for table in artefacts(layout.root):
        assert set(require_fresh(table, layout, layout.root)) <= set(laid)


def test_the_same_records_make_the_same_archive(layout):
    path = archives.archive("mini", "noise", layout)
    before = sha256_of(path)
    shutil.rmtree(layout.results)  # what is kept already is enough to keep it again
    archives.keep("mini", layout, layout.root)
    assert sha256_of(path) == before


def test_only_what_is_missing_is_laid_out(layout):
    shutil.rmtree(layout.run_folder(RUN))
    others = contents(layout)
    assert archives.lay_out("mini", layout, layout.root) == {RUN: ""}
    assert others.items() <= contents(layout).items()
    assert archives.lay_out("mini", layout, layout.root) == {}


def test_a_record_that_lost_a_table_gets_it_back(layout):
    """Once its run.json alone made it count as there, and no table could be made."""
    (layout.run_folder(RUN) / "values.csv").unlink()
    assert archives.lay_out("mini", layout, layout.root) == {RUN: ""}
    tiny.make_all(layout.root)


def test_a_record_of_other_code_is_left_to_be_run(layout):
    shutil.rmtree(layout.results)
    tiny.edit(layout.root, "reproduce/mini/noise.py", "truth.mean()", "truth.mean() + 1")
    reasons = archives.lay_out("mini", layout, layout.root)
    assert set(reasons.values()) == {"its code has changed since it was kept"}
    assert not list(layout.results.rglob("run.json"))
    assert not list(layout.results.rglob(".laid-out*"))


def test_records_of_other_code_are_not_kept(layout):
    tiny.edit(layout.root, "reproduce/mini/noise.py", "truth.mean()", "truth.mean() + 1")
    with pytest.raises(HarnessError, match="there is no record to keep"):
        archives.keep("mini", layout, layout.root)


def test_a_record_that_was_edited_in_the_archive_is_left_to_be_run(layout):
    edit_record(layout.run_folder(RUN), seed=7)
    files = {f"{RUN}/{path.name}": path.read_bytes() for path in sorted(layout.run_folder(RUN).iterdir())}
    archives.archive("mini", "noise", layout).write_bytes(archives.pack(files))
    shutil.rmtree(layout.results)
    assert archives.lay_out("mini", layout, layout.root) == {RUN: "its kept record is damaged"}
    assert not layout.run_folder(RUN).exists()


def refused(layout: Layout, content: bytes) -> str:
    """What is said of an archive of these bytes, of which nothing is laid out."""
    path = archives.archive("mini", "noise", layout)
    path.write_bytes(content)
    shutil.rmtree(layout.results)
    with pytest.raises(HarnessError) as caught:
        archives.lay_out("mini", layout, layout.root)
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
        "other/a/b/c/s0/run.json",
        "",
    ],
)
def test_an_archive_with_a_name_that_is_no_runs_is_refused(layout, name):
    """Once nothing was written, and nothing said: 0 records laid out, exit 0."""
    whole = {f"{RUN}/run.json": (layout.run_folder(RUN) / "run.json").read_bytes()}
    told = refused(layout, archives.pack({**whole, name: b"{}"}))
    assert f"(ValueError: {name!r} is no file of a run of mini/noise, or stands twice)" in told


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
    monkeypatch.setattr(archives, "UNPACKED", 1 << 20)
    zeros = archives.pack({f"{RUN}/values.csv": bytes(2 << 20)})
    assert len(zeros) < 2000
    assert refused(layout, zeros).endswith("noise.tar.xz unpacks to more than 1 MB: remove it")
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, 2 << 20
    layout.results.mkdir()
    bomb = lzma.compress(header.tobuf() + bytes(2 << 20))
    assert refused(layout, bomb).endswith("noise.tar.xz unpacks to more than 1 MB: remove it")


def test_killed_before_records_are_in_their_places_the_next_lay_out_does_all_of_it(layout, monkeypatch):
    before = contents(layout)
    shutil.rmtree(layout.results)

    def killed(*_args) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as moment:
        moment.setattr(archives, "at_work", killed)
        moment.setattr(archives.shutil, "rmtree", lambda *_args, **_options: None)  # nor does it clean up
        with pytest.raises(KeyboardInterrupt):
            archives.lay_out("mini", layout, layout.root)
    assert not list((layout.results / "runs").rglob("run.json"))
    assert (layout.results / ".laid-out" / RUN / "run.json").is_file()
    assert not any(archives.lay_out("mini", layout, layout.root).values())
    assert contents(layout) == before
    assert not list(layout.results.rglob(".laid-out*"))


def test_a_run_that_a_killed_campaign_left_at_work_is_not_laid_out_over(layout):
    place = layout.run_folder(RUN)
    (place / "run.json").unlink()
    with at_work(place), pytest.raises(HarnessError, match=f"another process works in {place}"):
        archives.lay_out("mini", layout, layout.root)
    assert archives.lay_out("mini", layout, layout.root) == {RUN: ""}


@pytest.mark.parametrize("share", [0, 0.1, 0.5])
def test_an_archive_that_was_cut_short_is_told(layout, share):
    path = archives.archive("mini", "noise", layout)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    shutil.rmtree(layout.run_folder(RUN))
    with pytest.raises(HarnessError, match=r"noise.tar.xz cannot be read .*: bring it back with"):
        archives.lay_out("mini", layout, layout.root)


def test_without_an_archive_it_says_so(layout):
    archives.archive("mini", "noise", layout).unlink()
    with pytest.raises(HarnessError, match="no records of mini are kept at scale smoke"):
        archives.lay_out("mini", layout, layout.root)


def test_records_too_large_for_a_clone_are_refused(layout, monkeypatch):
    before = archives.archive("mini", "noise", layout).read_bytes()
    monkeypatch.setattr(archives, "LIMIT", 1000)
    told = "all kept records together would take .* MB, more than .*: let the runs of mini/noise leave"
    with pytest.raises(HarnessError, match=told):
        archives.keep("mini", layout, layout.root)
    assert archives.archive("mini", "noise", layout).read_bytes() == before


@pytest.mark.parametrize("scale", [scale for scale in SCALES if Layout(scale).published.is_dir()])
def test_accepted_outcomes_are_as_they_were_sealed_and_follow_from_the_kept_records(scale):
    """In this very project: no file below published/ was edited, and what records give stands beside them."""
    stale = ("since it was accepted", "than today's", "was never accepted", "was accepted without sotl/")
    stale += ("by an earlier rule of verdicts",)
    found = check(Layout(scale), here=False)
    assert [str(c) for c in found.changes if not any(words in c.what for words in stale)] == []
    assert found.looked[KEPT] > 0


ARCHIVES = [
    (path.parent.name, path.name.removesuffix(".tar.xz"), scale)
    for scale in SCALES
    for path in archives.every_archive(Layout(scale))
]


@pytest.mark.parametrize("paper, experiment, scale", ARCHIVES)
def test_kept_records_count_today(paper, experiment, scale, tmp_path):
    """Once this was skipped where code had changed, and on another Python it always had."""
    layout = Layout(scale)
    apart = Layout(scale, layout.root, tmp_path)
    archives.lay_out_apart(archives.archive(paper, experiment, layout), apart)
    specs = {spec.id: spec for spec in experiments_of(paper).runs(scale)}
    records = archives.records(specs, apart)
    stale = {
        run: reason for run, record in records.items() if (reason := why_stale(specs[run], record, layout))
    }
    assert records and not stale, (
        "run these again, or where no number moved `python -m harness vouch` the change"
    )
