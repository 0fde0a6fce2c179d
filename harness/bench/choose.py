"""Which source answers a query, and what to say when none does."""

from pathlib import Path

from harness import spaces
from harness.base.errors import HarnessError
from harness.bench import catalogue
from harness.bench.identity import Key, Source
from harness.bench.store import Store


def choose(space: str, key: Key, wanted: str) -> tuple[Source, list[str], list[Path], Store | None]:
    """The source that answers, its files, and its store (None for a surrogate).

    "best" is the first in the order of `sources()` that holds this quantity and is here whole. What is here
    in part (three records of 15,625) never answers unasked: the source must not depend on the architectures.
    """
    mine = [source for source in catalogue.sources() if space in source.spaces]
    if not mine:
        known = spaces.get(space).name
        raise HarnessError(f"no source holds truths for {known}: train its networks instead")
    if wanted != "best":
        source = catalogue.named(wanted)
        if source not in mine:
            raise HarnessError(f"{wanted} holds no truths for {space}: use {', '.join(s.name for s in mine)}")
        mine = [source]
    partly = []
    for source in mine:
        if source.policy(key) is None:
            continue
        found = catalogue.find(source)
        if found is None:
            continue
        names, paths = found
        store = catalogue.open_store(source, paths) if source.predict is None else None
        if wanted == "best" and store is not None and store.meta.cells != source.cells:
            partly.append(
                f"{source.name} has only {store.meta.cells} of {source.cells} cells here: name it to ask it"
            )
            continue
        return source, names, paths, store
    raise HarnessError(_nothing(space, key, mine, partly, wanted))


def _nothing(space: str, key: Key, mine: list[Source], partly: list[str], wanted: str) -> str:
    if partly:
        return f"no whole source of {space} {key} is here: {'; '.join(partly)}"
    able = [source for source in mine if source.policy(key) is not None]
    if wanted == "best" and able:
        ways = "; or ".join(f"{source.name}: {catalogue.missing(source)}" for source in able)
        return f"no source of {space} {key} is here: {ways}"
    if wanted == "best":
        inside = "; ".join(f"{source.name}: {catalogue.held(source, key)}" for source in mine)
        return f"no source holds {space} {key}: {inside}"
    if able:
        return f"{wanted} is not here: {catalogue.missing(able[0])}"
    inside = catalogue.held(mine[0], key)
    return f"{wanted} does not hold {space} {key}, it holds {inside}: {elsewhere(space, key, mine[0])}"


def elsewhere(space: str, key: Key, asked: Source) -> str:
    """Which other source would have it."""
    others = [
        source
        for source in catalogue.sources()
        if space in source.spaces and source != asked and source.policy(key) is not None
    ]
    if not others:
        return "no other source would have it"
    first = others[0]
    return f"{first.name} would have it" + ("" if catalogue.find(first) else f", {catalogue.missing(first)}")
