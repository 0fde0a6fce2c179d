"""Image sets in memory, each with a card that says exactly which files it came from."""

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.base.errors import HarnessError
from harness.base.files import cache_dir, data_dirs
from harness.data import readers
from harness.data.sources import SPLITS, File, Layout, Source, all_sources, source
from harness.data.splits import split as named_split


@dataclass(frozen=True)
class Identity:
    """Which images these are; `published` only where hashes say that they are the publishers' own."""

    published: bool
    images: int
    sha256: str  # of the decoded images and labels, whatever files they came in
    files: tuple[tuple[str, str], ...]  # name, sha256


@dataclass(frozen=True)
class Card:
    """What a run records of its data."""

    name: str
    split: str
    title: str  # what these files may be called: never the published name unless they are it
    identity: Identity
    shape: tuple[int, int, int]
    classes: int
    licence: str
    citation: str
    where: str


@dataclass(frozen=True)
class Images:
    """Images (uint8, NHWC), labels (int64) and their card."""

    x: np.ndarray
    y: np.ndarray
    card: Card


@dataclass(frozen=True)
class Place:
    """A folder that holds files of a set, in one of its layouts."""

    folder: Path
    layout: Layout

    def path(self, file: File) -> Path:
        """The file, or the same without its .gz where only that is there (idx)."""
        path = self.folder / file.name
        return path if path.exists() or not file.plain_size else path.with_suffix("")

    def size_fits(self, file: File) -> bool:
        """Whether the size is the published one; where that is unknown, whether the file is there."""
        path = self.path(file)
        expected = file.size if path.name == file.name else file.plain_size
        return path.is_file() and (expected is None or path.stat().st_size == expected)


def locate(which: Source) -> Place | None:
    """The first folder of NAS_DATA, then of the cache, with any file of the set (sets are never mixed)."""
    places = [
        Place(root / folder, layout)
        for root in [*data_dirs(), cache_dir()]
        for layout in which.layouts
        for folder in layout.folders
    ]
    for place in [*places, *_installed(which)]:
        if any(place.path(file).is_file() for file in place.layout.all_files()):
            return place
    return None


def place_of(which: Source) -> Place:
    """The same, where a set that is not there is an error."""
    place = locate(which)
    if place is None:
        raise HarnessError(f"{which.name} is neither in NAS_DATA nor in the cache: {which.how_to_get()}")
    return place


def load(name: str, split: str, *, published_only: bool = False) -> Images:
    """A set's split from NAS_DATA or the cache; the card says whether it is the published one."""
    which = source(name)
    if split not in SPLITS:
        raise HarnessError(f"{name} has no split {split!r}: use one of {', '.join(SPLITS)}")
    place = place_of(which)
    x, y, files, right = _read(which, place, split)
    if not len(y):
        raise HarnessError(f"{place.folder} holds no images of {name}: get it again")
    if x.shape[1:] != which.shape or not 0 <= y.min() <= y.max() < which.classes:
        raise HarnessError(
            f"{place.folder} holds images of {x.shape[1:]} with labels {y.min()}..{y.max()}, where {name} "
            f"has {which.shape} and 0..{which.classes - 1}: it is another set, move it"
        )
    content = content_of(x, y)
    genuine = (right and len(y) == which.images[split]) or content == which.content.get(split)
    published = genuine and not which.derived
    if published_only and not published:
        raise HarnessError(
            f"{place.folder} holds {len(y)} images that are not the published {name} "
            f"({which.images[split]} images): {which.how_to_get()}"
        )
    card = Card(
        name=name,
        split=split,
        title=which.title if genuine else f"{len(y)} images in the layout of {which.title}: not that set",
        identity=Identity(published, len(y), content, files),
        shape=which.shape,
        classes=which.classes,
        licence=which.licence,
        citation=which.citation,
        where=str(place.folder),
    )
    return Images(x, y, card)


