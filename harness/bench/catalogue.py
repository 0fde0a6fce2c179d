"""Which sources there are, in which order they are preferred, and how each is opened."""

import hashlib
import importlib.util
import sys
from functools import cache, partial
from pathlib import Path

import numpy as np

from harness.base.errors import HarnessError
from harness.base.files import cache_dir, sha256_of
from harness.bench import nats, nb101_table, nb101_tfrecord, nb201_table, nb301, wheel
from harness.bench.carried import find_data
from harness.bench.identity import Key, Say, Source
from harness.bench.store import Store, find_store, make_store

# The order of preference of source="best": official files, then compiled tables, then what registries carry.
SOURCES = (
    nats.SOURCE,
    nb201_table.SOURCE,
    wheel.SOURCE,
    nb101_tfrecord.SOURCE,
    nb101_table.SOURCE,
    nb301.ENSEMBLES,
    nb301.ONNX,
    nb301.REFERENCE,  # last: it is asked by name, for the architectures that it holds
)


def sources() -> tuple[Source, ...]:
    """Every source, in order of preference."""
    return SOURCES


def named(name: str) -> Source:
    for source in SOURCES:
        if source.name == name:
            return source
    raise HarnessError(f"unknown source {name!r}: valid are best, {', '.join(s.name for s in SOURCES)}")


def find(source: Source) -> tuple[list[str], list[Path]] | None:
    """The relative names and the paths of the first alternative that is completely there."""
    if source.needs and importlib.util.find_spec(source.needs) is None:
        return None
    for names in source.files:
        paths = [find_data(name) for name in names]
        if all(paths):
            return list(names), [path for path in paths if path]
    return None


def missing(source: Source) -> str:
    """Where it was looked for and what to do."""
    return f"{source.get} (looked for {' and '.join(source.files[0])} below NAS_DATA and {cache_dir()})"


def to_stderr(name: str, text: str) -> None:
    print(f"{name}: {text}", file=sys.stderr, flush=True)


def open_store(source: Source, paths: list[Path], again: bool = False, say: Say | None = None) -> Store:
    """The store of a tabular source, converted now if it has not been."""
    columns = column_names(source)
    if not again:
        found = find_store(source.name, paths, columns)
        if found:
            return found
    say = say or partial(to_stderr, source.name)
    say(f"converting {paths[0]} once")
    return make_store(source.name, paths, columns, lambda folder: _fill(source, paths, folder, say), again)


def _fill(source: Source, paths: list[Path], folder: Path, say: Say) -> tuple[str, int]:
    if source.convert is None:
        raise HarnessError(f"{source.name} is a surrogate and needs no conversion: query it")
    table = source.convert(paths, folder, say)
    extra = dict(table.extra)
    if "fingerprint" in extra:
        prints = extra.pop("fingerprint")
        order = np.argsort(prints)
        if (np.diff(prints[order]) == 0).any():
            raise HarnessError(f"{paths[0]} lists one cell under two hashes: fetch it again")
        extra |= {"fingerprint_sorted": prints[order], "fingerprint_row": order.astype(np.int32)}
    for name, array in {"names": table.names, "values": table.values, **extra}.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    return table.version, int(np.isfinite(table.values).any(axis=0).sum())


def column_names(source: Source) -> tuple[str, ...]:
    """What a store of this source must have as columns: one made for others is made again."""
    return tuple(str(column.key) for column in source.columns)


def column(source: Source, key: Key) -> int:
    return next(i for i, one in enumerate(source.columns) if one.key == key)


def held(source: Source, key: Key) -> str:
    """What the source holds for the data set asked for (or at all), short enough for one sentence."""
    mine = [c.key for c in source.columns if c.key.dataset == key.dataset and c.key.what == key.what]
    if not mine:
        datasets = ", ".join(dict.fromkeys(c.key.dataset for c in source.columns))
        return f"{key.what} of {datasets} only" if key.what == "accuracy" else "no training seconds of it"
    groups: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for split, epochs in dict.fromkeys((k.split, k.epochs) for k in mine):
        trials = tuple(str(k.trials) for k in mine if (k.split, k.epochs) == (split, epochs))
        groups.setdefault((split, trials), []).append(epochs)
    return "; ".join(
        f"{split} at {_span(epochs)} epochs ({'/'.join(trials)})"
        for (split, trials), epochs in groups.items()
    )


def _span(epochs: list[int]) -> str:
    return f"{epochs[0]}..{epochs[-1]}" if len(epochs) > 8 else ",".join(map(str, epochs))


@cache
def stamp(name: str) -> str:
    """What the files behind a source (or all, for "best") are now: their hashes, and sizes in folders."""
    found = {source.name: find(source) for source in SOURCES if name in ("best", source.name)}
    parts = [f"{source}:{_content(path)}" for source, there in found.items() if there for path in there[1]]
    return " ".join(parts)


def _content(path: Path) -> str:
    if path.is_file():
        return f"{path.name}={sha256_of(path)[:16]}"
    files = sorted(p for p in path.rglob("*") if p.is_file())
    listed = "\n".join(f"{p.relative_to(path)} {p.stat().st_size}" for p in files)
    return f"{path.name}={hashlib.sha256(listed.encode()).hexdigest()[:16]}"
