"""Where files are found and how they are written so that a kill loses nothing."""

import errno
import fcntl
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import IO

from harness.base.errors import HarnessError

ROOT = Path(__file__).resolve().parents[2]

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_RIGHT = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.EISDIR)
NO_RIGHT += (errno.ENAMETOOLONG, errno.ENOTEMPTY)

LARGEST = 1 << 30  # bytes that a packed file may unpack to: four times the largest that this project reads


def cache_dir() -> Path:
    """Downloads and converted stores: NAS_CACHE, else the user's cache folder (shared by all checkouts)."""
    named = os.environ.get("NAS_CACHE")
    if named:
        return Path(named).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "nas-reproduction"


def data_dirs() -> list[Path]:
    """The folders of NAS_DATA (separated like PATH), in order; each must exist."""
    named = [Path(p).expanduser() for p in os.environ.get("NAS_DATA", "").split(os.pathsep) if p]
    for folder in named:
        if not folder.is_dir():
            raise HarnessError(f"NAS_DATA names {folder}, which is not a folder: correct or unset NAS_DATA")
    return named


def find_data(relative: str) -> Path | None:
    """In the first of NAS_DATA's folders, or the cache, that holds it."""
    places = [folder / relative for folder in [*data_dirs(), cache_dir()]]
    return next((place for place in places if place.exists()), None)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_within(file: IO[bytes], name: object, limit: int = LARGEST) -> bytes:
    """All that a packed file unpacks to; a bomb is refused at the limit, whatever size it declares."""
    data = file.read(limit + 1)
    if len(data) > limit:
        raise unpacks_to_more(name, limit)
    return data


def unpacks_to_more(name: object, limit: int) -> HarnessError:
    return HarnessError(f"{name} unpacks to more than {limit >> 20} MB: remove it")


def write_atomic(path: Path, content: bytes | str) -> None:
    """Write whole or not at all: readers and later campaigns never see half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):  # a reader knows the file that was meant, not the temporary one
            error.filename, error.filename2 = str(path), None
        raise


@contextmanager
def at_work(folder: Path) -> Iterator[None]:
    """Nobody else works in this folder meanwhile: a kernel lock on it, which ends with the process."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system that has no locks
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise HarnessError(
                    f"another process works in {folder}, perhaps of a campaign that was killed:"
                    " wait for its end, or end it; then the same command goes on"
                ) from None
        yield
    finally:
        os.close(handle)


def speak_plainly(*streams: object) -> None:
    """A terminal, or a log, of another encoding than UTF-8 shows `?` for what it does not have."""
    for stream in streams:
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def refused(error: OSError) -> HarnessError:
    """The sentence for a full disk or a place without rights; any other error is raised again: it is ours."""
    what, why = error.filename or "the output", error.strerror
    if short := re.fullmatch(r"\d+ requested and \d+ written", str(error)):  # numpy knows no more of it
        what, why = f"arrays below {cache_dir()}", short[0]
    if short or error.errno in NO_ROOM:
        return HarnessError(
            f"there is no room to write {what} ({why}): make room;"
            " nothing finished is lost, the same command goes on"
        )
    cached = _is_of_cache(what)
    # Where no folder can be made, as below /proc, that is told as one that is not there.
    if error.errno in NO_RIGHT or (cached and error.errno == errno.ENOENT):
        return HarnessError(
            f"{what} cannot be used ({why}): mend its rights or move away what stands there"
            + ", or set NAS_CACHE to another folder" * cached
            + "; nothing finished is lost, the same command goes on"
        )
    raise error


def _is_of_cache(what: str | bytes | int) -> bool:
    """The cache, a file in it, or a folder that it stands in."""
    path, cache = Path(os.fsdecode(what)) if not isinstance(what, int) else Path(), cache_dir()
    return path.is_absolute() and (path.is_relative_to(cache) or cache.is_relative_to(path))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
