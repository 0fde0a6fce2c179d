"""Downloads that resume, are verified, and appear under their name only when they are whole and right."""

import errno
import fcntl
import hashlib
import http.client
import os
import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.base.errors import HarnessError
from harness.base.files import sha256_of

BLOCK = 1 << 20
ATTEMPTS = 4  # each continues where the last one broke off
Progress = Callable[[str, int, int | None], None]  # url, bytes so far, bytes in all


@dataclass(frozen=True)
class _Wanted:
    url: str
    size: int | None
    sha256: str | None
    md5: str | None
    timeout: float
    progress: Progress | None


def download(
    url: str,
    target: Path,
    *,
    size: int | None = None,
    sha256: str | None = None,
    md5: str | None = None,
    timeout: float = 30,
    progress: Progress | None = None,
) -> Path:
    """The file behind a URL as `target`, continued from `target`.part where an earlier try left one."""
    wanted = _Wanted(url, size, sha256, md5, timeout, progress)
    if not url.startswith(("https://", "http://")):
        raise HarnessError(f"{url} is not a web address: only http and https are fetched")
    part = target.with_name(target.name + ".part")
    with _disk_errors(target):
        if target.exists():
            if not mismatch(target, size=size, sha256=sha256, md5=md5):
                return target
            target.unlink()
        with _only_one(part):
            resumed = part.stat().st_size > 0
            wrong = _complete(wanted, part)
            if wrong and resumed:  # the beginning may be of an older file: once more from nothing
                os.truncate(part, 0)
                wrong = _complete(wanted, part)
            if wrong:
                part.unlink()
                raise HarnessError(f"{url} has {wrong}: nothing of it was kept, try later or another way")
            with part.open("rb") as file:
                os.fsync(file.fileno())
            os.replace(part, target)
    return target


def mismatch(path: Path, *, size: int | None, sha256: str | None, md5: str | None) -> str | None:
    """What is wrong with a file, as `… where … was expected`; None when nothing is."""
    if size is not None and path.stat().st_size != size:
        return f"{path.stat().st_size} bytes where {size} were expected"
    if sha256 is not None:
        found = sha256_of(path)
        return None if found == sha256 else f"sha256 {found} where {sha256} was expected"
    if md5 is not None:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
        return None if found == md5 else f"md5 {found} where {md5} was expected"
    return None


def _complete(wanted: _Wanted, part: Path) -> str | None:
    """Receive until the part is whole; returns what is wrong with it then."""
    for _ in range(ATTEMPTS):
        before = part.stat().st_size
        if wanted.size is not None and before == wanted.size:
            break
        total, broke = _receive(wanted, part)
        now = part.stat().st_size
        if not broke and (total is None or now >= total):
            break
        if now <= before:
            raise _broken(wanted, now, total)
    else:
        raise _broken(wanted, now, total)
    return mismatch(part, size=wanted.size, sha256=wanted.sha256, md5=wanted.md5)


def _broken(wanted: _Wanted, now: int, total: int | None) -> HarnessError:
    of = f" of {total}" if total is not None else ""
    return HarnessError(
        f"{wanted.url} broke off after {now}{of} bytes: run the command again to continue there"
    )


def _receive(wanted: _Wanted, part: Path) -> tuple[int | None, bool]:
    """One request, written behind what is there; the whole size if known, and whether it broke off."""
    start, total = part.stat().st_size, wanted.size
    headers = {"User-Agent": "nas-reproduction", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        request = urllib.request.Request(wanted.url, headers=headers)
        with urllib.request.urlopen(request, timeout=wanted.timeout) as answer:
            begin, announced = _range(answer, start)
            total = announced if total is None else total
            _check_space(part, None if total is None else total - begin, wanted.url)
            os.truncate(part, begin)
            with part.open("ab") as file:
                _copy(answer, file, wanted, begin, total)
            return total, False
    except urllib.error.HTTPError as error:
        if error.code == 416 and start:  # nothing behind what we have: it is whole, or it is of another file
            whole = re.fullmatch(r"bytes \*/(\d+)", error.headers.get("Content-Range", ""))
            if whole and int(whole[1]) == start:
                return start, False
            os.truncate(part, 0)
            return _receive(wanted, part)
        raise HarnessError(
            f"{wanted.url} was refused ({error.code} {error.reason}): try later or another way"
        ) from None
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        if part.stat().st_size > start:
            return total, True
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise HarnessError(
            f"{wanted.url} cannot be reached ({reason}): check the network, or take the set from elsewhere"
        ) from None


def _range(answer: Any, start: int) -> tuple[int, int | None]:
    """Where the answer's bytes belong, and the whole size: a server may ignore the range."""
    length = answer.headers.get("Content-Length", "")
    if answer.status != 206:
        return 0, int(length) if length.isdigit() else None
    given = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", answer.headers.get("Content-Range", ""))
    if not given or int(given[1]) != start:
        raise HarnessError(f"{answer.url} answered with another part than was asked for: try later")
    return start, None if given[2] == "*" else int(given[2])


def _copy(answer: Any, file: Any, wanted: _Wanted, done: int, total: int | None) -> None:
    # read1, not read: what came before a connection broke is written, not lost with the block
    while block := answer.read1(BLOCK):
        done += len(block)
        if wanted.size is not None and done > wanted.size:
            file.truncate(0)
            raise HarnessError(
                f"{wanted.url} sends more than the {wanted.size} bytes that were expected: nothing was kept"
            )
        file.write(block)
        if wanted.progress:
            wanted.progress(wanted.url, done, total)


def _check_space(part: Path, needed: int | None, url: str) -> None:
    free = shutil.disk_usage(part.parent).free
    if needed is not None and needed > free:
        raise HarnessError(
            f"{part.parent} has {free} bytes left where {url} needs {needed}: make room or set NAS_CACHE"
        )


@contextmanager
def _disk_errors(target: Path) -> Iterator[None]:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise HarnessError(f"the disk of {target.parent} is full: make room or set NAS_CACHE") from None
        if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM, errno.ENOTDIR, errno.EEXIST):
            raise HarnessError(
                f"{target.parent} cannot be written: set NAS_CACHE to a folder that can"
            ) from None
        raise


@contextmanager
def _only_one(part: Path) -> Iterator[None]:
    """Two processes must not write one part; the lock ends with the process, however that ends."""
    with part.open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HarnessError(f"{part} is being downloaded by another process: wait for it") from None
        try:
            yield
        finally:
            if part.exists() and part.stat().st_size == 0:
                part.unlink()
