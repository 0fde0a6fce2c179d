"""published/<scale>/SHA256SUMS: digests of what was accepted, and of the specs and notes of that day.

`sha256sum --check published/smoke/SHA256SUMS` reads it too.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from posixpath import normpath

from harness.base.errors import HarnessError
from harness.base.files import sha256_of
from harness.base.layout import KINDS, Layout
from harness.code import ledger
from harness.spec.artefacts import Artefact

NAME = "SHA256SUMS"


def path(layout: Layout) -> Path:
    return layout.published / NAME


def stands_on(artefact: Artefact) -> list[Path]:
    """The files outside published/<scale> that say what was asked, what differs and which records count."""
    root = artefact.path.parents[2]
    paper = root / "reproduce" / artefact.paper
    return [artefact.path, paper / "experiments.yaml", paper / "NOTES.md", ledger.path_of(root)]


def artefact_of(file: str) -> str:
    """`paper/name` of the artefact whose spec or accepted file this is; '' of any other file."""
    *_, kind, paper, name = ("", "", *Path(file).parts)
    return f"{paper}/{name.partition('.')[0]}" if kind in KINDS.values() else ""


def read(layout: Layout) -> dict[str, str]:
    """Digest by path, seen from the root of the project."""
    lines: dict[str, str] = {}
    whole = path(layout).read_bytes().decode(errors="replace") if path(layout).is_file() else ""
    for number, line in enumerate(whole.removesuffix("\n").split("\n") if whole else (), 1):
        found = re.fullmatch(r"([0-9a-f]{64})  (\S(?:.*\S)?)", line)
        if not found or found[2] in lines or not _is_plain(found[2]):
            name = path(layout).relative_to(layout.root)
            raise HarnessError(
                f"{name}, line {number} is no digest of a file, or its second one:"
                f" bring it back with `git checkout -- {name}`"
            )
        lines[found[2]] = found[1]
    return lines


def _is_plain(name: str) -> bool:
    """A path in the project, written in the one way in which acceptances write it."""
    return normpath(name) == name and not name.startswith(("/", "../"))


def text(lines: dict[str, str]) -> str:
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(lines.items()))


def accepted_files(layout: Layout) -> list[Path]:
    """All that stands below published/<scale>, but the manifest itself and what is being written."""
    every = layout.published.rglob("*")
    return sorted(p for p in every if not p.is_dir() and p != path(layout) and not _is_hidden(p, layout))


def _is_hidden(file: Path, layout: Layout) -> bool:
    return any(part.startswith(".") for part in file.relative_to(layout.published).parts)


def differences(layout: Layout, stood_on: Iterable[Path] = ()) -> dict[str, str]:
    """What is not as it was sealed, by path: missing, added, edited, or a link.

    `stood_on`: what accepted outcomes stand on outside of published/<scale>.
    """
    sealed, found, root = read(layout), {}, layout.root.resolve()
    if path(layout).is_symlink():
        found[path(layout).relative_to(layout.root).as_posix()] = "is a link to another file"
    for name, digest in sealed.items():
        file = layout.root / name
        if not file.is_file():
            found[name] = "is missing"
        elif file.resolve() != root / name:
            found[name] = "is a link to another file, or below one"
        elif sha256_of(file) != digest:
            found[name] = "was edited"
    files = [*accepted_files(layout), *(file for file in stood_on if file.is_file())]
    there = {file.relative_to(layout.root).as_posix() for file in files}
    return found | dict.fromkeys(there - sealed.keys(), "was added")


def with_digests(
    lines: dict[str, str], layout: Layout, contents: dict[Path, str | None], specs: Iterable[Path]
) -> dict[str, str]:
    """The manifest's lines after files got these digests (None: went) and these specs were accepted."""
    digests = contents | {file: sha256_of(file) for file in specs if file.is_file()}
    named = {file.relative_to(layout.root).as_posix(): digest for file, digest in digests.items()}
    return {name: digest for name, digest in (lines | named).items() if digest}
