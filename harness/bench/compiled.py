"""`bench compile`: the tables that travel with the project, from full files of the user's own.

What the answers are is decided by the sources' own converters: a table is compiled of what their stores hold.
"""

import csv
import gzip
import hashlib
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np

from harness.base.errors import HarnessError
from harness.base.files import write_atomic
from harness.bench import carried, catalogue, nb101_packed, nb201_table
from harness.bench.carried import find_data
from harness.bench.identity import Key, Source
from harness.bench.store import Store

# The compiled tables first, then the official archives; the last bits of these differ for some values.
COMPILED, OFFICIAL = ("nb201-table", "nb101-table"), ("nb201-nats", "nb101-tfrecord")


def compile_into(folder: Path, official: bool = False) -> list[str]:
    """Write them below a folder, and say of each whether it is the one that the project carries."""
    of_nb201, of_nb101 = OFFICIAL if official else COMPILED
    made: dict[str, Callable[[], bytes]] = {
        carried.NB201: lambda: nb201(*_full(of_nb201)),
        carried.NB101: lambda: nb101(*_full(of_nb101)),
    }
    if not official:
        made[carried.LAST_EPOCHS] = _last_epochs
    lines = []
    with carried.found_as("hidden"):
        for name, make in made.items():
            data = make()
            write_atomic(folder / name, data)
            lines.append(f"{folder / name}: {len(data):,} bytes, {_compared(name, data)}")
    return lines


def _full(name: str) -> tuple[Source, Store]:
    source = catalogue.named(name)
    found = catalogue.find(source)
    if found is None:
        raise HarnessError(
            f"{name} is not here: put {' and '.join(source.files[0])} below a folder of NAS_DATA"
            + ", or compile from the official archives (--official)" * (name not in OFFICIAL)
        )
    store = catalogue.open_store(source, found[1])
    if store.meta.cells != source.cells:
        raise HarnessError(f"{name} has only {store.meta.cells} of {source.cells} cells here: get it whole")
    return source, store


def nb201(source: Source, store: Store) -> bytes:
    """The columns that nb201-table reads, each value in the fewest digits that give it back."""
    names = [name.decode() for name in store.array("names").tolist()]
    held = {column.key: values for column, values in zip(source.columns, store.array("values"), strict=True)}
    columns = {"idx": range(len(names)), "arch_str": names}
    for column, name in nb201_table._columns():
        if not name.endswith("_val_acc"):  # the mean of the seeds is computed when it is read
            values = held.get(column.key) if _is_same(column.key, source) else None
            columns[name] = [""] * len(names) if values is None else [_text(v) for v in values.tolist()]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([list(columns), *zip(*columns.values(), strict=True)])
    return gzip.compress(text.getvalue().encode(), 9, mtime=0)


def _is_same(key: Key, source: Source) -> bool:
    """The archive evaluates single seeds on test images otherwise than the table does."""
    later = key.what == "accuracy" and key.epochs == 200 and key.split == "test" and key.trials in (0, 1, 2)
    return source is nb201_table.SOURCE or not later


def _text(value: float) -> str:
    return "" if np.isnan(value) else repr(value)


def nb101(source: Source, store: Store) -> bytes:
    """The mean test accuracies, by fingerprint."""
    values = store.array("values")[catalogue.column(source, nb101_packed.KEY)]
    return nb101_packed.pack(np.array(values[store.array("fingerprint_row")]))


def _last_epochs() -> bytes:
    """A file as it is: no archive of which it could be made again tells which seed it holds."""
    path = find_data(carried.LAST_EPOCHS)
    if path is None:
        raise HarnessError(f"{carried.LAST_EPOCHS} is not here: put it below a folder of NAS_DATA")
    return path.read_bytes()


def _compared(name: str, data: bytes) -> str:
    """Other libraries may pack the same content otherwise."""
    if hashlib.sha256(data).hexdigest() == carried.SHA256[name]:
        return "the one that the project carries"
    if _unpacked(name, data) == _unpacked(name, carried.content(name)):
        return "packed otherwise than the one that the project carries, with the same content"
    return "not the one that the project carries"


def _unpacked(name: str, data: bytes) -> object:
    if name.endswith(".gz"):
        return gzip.decompress(data)
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {key: arrays[key].tobytes() for key in arrays.files}