def _read(which: Source, place: Place, split: str) -> tuple[np.ndarray, np.ndarray, tuple, bool]:
    """Images, labels, (name, sha256) of the files, and whether all of them are the known ones."""
    hashes, parts, wrong, missing = [], [], [], []
    for file in place.layout.files[split]:
        path = place.path(file)
        if not path.is_file():
            missing.append(file.name)
            continue
        data = path.read_bytes()
        hashes.append((path.name, hashlib.sha256(data).hexdigest()))
        if not is_file(file, data, hashes[-1][1]):
            wrong.append(path.name)
        parts.append(_decode(which, place.layout, data, str(path)))  # one by one: ImageNet16 is 1 GB
    # Published batches with one missing are a broken copy; batches of another set may well be fewer.
    if missing and (place.layout.reader == "idx" or len(wrong) < len(parts) or not parts):
        raise HarnessError(f"{place.folder} lacks {', '.join(missing)} of {which.name}: {which.how_to_get()}")
    return *_joined(which, place, parts, split), tuple(hashes), not wrong and not missing


def is_file(file: File, data: bytes, sha256: str | None = None) -> bool:
    """Whether these bytes are the known file: by sha256, by md5 where only that is known."""
    if file.size is not None and len(data) != file.size:
        return False
    if file.sha256:
        return (sha256 or hashlib.sha256(data).hexdigest()) == file.sha256
    return bool(file.md5) and hashlib.md5(data, usedforsecurity=False).hexdigest() == file.md5


def content_of(x: np.ndarray, y: np.ndarray) -> str:
    """sha256 of the shape, the pixels and the labels (int64, little-endian), in their order."""
    digest = hashlib.sha256(f"{x.shape}".encode())
    digest.update(np.ascontiguousarray(x))
    digest.update(np.ascontiguousarray(y.astype("<i8")))
    return digest.hexdigest()


def _decode(which: Source, layout: Layout, data: bytes, name: str) -> readers.Pair | np.ndarray:
    match layout.reader:
        case "idx":
            return readers.idx(data, name)
        case "digits":
            return readers.digits_csv(data, name)
        case "cifar-bin":
            return readers.cifar_bin(data, name, label_bytes=2 if which.classes == 100 else 1)
        case "cifar-py":
            return readers.cifar_py(data, name)
        case "imagenet16":
            return readers.imagenet16(data, name)
        case "svhn-mat":
            return readers.svhn_mat(data, name)
    raise HarnessError(f"the data card of {which.name} names the reader {layout.reader!r}: there is none")


def _joined(which: Source, place: Place, parts: list, split: str) -> readers.Pair:
    if place.layout.reader == "idx":
        return readers.idx_pair(*parts, str(place.folder))
    if place.layout.reader == "digits":
        x, y = parts[0]
        chosen = getattr(named_split("digits", len(y), labels=y), {"train": "train", "test": "val"}[split])
        return x[chosen], y[chosen]
    if len(parts) == 1:
        return parts[0]
    if len({x.shape[1:] for x, _ in parts}) > 1:
        raise HarnessError(f"the batches of {which.name} in {place.folder} have images of different sizes")
    return np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])


def _installed(which: Source) -> list[Place]:
    places = []
    for layout in which.layouts:
        if layout.installed:
            package, _, inside = layout.installed.partition("/")
            found = importlib.util.find_spec(package)  # finds, does not import
            folders = found.submodule_search_locations or [] if found else []
            places += [Place(Path(folder) / inside, layout) for folder in folders]
    return places


def stamp(name: str) -> str:
    """Which files `load` would read now, by name and size; '' where the set is not there or not known."""
    known = all_sources()
    place = locate(known[name]) if name in known else None
    if place is None:
        return ""
    paths = [place.path(file) for file in place.layout.all_files()]
    return " ".join(f"{path.name}={path.stat().st_size}" for path in paths if path.is_file())
