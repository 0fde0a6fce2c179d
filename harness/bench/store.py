"""Memory-mapped stores: a benchmark file is converted once, and what is open is what was converted.

`cache_dir()/stores/<source>-<first 12 of the sha256>/` holds .npy files and meta.json. A store is written
into a temporary folder and renamed, so a kill leaves either none or a whole one.

Nothing large is hashed on the way to an answer. meta.json remembers size and mtime of the inputs and of the
arrays from the moment they were hashed; while those are unchanged, so is the content, short of a deliberate
forgery. Where one differs, the file is hashed again and the hash decides. A folder of many records is watched
by its own mtime and number of records: a record edited in place is seen by `convert`, which hashes all.
"""

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from harness.base.errors import HarnessError
from harness.base.files import cache_dir, sha256_of, write_atomic

CONVERTER = 2  # raise it when a converter changes what it writes: older stores are then rebuilt


@dataclass(frozen=True)
class Stamp:
    """What a file looked like when it was hashed."""

    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True)
class Meta:
    """meta.json of a store."""

    source: str
    version: str
    converter: int
    sha256: str
    inputs: tuple[Stamp, ...]
    arrays: dict[str, tuple[Stamp, str]]
    columns: tuple[str, ...]
    cells: int


@dataclass(frozen=True, eq=False)
class Store:
    """An opened store: its meta and its arrays, mapped when they are first asked for."""

    folder: Path
    meta: Meta

    def array(self, name: str) -> np.ndarray:
        return _mapped(str(self.folder / f"{name}.npy"), self.meta.arrays[f"{name}.npy"][0].mtime_ns)


@lru_cache(maxsize=64)
def _mapped(path: str, mtime_ns: int) -> np.ndarray:
    return np.load(path, mmap_mode="r", allow_pickle=False)


def stamp(path: Path) -> Stamp:
    """Size and time of a file; for a folder its number of records and its own time."""
    status = path.stat()
    size = len(records(path)) if path.is_dir() else status.st_size
    return Stamp(str(path.resolve()), size, status.st_mtime_ns)


def records(folder: Path) -> list[str]:
    """The names of the pickled records of an official archive folder, sorted."""
    return sorted(name for name in os.listdir(folder) if name.endswith(".pickle.pbz2"))


def hash_of(inputs: list[Path]) -> str:
    """The sha256 of one file; of several files or a folder, that of the list of names and sha256s."""
    if len(inputs) == 1 and inputs[0].is_file():
        return sha256_of(inputs[0])
    files = [p / name for p in inputs if p.is_dir() for name in records(p)]
    files += [p for p in inputs if p.is_file()]
    return hashlib.sha256("".join(f"{p.name} {sha256_of(p)}\n" for p in files).encode()).hexdigest()


def find_store(source: str, inputs: list[Path], columns: tuple[str, ...]) -> Store | None:
    """The valid store made from these very inputs, None where it must be made."""
    stamps = tuple(stamp(path) for path in inputs)
    for folder in _folders(source):
        meta = _read(folder)
        if meta and meta.inputs == stamps and _whole(folder, meta, columns):
            return Store(folder, meta)
    return None


def make_store(
    source: str,
    inputs: list[Path],
    columns: tuple[str, ...],
    fill: Callable[[Path], tuple[str, int]],
    again: bool = False,
) -> Store:
    """The store of these inputs' content, made if need be: `fill` writes the arrays: version and cells."""
    stamps = tuple(stamp(path) for path in inputs)
    sha = hash_of(inputs)
    folder = cache_dir() / "stores" / f"{source}-{sha[:12]}"
    with _alone(folder):
        meta = _read(folder)
        if meta and meta.sha256 == sha and not again and _whole(folder, meta, columns):
            renewed = replace(meta, inputs=stamps)  # the same content at another place or time
            _write(folder, renewed)
            return Store(folder, renewed)
        return _make(source, inputs, columns, fill, stamps, sha, folder)


def _make(
    source: str,
    inputs: list[Path],
    columns: tuple[str, ...],
    fill: Callable[[Path], tuple[str, int]],
    stamps: tuple[Stamp, ...],
    sha: str,
    folder: Path,
) -> Store:
    for left_over in folder.parent.glob(f".{folder.name}.*"):
        shutil.rmtree(left_over, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        version, cells = fill(temporary)
        if tuple(stamp(path) for path in inputs) != stamps:
            raise HarnessError(f"{inputs[0]} changed while it was being converted: run the command again")
        arrays = {path.name: _sealed(path) for path in sorted(temporary.glob("*.npy"))}
        meta = Meta(source, version, CONVERTER, sha, stamps, arrays, columns, cells)
        _write(temporary, meta)
        temporary.chmod(0o755)
        if folder.exists():  # damaged or outdated; whoever has it mapped keeps it
            os.replace(folder, folder.with_name(f".{folder.name}.old"))
        os.replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(folder.with_name(f".{folder.name}.old"), ignore_errors=True)
    return Store(folder, meta)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process converts, the others wait and find its store (jobs of a campaign start together)."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _folders(source: str) -> list[Path]:
    return sorted((cache_dir() / "stores").glob(f"{source}-" + "[0-9a-f]" * 12))


def _sealed(path: Path) -> tuple[Stamp, str]:
    """An array that is on the disk for good: its stamp and hash."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        status = os.fstat(file.fileno())
    return Stamp(path.name, status.st_size, status.st_mtime_ns), sha256_of(path)


def _whole(folder: Path, meta: Meta, columns: tuple[str, ...]) -> bool:
    if meta.converter != CONVERTER or meta.columns != columns or not meta.arrays:
        return False
    for name, (seen, sha) in meta.arrays.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != seen.size:
            return False
        if path.stat().st_mtime_ns != seen.mtime_ns and sha256_of(path) != sha:
            return False
    return True


def _write(folder: Path, meta: Meta) -> None:
    write_atomic(folder / "meta.json", json.dumps(asdict(meta), indent=1) + "\n")


def _read(folder: Path) -> Meta | None:
    """meta.json, or None where it is absent or not what this version writes: the store is then made again."""
    try:
        raw = json.loads((folder / "meta.json").read_text())
        raw["inputs"] = tuple(Stamp(**one) for one in raw["inputs"])
        raw["arrays"] = {name: (Stamp(**seen), sha) for name, (seen, sha) in raw["arrays"].items()}
        raw["columns"] = tuple(raw["columns"])
        return Meta(**raw)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
