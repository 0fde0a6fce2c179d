"""Run records that travel with the project: packed into published/, laid out as if they had been run here."""

import io
import lzma
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from harness.errors import HarnessError, reading
from harness.experiments import RunSpec
from harness.experiments import paper as experiments_of
from harness.files import ROOT, read_within, write_atomic
from harness.fresh import is_there, why_stale
from harness.layout import Layout
from harness.record import read_record

LIMIT = 4 << 20  # bytes of an archive: a clone has to carry it for ever
UNPACKED = 256 << 20
MEMBER = re.compile(r"[a-z]+(/(?!\.)[^/\0]+){3}/s\d+/(run\.json|(?!\.)[^/\0]+\.csv)")


def archive(paper: str, layout: Layout) -> Path:
    return layout.published / "records" / f"{paper}.tar.xz"


def keep(paper: str, layout: Layout, root: Path = ROOT) -> tuple[Path, int]:
    """Pack the paper's whole records of today's code and config; those kept before stay while they count."""
    if archive(paper, layout).is_file():
        lay_out(paper, layout, root)
    files = {}
    for spec in experiments_of(paper, root).runs(layout.scale):
        if is_there(spec, layout, tables=True):
            folder = layout.run_folder(spec.id)
            for name in ("run.json", *sorted(read_record(folder)["tables"])):
                files[f"{spec.id}/{name}"] = (folder / name).read_bytes()
    if not files:
        raise HarnessError(f"no run of {paper} was made at scale {layout.scale}: there is no record to keep")
    packed = _pack(files)
    if len(packed) > LIMIT:
        size = f"{len(packed) / 1e6:.1f} MB packed, more than {LIMIT / 1e6:.1f} MB"
        raise HarnessError(f"the records of {paper} take {size}: they are not kept in the project")
    write_atomic(archive(paper, layout), packed)
    return archive(paper, layout), sum(name.endswith("/run.json") for name in files)


def _pack(files: dict[str, bytes]) -> bytes:
    """The same bytes for the same files, whenever and by whomever they are packed."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz", preset=9) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def lay_out(paper: str, layout: Layout, root: Path = ROOT) -> dict[str, str]:
    """Bring kept records where their runs are missing: why a run's could not be, '' where it was."""
    path = archive(paper, layout)
    runs = experiments_of(paper, root).runs(layout.scale)
    missing = [spec for spec in runs if not is_there(spec, layout, tables=True)]
    if not path.is_file():
        raise HarnessError(f"no records of {paper} are kept at scale {layout.scale}: {path} is not there")
    with reading(path, "cannot be read", f"bring it back with `git checkout -- {path.relative_to(root)}`"):
        kept = _unpack(path)
    found = {spec.id: _lay_out_one(spec, kept[spec.id], layout) for spec in missing if spec.id in kept}
    _forget_older([run for run, reason in found.items() if not reason], layout)
    return found


def _unpack(path: Path) -> dict[str, dict[str, bytes]]:
    """The files of each run; one member that `keep` would not have packed, and nothing of it is taken."""
    kept: dict[str, dict[str, bytes]] = {}
    with lzma.open(path) as packed:  # unpacked before tarfile looks: a header too can be a bomb
        content = io.BytesIO(read_within(packed, path, UNPACKED))
    with tarfile.open(fileobj=content, mode="r:") as tar:
        for member in tar:
            run, _, file = member.name.rpartition("/")
            if not (member.isreg() and MEMBER.fullmatch(member.name)) or file in kept.get(run, ()):
                raise ValueError(f"{member.name[:80]!r} is no file of a run, or stands twice")
            kept.setdefault(run, {})[file] = tar.extractfile(member).read()
    return kept


def _forget_older(runs: list[str], layout: Layout) -> None:
    """What Snakemake noted when it made these runs with other code, or it would make them again."""
    if runs and (layout.root / ".snakemake/metadata").is_dir():
        records = [str((layout.run_folder(run) / "run.json").relative_to(layout.root)) for run in runs]
        words = ["--cleanup-metadata", *records, "--config", f"scale={layout.scale}"]
        command = [sys.executable, "-m", "snakemake", *words]
        done = subprocess.run(command, cwd=layout.root, capture_output=True, text=True)
        # It forgets what it noted, then complains of those of which it had noted nothing: never made here.
        if done.returncode and "metadata was not present" not in done.stderr:
            raise HarnessError(f"`snakemake --cleanup-metadata` failed: {done.stderr.strip()[-300:]}")


def _lay_out_one(spec: RunSpec, files: dict[str, bytes], layout: Layout) -> str:
    """Why a kept record does not count today, or '' once it stands in its run's place.

    Its folder is built beside the others and moved, so that half a record is never seen.
    """
    place = layout.run_folder(spec.id)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".laid-out-") as temporary:
        built = Path(temporary) / place.name
        for name, content in files.items():
            write_atomic(built / name, content)
        try:
            record = read_record(built)
        except HarnessError:
            return "its kept record is damaged"
        if reason := why_stale(spec, record, layout):
            return f"{reason} since it was kept"
        shutil.rmtree(place, ignore_errors=True)
        built.rename(place)
    return ""
