"""From architectures to the rows of a store."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import NoReturn

import numpy as np

from harness.base.errors import HarnessError
from harness.bench.identity import Source
from harness.bench.store import Store

HEX = frozenset("0123456789abcdef")
Architectures = str | int | Sequence[str] | Sequence[int] | np.ndarray


def as_list(architectures: Architectures) -> list[str] | np.ndarray:
    """A list of strings, or an array of row numbers."""
    if isinstance(architectures, str):
        return [architectures]
    if isinstance(architectures, int | np.integer) and not isinstance(architectures, bool):
        return np.array([architectures])
    if not isinstance(architectures, Sequence | np.ndarray):
        raise HarnessError(
            f"architectures must be strings or row numbers, not {type(architectures).__name__}"
        )
    if isinstance(architectures, np.ndarray) and architectures.ndim != 1:
        raise HarnessError(
            f"architectures must be one string or a flat list, not an array {architectures.shape}"
        )
    if isinstance(architectures, np.ndarray) and architectures.dtype.kind in "iu":
        return architectures
    listed = architectures.tolist() if isinstance(architectures, np.ndarray) else list(architectures)
    if listed and all(type(one) is int for one in listed):
        return np.array(listed, dtype=np.int64)
    return listed


def rows_of(space: str, source: Source, store: Store, archs: list[str] | np.ndarray) -> np.ndarray:
    """The row of each architecture; one that is not held is an error that names it."""
    if isinstance(archs, np.ndarray):
        return _numbers(space, source, store, archs)
    if space == "nb201":
        index = _index(str(store.folder), store.meta.sha256)
        try:
            rows = np.fromiter(map(index.get, archs, repeat(-1)), np.int64, len(archs))
        except TypeError:
            raise HarnessError("architectures must be strings (or a flat array of row numbers)") from None
    else:
        rows = _cells(space, store, archs)
    if len(rows) and rows.min() < 0:
        _refuse(space, source, store, archs[int(np.argmin(rows))])
    return rows


def name_of(space: str, store: Store, arch: str | int) -> str:
    """The architecture's own name, also where a row number was asked for."""
    return arch if isinstance(arch, str) else store.array("names")[arch].decode()


def _numbers(space: str, source: Source, store: Store, rows: np.ndarray) -> np.ndarray:
    if space.startswith("nb1shot1"):
        raise HarnessError(f"rows of {source.name} number nb101 cells: ask {space} with architecture strings")
    total = len(store.array("names"))
    if total != source.cells:
        raise HarnessError(
            f"{source.name} has {total} of {source.cells} cells: ask it with architecture strings"
        )
    if len(rows) and not (rows.min() >= 0 and rows.max() < total):
        wrong = int(rows.min() if rows.min() < 0 else rows.max())
        raise HarnessError(f"row {wrong} is not in {source.name}: rows are 0 to {total - 1}")
    return rows


@lru_cache(maxsize=4)
def _index(folder: str, sha256: str) -> dict[str, int]:
    names = np.load(Path(folder) / "names.npy", allow_pickle=False)
    return {name.decode(): row for row, name in enumerate(names.tolist())}


def _cells(space: str, store: Store, archs: list[str]) -> np.ndarray:
    """NAS-Bench-101 cells by module hash or, without any md5, by fingerprint; -1 where there is none."""
    from harness import spaces

    rows = np.empty(len(archs), np.int64)
    hashes = [i for i, arch in enumerate(archs) if isinstance(arch, str) and _is_hash(arch)]
    if hashes:
        rows[hashes] = _search(store.array("names"), np.array([archs[i] for i in hashes], dtype="S32"))
    others = np.ones(len(archs), bool)
    others[hashes] = False
    cells = np.flatnonzero(others)
    if len(cells):
        prints = spaces.get(space).fingerprints([archs[i] for i in cells])
        place = _search(store.array("fingerprint_sorted"), prints)
        rows[cells] = np.where(place < 0, -1, store.array("fingerprint_row")[np.maximum(place, 0)])
    return rows


def _is_hash(arch: str) -> bool:
    return len(arch) == 32 and HEX.issuperset(arch)


def _search(ascending: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    place = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return np.where(ascending[place] == wanted, place, -1)


def _refuse(space: str, source: Source, store: Store, arch: str) -> NoReturn:
    from harness import spaces

    if not (isinstance(arch, str) and _is_hash(arch) and space != "nb201"):
        spaces.get(space).validate(arch)  # says what is wrong with it, if it is no architecture at all
    held = len(store.array("names"))
    raise HarnessError(
        f"{source.name} does not hold the {space} architecture {arch}: it has {held} of {source.cells}"
    )
