"""Tables of the benchmarks that travel with the project: found where nobody's own files are.

`harness/bench/tables/README.md` says whose figures they are and how they were made. The sources nb201-table
and nb101-table read them as their own files. NAS-Bench-101's cells follow from the space itself, so that only
a number per cell is carried; the files that its source reads are written into the cache, once.
"""

import fcntl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal

from harness.base import files
from harness.base.errors import HarnessError
from harness.base.files import ROOT, cache_dir, sha256_of, write_atomic

TABLES = ROOT / "harness" / "bench" / "tables"
NB201 = "nb201.csv.gz"
LAST_EPOCHS = "benchmarks/nb201/final_train_loss_1000.json.gz"
NB101 = "nb101_mean_test.npz"
NB101_FILES = ("nb101_archs_by_hash.npz", "nb101_table.npz")  # what is written of it

SHA256 = {
    NB201: "f23f938fa1fb13cade094ba9b4ba29e6bf32fa70ce47371d9d3a1523f9455cce",
    LAST_EPOCHS: "a64dc9fb77c74495f801b4f7334bacd2c104410b315d7935111fb4c88dee33ca",
    NB101: "ca1ac355270bdbbf9999bd2d28c1c0b79b1e9d666d2d4de4ee7da8260ce61a28",
}

# As a truth's identity tells them: the hash of what a carried table answers from, and that of the full files,
# which give the same answers to the last bit. Those of nb101-table are of two files' names and hashes.
NB101_ANSWERS = "de71587bb3c55235eb27ff85c5cff11c706e380c2b271775dcb60e122e8856e0"
SAME = {
    SHA256[NB201]: "1783fd09a871858f435001da4992760ff62de28aa84ec4e3c8c99f0771c51b9f",
    NB101_ANSWERS: "449e538d00c0f7cd6aae896840923babb967c24f187df7998f0d62d1eae82ff5",
}

Mode = Literal["unpacked", "as it is", "packed", "hidden"]
_mode: ContextVar[Mode] = ContextVar("mode", default="unpacked")


@contextmanager
def found_as(mode: Mode) -> Iterator[None]:
    """`packed`, and `as it is` (packed or not), write nothing for a mere look.

    `hidden`: the user's own files alone are found.
    """
    token = _mode.set(mode)
    try:
        yield
    finally:
        _mode.reset(token)


def find_data(relative: str) -> Path | None:
    """A file of the user's own, else the carried one of this name, or what is written of it."""
    if own := files.find_data(relative):
        return own
    name, mode = NB101 if relative in NB101_FILES else relative, _mode.get()
    if mode == "hidden" or name not in SHA256 or relative == NB101 or not (TABLES / name).is_file():
        return None
    written = _folder() / relative
    if name != NB101 or mode == "packed" or (mode == "as it is" and not written.is_file()):
        return TABLES / name
    if not all((_folder() / one).is_file() for one in NB101_FILES):
        _write(_folder())
    return written


def content(name: str) -> bytes:
    """A carried file as it was made, or an error."""
    path = TABLES / name
    if sha256_of(path) != SHA256[name]:
        raise HarnessError(f"{path} is not as it was made: bring it back with `git checkout -- {path}`")
    return path.read_bytes()


def _folder() -> Path:
    return cache_dir() / "carried" / f"nb101-{SHA256[NB101][:12]}"


def _write(folder: Path) -> None:
    from harness.bench.nb101_packed import files_of

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # jobs of a campaign start together: one writes
        missing = [name for name in NB101_FILES if not (folder / name).is_file()]
        if missing:
            print("nb101-table: naming 423,624 cells once, for half a minute", file=sys.stderr, flush=True)
            for name, data in zip(NB101_FILES, files_of(content(NB101)), strict=True):
                if name in missing:  # what is there keeps its date
                    write_atomic(folder / name, data)


def is_carried(path: Path) -> bool:
    return path.is_relative_to(TABLES) or path.is_relative_to(cache_dir() / "carried")


def alike(truths: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The truths of a record, those of a carried table told as those of the full files behind it."""
    return [
        {**truth, "sha256": SAME.get(sha, sha)} if (sha := truth.get("sha256")) else truth for truth in truths
    ]
