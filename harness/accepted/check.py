"""The accepted outcomes against their digests, their kept records and today's runs: red when one differs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.accepted import history, reproduced
from harness.accepted.accept import left_by
from harness.accepted.artefact_check import ELSEWHERE, HERE, KEPT, SEALED, TIMES, Checked, of_artefact
from harness.accepted.differences import Change
from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import SCALES, Layout, artefact_file
from harness.published import manifest, publish
from harness.runs import archives
from harness.spec import artefacts, experiments

_LEFT = "was left by no acceptance"
_LOOKS = {"is missing": "git checkout", _LEFT: "git log --stat"}
_PLACES = 3  # of an artefact that a line names
_NAMES = 6  # of experiments that a line names


def compare(layout: Layout, root: Path = ROOT) -> list[Change]:
    """All changes of a scale, artefact by artefact."""
    return check(layout, root).changes


def check(layout: Layout, root: Path = ROOT, here: bool = True) -> Checked:
    """Every artefact, and every file below published/<scale>; `here`: what was made here as well."""
    if here and not any(layout.results.glob("*/*/*.cells.csv")):
        raise HarnessError(
            f"nothing was made at scale {layout.scale} yet, so that there is nothing to compare:"
            f" `snakemake all --config scale={layout.scale}` makes everything; `python -m harness check"
            f" --published --scale {layout.scale}` looks at what was accepted alone"
        )
    if not any(layout.published.glob("*/*/*.cells.csv")) and not manifest.path(layout).is_file():
        raise HarnessError(
            f"nothing was ever accepted at scale {layout.scale}, so that there is nothing to compare with:"
            f" `python -m harness accept --scale {layout.scale} --reason …` accepts what was made"
        )
    found = Checked()
    of_files = _of_files(layout, root)
    with TemporaryDirectory() as folder:
        apart = Layout(layout.scale, layout.root, Path(folder))
        unreadable = list(_lay_out_kept(apart))
        for artefact in artefacts.artefacts(root):
            told = of_artefact(artefact, layout, apart, root, here, found)
            found.changes += sorted(told, key=str) + of_files.pop(artefact.name, [])
    for change in unreadable:
        of_files.setdefault(change.artefact, []).append(change)
    for name in _former(layout, root).values():
        what = "was accepted and is no artefact of the project any more"
        look = f"python -m harness withdraw {name} --scale {layout.scale} --reason …"
        of_files.setdefault(name, []).append(Change(name, "", what, look))
    found.changes += [change for several in of_files.values() for change in several]
    found.changes += _other_pictures(found)
    found.changes = found.changes or _pages(layout, root)
    return found


def _other_pictures(found: Checked) -> Iterator[Change]:
    """Pictures that equal cells do not give, where what drew them gives others as they were accepted."""
    drawn_here = {picture.drawn for picture in found.pictures if picture.same}
    for picture in found.pictures:
        if picture.same is False and picture.drawn in drawn_here:
            what = f"{picture.file} is not what is drawn here of the same cells"
            yield Change(picture.artefact, "", what, f"git log --stat -- {picture.file}")


def _pages(layout: Layout, root: Path) -> list[Change]:
    """What is written of the outcomes in words, of whatever scale: looked at where these stand."""
    found = []
    for other in (Layout(scale, root) for scale in SCALES if scale != layout.scale):
        below = f"published/{other.scale}/"
        edited = {file: what for file, what in manifest.differences(other).items() if file.startswith(below)}
        if edited:
            first = min(edited)
            what = f"{first} {edited[first]}, on which REPRODUCED.md rests"
            look = f"python -m harness check --published --scale {other.scale}"
            found.append(Change(f"published/{other.scale}", "", what, look))
    what = "does not say what was accepted"
    pages = reproduced.outdated(root)
    return found + [Change(path.name, "", what, "python -m harness reproduced") for path in pages]


def _of_files(layout: Layout, root: Path) -> dict[str, list[Change]]:
    """What is not as it was sealed, by artefact, or by the file's own name where it is of none."""
    found: dict[str, list[Change]] = {}
    if publish.is_unfinished(layout):
        again = f"python -m harness accept --scale {layout.scale} --reason …"
        what = "holds an acceptance that was cut short; the next one finishes it"
        found["published"] = [Change(f"published/{layout.scale}", "", what, again)]
    stood_on = [
        file
        for artefact in artefacts.artefacts(root)
        if artefact_file(layout.published, artefact.name, ".cells.csv").is_file()
        for file in manifest.stands_on(artefact)
    ]
    differ = dict.fromkeys(_left_by_none(layout, root), _LEFT) | manifest.differences(layout, stood_on)
    for file, what in sorted(differ.items()):
        name = manifest.artefact_of(file)
        if not file.startswith(f"published/{layout.scale}/"):
            what = f"{what} since it was accepted at scale {layout.scale}"
        look = f"{_LOOKS.get(what, 'git diff HEAD')} -- {file}"
        change = Change(name, "", f"{file} {what}", look) if name else Change(file, "", what, look)
        found.setdefault(change.artefact, []).append(change)
    return found


