"""A full disk, a folder without rights, a write that fails: one sentence each, and nothing is lost."""

import ctypes
import errno
import os
import resource
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import tiny
from campaigns import harness
from snakemake_interface_executor_plugins.settings import ExecMode
from snakemake_interface_logger_plugins.common import LogEvent

from harness.accepted.accept import accept
from harness.accepted.check import compare
from harness.base.files import ROOT, refused, write_atomic
from harness.base.layout import Layout
from harness.campaign import campaign
from harness.cli import commands, planning
from harness.spec import artefacts

RUN = "mini/noise/strong/low/s0"
REASON = "numbers as expected"
COMMANDS = (["run", RUN], ["make", "mini/table_1"], ["accept", "mini/table_1", "--reason", REASON])


def small_files_only() -> None:
    """What a full disk does to whoever writes more than a few bytes; works in every container."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))


def as_anybody() -> None:
    """Root writes wherever it likes; without this capability it is held to rights like anybody."""
    override, drop = 1, 24
    ctypes.CDLL(None).prctl(drop, override, 0, 0, 0)


def refusal(root: Path, *words: str, before=None) -> str:
    done = harness(root, *words, before=before)
    assert done.returncode == 1 and done.stdout == "", done.stdout + done.stderr
    assert done.stderr.startswith("harness: ") and done.stderr.count("\n") == 1, done.stderr
    assert "nothing finished is lost, the same command goes on" in done.stderr
    return done.stderr


def content(root: Path) -> dict[str, bytes]:
    """Every file that a user would miss."""
    paths = (p for name in ("results", "published") for p in (root / name).rglob("*"))
    return {str(p): p.read_bytes() for p in paths if p.is_file() and p.name != ".campaign"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A checkout with everything run, made and accepted."""
    root = tiny.checkout(tmp_path_factory.mktemp("finished"))
    tiny.run_all(root)
    layout = tiny.make_all(root)
    accept(artefacts.find("mini/table_1", root), layout, REASON, root)
    return root


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_full_disk(finished, words):
    """Nothing is left behind, what stood there stands there still, and the same command goes on."""
    before = content(finished)
    assert "there is no room to write " in (told := refusal(finished, *words, before=small_files_only))
    assert "File too large" in told and (str(finished) in told or words[0] == "accept")  # made apart
    assert content(finished) == before
    assert harness(finished, *words).returncode == 0
    assert content(finished).keys() == before.keys()


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_folder_without_rights(finished, words):
    folders = [p for name in ("results", "published") for p in (finished / name).rglob("*") if p.is_dir()]
    probe = ["-c", f"open({str(folders[0] / 'probe')!r}, 'w')"]
    before = content(finished)
    for folder in folders:
        folder.chmod(0o555)
    try:
        tried = subprocess.run([sys.executable, *probe], preexec_fn=as_anybody, capture_output=True)
        if tried.returncode == 0:
            pytest.skip("this user may write anywhere")
        told = refusal(finished, *words, before=as_anybody)
    finally:
        for folder in folders:
            folder.chmod(0o755)
        (folders[0] / "probe").unlink(missing_ok=True)
    assert "cannot be used (Permission denied): mend its rights" in told and str(finished) in told
    assert content(finished) == before


def test_something_else_stands_where_results_belong(tmp_path):
    root = tiny.checkout(tmp_path)
    (root / "results").write_text("mine")
    told = refusal(root, "run", RUN)
    assert f"{root / 'results'}" in told and "move away what stands there" in told
    with pytest.raises(OSError) as caught:
        campaign.hold(Layout("smoke", root))
    assert f"{root / 'results'}" in str(refused(caught.value))
    assert (root / "results").read_text() == "mine"


def test_a_campaign_that_may_not_set_a_broken_record_aside(tmp_path, monkeypatch):
    root = tiny.project(tmp_path)
    layout = tiny.run_all(root)
    path = layout.run_folder(RUN) / "run.json"
    path.write_text("half")

    def read_only(*_args) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(os, "replace", read_only)
    runs, heard = artefacts.needed_runs("smoke", root), []
    monkeypatch.setattr(campaign.LOGGER, "addFilter", heard.append)
    workflow = SimpleNamespace(exec_mode=ExecMode.DEFAULT, output_settings=SimpleNamespace(dryrun=False))
    campaign.before_planning(workflow, runs, layout)
    with pytest.raises(SystemExit, match=r"^snakemake: .*run\.json cannot be used \(Read-only file system\)"):
        heard[0](SimpleNamespace(event=LogEvent.WORKFLOW_STARTED))


HOLDER = """
import sys
from pathlib import Path
from harness.campaign.campaign import hold
from harness.base.files import refused
from harness.base.layout import Layout
try:
    hold(Layout("smoke", Path(sys.argv[1])))
except OSError as error:
    sys.exit(str(refused(error)))
"""


def test_a_campaign_that_finds_the_disk_full(tmp_path):
    """Where nothing fits, not even the number of the process."""

    def nothing_fits() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, preexec_fn=nothing_fits, capture_output=True, text=True)
    path = tmp_path / "results" / "smoke" / ".campaign"
    assert done.stderr.startswith(f"there is no room to write {path} (File too large): make room")
    assert done.returncode == 1 and done.stderr.count("\n") == 1


def full(*_args) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_the_sentence_names_the_file_and_not_its_temporary_one(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError) as caught:
        write_atomic(tmp_path / "some.csv", "text")
    told = str(refused(caught.value))
    assert told.startswith(f"there is no room to write {tmp_path / 'some.csv'} (No space left on device)")


def test_numpy_that_cannot_write_all_of_an_array_is_one_sentence(tmp_path):
    """Its error has neither a number nor a file: once a full disk of the cache ended in its traceback."""
    code = f"""
import numpy, harness.cli.commands
def write(_): numpy.save({str(tmp_path / "a.npy")!r}, numpy.zeros(10**6))
harness.cli.planning.plan = write
harness.cli.commands.main(["plan"])"""
    command, env = [sys.executable, "-c", code], os.environ | {"NAS_CACHE": str(tmp_path)}
    done = subprocess.run(
        command, cwd=ROOT, env=env, preexec_fn=small_files_only, capture_output=True, text=True
    )
    assert done.stderr.startswith(f"harness: there is no room to write arrays below {tmp_path} (1000000 ")
    assert done.returncode == 1 and done.stderr.count("\n") == 1


def test_an_error_that_is_no_disks_is_not_dressed_up(monkeypatch):
    def lost(_options) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file", "rows.csv")

    monkeypatch.setattr(planning, "plan", lost)
    with pytest.raises(FileNotFoundError):
        commands.main(["plan"])


def test_accepting_on_a_full_disk_keeps_what_was_accepted(tmp_path, monkeypatch):
    layout = tiny.made(tmp_path)
    table = artefacts.find("mini/table_1", layout.root)
    accept(table, layout, REASON, layout.root)
    published = {p: p.read_bytes() for p in layout.published.rglob("*") if p.is_file()}
    tiny.edit(layout.root, "tables/mini/table_1.yaml", "| high | 5.0", "| high | 9.0")
    tiny.make_all(layout.root)
    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            accept(artefacts.find("mini/table_1", layout.root), layout, REASON, layout.root)
    assert {p: p.read_bytes() for p in layout.published.rglob("*") if p.is_file()} == published
    assert compare(layout, layout.root)
    accept(artefacts.find("mini/table_1", layout.root), layout, REASON, layout.root)
    assert compare(layout, layout.root) == []
    tiny.forget()
