"""Where files are found and how they are written so that a kill loses nothing."""

import errno
import hashlib
import os
import tempfile
from pathlib import Path
from typing import IO

from harness.errors import HarnessError

ROOT = Path(__file__).resolve().parent.parent

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
    """The first of NAS_DATA's folders, then the cache, that holds this file."""
    for folder in [*data_dirs(), cache_dir()]:
        if (folder / relative).exists():
            return folder / relative
    return None


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


def refused(error: OSError) -> HarnessError:
    """The sentence for a full disk or a place without rights; any other error is raised again: it is ours."""
    what = error.filename or "the output"
    if error.errno in NO_ROOM:
        return HarnessError(
            f"there is no room to write {what} ({error.strerror}): make room;"
            " nothing finished is lost, the same command goes on"
        )
    if error.errno in NO_RIGHT:
        return HarnessError(
            f"{what} cannot be used ({error.strerror}): mend its rights or move away what stands there;"
            " nothing finished is lost, the same command goes on"
        )
    raise error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
