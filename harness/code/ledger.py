"""published/vouched.csv: of which older code the records count as records of later code.

Only `python -m harness vouch` writes it. Each entry has a seal, so that a slip of a hand is told; intent is
left to those who read the difference, as with any other line of the project.
"""

import csv
import hashlib
import io
import platform
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from harness.base.errors import HarnessError
from harness.base.files import ROOT, write_atomic


@dataclass(frozen=True)
class Entry:
    """Records of `module` with the code id `code` count as those of `counts_as`."""

    module: str
    code: str
    counts_as: str
    old: str  # the commit of `code`
    new: str  # that of `counts_as`
    date: str
    python: str
    torch: str
    compared: str

    @property
    def seal(self) -> str:
        return hashlib.sha256("\n".join(astuple(self)).encode()).hexdigest()[:16]


COLUMNS = [*(field.name for field in fields(Entry)), "seal"]


def path_of(root: Path = ROOT) -> Path:
    return root / "published" / "vouched.csv"


def counts(module: str, code: str, today: str, root: Path = ROOT) -> bool:
    """Whether records of this code count as today's: the same, or vouched for in one or several steps."""
    reached, waiting = set(), [code]
    known = [e for e in entries(root) if e.module == module] if code != today else []
    while waiting:
        one = waiting.pop()
        if one not in reached:
            reached.add(one)
            waiting += [entry.counts_as for entry in known if entry.code == one]
    return today in reached


def entries(root: Path = ROOT) -> list[Entry]:
    """What was vouched for, in order; an error where a line is not as it was written."""
    path = path_of(root)
    if not path.is_file():
        return []
    head, *lines = csv.reader(io.StringIO(path.read_text(encoding="utf-8"))) or [[]]
    back = f"bring it back with `git checkout -- {path.relative_to(root)}`"
    if head != COLUMNS:
        raise HarnessError(f"{path} does not begin with {','.join(COLUMNS)}: {back}")
    found = []
    for number, line in enumerate(lines, 2):
        if len(line) != len(COLUMNS) or (entry := Entry(*line[:-1])).seal != line[-1]:
            raise HarnessError(
                f"{path}, entry {number - 1} was not written by `python -m harness vouch`: {back}"
            )
        found.append(entry)
    return found


def append(new: Iterable[Entry], root: Path = ROOT) -> None:
    """Write these entries behind those that are there."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([*astuple(entry), entry.seal] for entry in [*entries(root), *new])
    write_atomic(path_of(root), text.getvalue())


def versions() -> tuple[str, str]:
    """Of Python and of torch, here."""
    try:
        return platform.python_version(), version("torch")
    except PackageNotFoundError:
        return platform.python_version(), "none"