def _left_by_none(layout: Layout, root: Path) -> list[str]:
    """Files that stand beside the accepted ones, sealed as these are or not."""
    left = {layout.published / "withdrawn.csv", history.path_of(layout)}
    papers = [experiments.paper(name, root) for name in experiments.paper_names(root)]
    left |= {archives.archive(p.name, name, layout) for p in papers for name in p.experiments}
    left |= {file for artefact in artefacts.artefacts(root) for file in left_by(artefact, layout)}
    for cells in _former(layout, root):
        left |= {*cells.parent.glob(cells.name.replace(".cells.csv", ".*"))}
    others = [file for file in manifest.accepted_files(layout) if file not in left]
    return [file.relative_to(layout.root).as_posix() for file in others]


def _former(layout: Layout, root: Path) -> dict[Path, str]:
    """The accepted cells of what is no artefact of the project any more, and its name."""
    every = {
        path: f"{path.parent.name}/{path.name.removesuffix('.cells.csv')}"
        for path in sorted(layout.published.glob("*/*/*.cells.csv"))
    }
    names = artefacts.names(root)
    return {path: name for path, name in every.items() if name not in names}


def _lay_out_kept(apart: Layout) -> Iterator[Change]:
    """All kept records of the scale, where nobody else looks; a change for each archive that is none."""
    for archive in archives.every_archive(apart):
        file = archive.relative_to(apart.root).as_posix()
        try:
            told = archives.lay_out_apart(archive, apart)
        except HarnessError as error:
            told = [str(error).removeprefix(f"{archive} ").partition(": bring it back")[0]]
        yield from (Change(file, "", what, f"git checkout -- {file}") for what in told)


def lines(changes: Sequence[Change], scale: str) -> Iterator[str]:
    """A line per artefact; what befell more than three whole artefacts alike is one line."""
    alike: dict[str, list[Change]] = {}
    mine: dict[str, list[Change]] = {}
    for change in changes:
        mine.setdefault(change.artefact, []).append(change)
    for several in mine.values():
        if len(several) == 1 and not several[0].place:
            alike.setdefault(several[0].what, []).append(several[0])
    for name, several in mine.items():
        together = alike.get(several[0].what, []) if len(several) == 1 else []
        if len(together) > 3:
            if several[0] is together[0]:
                names = ", ".join(each.artefact for each in together)
                yield f"{names}: each {several[0].what}. Look closer: {_of_all([e.look for e in together])}"
        elif len(several) == 1:
            yield str(several[0])
        else:
            told = [f"{change.place}: {change.what}" if change.place else change.what for change in several]
            more = len(told) - _PLACES
            first = "; ".join(told[:_PLACES]) + (f"; and {more} more" if more > 0 else "")
            yield f"{name}: {first}. Look closer: python -m harness check {name} --scale {scale}"


def _of_all(looks: Sequence[str]) -> str:
    """One command for all: they differ in what they name, of which each but `find` takes several."""
    if (first := looks[0]).startswith("python -m harness find"):
        return first
    words = [look.split() for look in looks]
    if len({len(look) for look in words}) > 1:
        return "; ".join(dict.fromkeys(looks))
    return " ".join(" ".join(dict.fromkeys(place)) for place in zip(*words, strict=True))


def summary(
    found: Checked, scale: str, replayed: int, not_replayed: Sequence[str] | None = None
) -> Iterator[str]:
    """What green means: what was looked at, what loosely, and what not at all."""
    yield f"check: every accepted number and verdict of scale {scale} still stands"
    yield "of them " + ", ".join(f"{found.looked[how]:,} {how}" for how in (KEPT, SEALED, HERE))
    if found.pictures:
        same = len([picture for picture in found.pictures if picture.same])
        rest = len(found.pictures) - same
        yield f"of the pictures {same} are as equal cells are drawn here, {rest} rest on their digests alone"
    if loosely := [f"{n:,} {what}" for what in (TIMES, ELSEWHERE) if (n := found.loosely[what])]:
        yield f"compared loosely: {', '.join(loosely)}"
    if replayed:
        yield f"run again, with the same numbers to the last digit: {replayed} runs"
    if not_replayed:
        first, more = ", ".join(not_replayed[:_NAMES]), len(not_replayed) - _NAMES
        told = first + (f" and {more} more" if more > 0 else "")
        yield f"not run again, as no short run was made on this processor: {told}"
    elif not_replayed is None:
        again = f"`snakemake check --config scale={scale}` runs some of them again"
        yield f"not looked at: whether runs come out the same with today's code and data ({again})"
