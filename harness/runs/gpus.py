"""Which GPU of this machine a run gets: one with room for it, held by locks that die with its process.

A GPU has so many parts, each a locked file; a run takes as many as its rehearsal says it needs memory, all of
them where nothing is known of it. What CUDA_VISIBLE_DEVICES hides is not touched.
"""

import fcntl
import math
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from harness.base.errors import HarnessError
from harness.base.files import ROOT, cache_dir
from harness.published.rehearsed import kind, read
from harness.spec.experiments import RunSpec

PARTS = 8  # of a GPU's memory
SPARE = 1.2  # times what was counted: libraries need room to work in, and memory has holes
CONTEXT = 1e9  # bytes that CUDA and its libraries take for themselves
VISIBLE = "CUDA_VISIBLE_DEVICES"
_held: list[IO[bytes]] = []  # open for as long as the process lives


def there() -> dict[str, float]:
    """Bytes of each GPU's memory, by its name for CUDA_VISIBLE_DEVICES; none where none can be asked."""
    command = ["nvidia-smi", "--query-gpu=index,uuid,memory.total", "--format=csv,noheader,nounits"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    found: dict[str, float] = {}
    names: dict[str, str] = {}
    for line in told.splitlines():
        index, uuid, megabytes = (word.strip() for word in line.split(","))
        found[index], names[uuid] = float(megabytes) * 2**20, index
    return _visible(found, names)


def _visible(found: Mapping[str, float], names: Mapping[str, str]) -> dict[str, float]:
    """As CUDA does it: by index or by the beginning of a UUID, up to the first that is not there."""
    asked = os.environ.get(VISIBLE)
    if asked is None:
        return dict(found)
    seen: dict[str, float] = {}
    for word in (word.strip() for word in asked.split(",")):
        index = next((i for uuid, i in names.items() if word and uuid.startswith(word)), word)
        if index not in found:
            break
        seen[index] = found[index]
    return seen


def parts_of(spec: RunSpec, memory: float, root: Path = ROOT) -> int:
    """How many of a GPU's parts a run takes."""
    row = read(root).get((spec.scale, kind(spec)))
    if row is None or not row["memory"]:
        return PARTS
    wanted = float(row["memory"]) * SPARE + CONTEXT
    if wanted > memory:
        raise HarnessError(
            f"{spec.id} needs {wanted / 1e9:.0f} GB of a GPU that has {memory / 1e9:.0f} GB: use a larger one"
        )
    return max(1, math.ceil(PARTS * wanted / memory))


def take(
    spec: RunSpec,
    found: Mapping[str, float] | None = None,
    folder: Path | None = None,
    wait: Callable[[], None] = lambda: time.sleep(1),
    root: Path = ROOT,
) -> str:
    """Hold a GPU for this process, when one has room, and let CUDA see no other; '' where none is known."""
    found, folder = there() if found is None else found, folder or cache_dir() / "gpus"
    fits: dict[str, int] = {}
    for name, memory in found.items():
        with suppress(HarnessError):
            fits[name] = parts_of(spec, memory, root)
    if not fits:
        if found:
            parts_of(spec, max(found.values()), root)
        return ""
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        with (folder / "choosing").open("ab") as choosing:
            fcntl.flock(choosing, fcntl.LOCK_EX)
            free = {name: _free(folder, name) for name in fits}
            open_ones = [name for name in fits if len(free[name]) >= fits[name]]
            if open_ones:
                # The fullest that has room, so that a whole one stays free for who needs it.
                mine = min(open_ones, key=lambda name: len(free[name]))
                _held.extend(free[mine][: fits[mine]])
                _close(file for name in free for file in free[name][fits[mine] if name == mine else 0 :])
                os.environ[VISIBLE] = mine
                return mine
            _close(file for files in free.values() for file in files)
        wait()


def _free(folder: Path, name: str) -> list[IO[bytes]]:
    """The parts of a GPU that nobody holds, locked."""
    found = []
    for part in range(PARTS):
        file = (folder / f"{name}.{part}").open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
        else:
            found.append(file)
    return found


def _close(files: Iterable[IO[bytes]]) -> None:
    for file in files:
        file.close()


def release() -> None:
    """What this process held, which would else go when it ends."""
    _close(_held)
    _held.clear()
