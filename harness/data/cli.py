"""What the command line asks of the image sets: list them, fetch some, verify some."""

import shutil
import sys
import time
from collections.abc import Callable, Sequence

from harness.base.errors import HarnessError
from harness.data import manage
from harness.data.download import Progress
from harness.data.sources import all_sources, megabytes, source

HEAD = ("set", "state", "whole set", "published", "size", "where, or how to get it")
PUBLISHED = {"by size": "yes, by size", "no": "no", "unknown": "not known"}
RIGHT = ("right", "right content")
CLEAR = "\r\033[K"


def main(action: str, names: Sequence[str], ways: str) -> int:
    """One action on the named sets (`list` and `verify` without names: on all, on all that are here)."""
    for name in names:
        source(name)  # a wrong name stops everything before anything is done
    match action:
        case "list":
            return _list(names)
        case "fetch":
            chosen = manage.WAYS if ways == "any" else (ways,)
            return _each(names, lambda name: _fetch(name, chosen)) if names else _name_some()
        case "verify":
            here = [row.name for row in manage.list_sets() if row.state != "missing"]
            return _each(names or here, _verify)
    raise HarnessError(f"{action!r} is nothing that image sets can do: use list, fetch or verify")


def _each(names: Sequence[str], do: Callable[[str], bool]) -> int:
    """One set after the other: what is wrong with one does not keep the next from its turn."""
    failed = False
    for name in dict.fromkeys(names):
        try:
            failed |= not do(name)
        except HarnessError as error:
            print(f"harness: {error}", file=sys.stderr)
            failed = True
    return int(failed)


def _list(names: Sequence[str]) -> int:
    table = [HEAD]
    for row in manage.list_sets():
        if names and row.name not in names:
            continue
        facts = (PUBLISHED[row.published], megabytes(row.size)) if row.where else ("", "")
        first, *more = [text for text in (row.where, row.get) if text]
        table.append((row.name, row.state, row.images, *facts, first))
        table += [("", "", "", "", "", text) for text in more]
    widths = [max(len(line[column]) for line in table) for column in range(len(HEAD) - 1)]
    for line in table:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]))
    print("whole set: images in train + test; by size: `python -m harness data verify` hashes the files")
    return 0


def _name_some() -> int:
    print("nothing was fetched: name one or more of these sets")
    for which in all_sources().values():
        print(f"  {which.name:15} {which.title}")
    return 1


def _fetch(name: str, ways: Sequence[str]) -> bool:
    progress = _progress(name) if sys.stderr.isatty() else None
    try:
        if progress:
            progress("", 0, None)  # a registry's own tool tells nothing until it is done
        fetched = manage.fetch(name, ways, progress=progress)
    finally:
        if progress:
            print(CLEAR, end="", file=sys.stderr, flush=True)
    print(f"{name}: {fetched.folder} ({fetched.way})")
    if fetched.hidden_by:
        print(f"{name}: but {fetched.hidden_by} is found first: move it, or take its parent out of NAS_DATA")
    return True


def _progress(name: str) -> Progress:
    """One line of the terminal, written anew ten times a second."""
    shown = float("-inf")

    def show(url: str, done: int, total: int | None) -> None:
        nonlocal shown
        if time.monotonic() - shown < 0.1 and done != total:
            return
        shown = time.monotonic()
        of = f" of {megabytes(total)} ({100 * done // total} %)" if total else ""
        text = f"{name}: {url.rpartition('/')[2]} {megabytes(done)}{of}" if url else f"{name}: fetching"
        print(CLEAR + text[: shutil.get_terminal_size().columns - 1], end="", file=sys.stderr, flush=True)

    return show


def _verify(name: str) -> bool:
    found = manage.verify(name)
    for check in found.checks:
        expected = f", expected {check.expected}" if check.verdict in ("other", "missing") else ""
        print(f"{name}  {check.file}  {check.verdict}  {check.found or 'no file'}{expected}")
    what = "the published set" if found.published else "NOT the published set"
    counts = " + ".join(f"{card.identity.images:,}" for card in found.cards)
    print(f"{name}  {what}: {counts} images in {found.where}")
    return found.published and all(check.verdict in RIGHT for check in found.checks)
