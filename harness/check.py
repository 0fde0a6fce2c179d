"""Today's cells and verdicts against the accepted ones in published/: red when something changed."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import artefacts, cellfile, judged
from harness.errors import HarnessError
from harness.files import ROOT
from harness.fresh import require_fresh
from harness.layout import Layout, artefact_file

# Another machine's last digits are no change; another number, spread, interval, count or verdict is.
RELATIVE = 1e-6


@dataclass(frozen=True)
class Change:
    """One thing that differs from what was accepted, and the command to look closer."""

    artefact: str
    place: str
    what: str
    look: str

    def __str__(self) -> str:
        place = f" {self.place}:" if self.place else ""
        return f"{self.artefact}:{place} {self.what}. Look closer: {self.look}"


def require_made(layout: Layout) -> None:
    """A clone that has made nothing has not changed in fifty places."""
    if not any(layout.results.glob("*/*/*.cells.csv")):
        raise HarnessError(
            f"nothing was made at scale {layout.scale} yet, so that there is nothing to compare:"
            f" `snakemake all --config scale={layout.scale}` makes everything"
        )


def compare(layout: Layout, root: Path = ROOT) -> list[Change]:
    """All changes of a scale, artefact by artefact."""
    changes: list[Change] = []
    for artefact in artefacts.artefacts(root):
        changes += _artefact(artefact, layout, root)
    names = artefacts.names(root)
    for path in sorted(layout.published.glob("*/*/*.cells.csv")):
        name = f"{path.parent.name}/{path.name.removesuffix('.cells.csv')}"
        if name not in names:
            files = path.relative_to(layout.root).as_posix().replace(".cells.csv", ".*")
            changes.append(
                Change(name, "", "was accepted and is no artefact of the project any more", f"git rm {files}")
            )
    return changes


def lines(changes: Sequence[Change]) -> Iterator[str]:
    """A line per change; what befell more than three whole artefacts alike is one line."""
    alike: dict[str, list[Change]] = {}
    for change in changes:
        if not change.place:
            alike.setdefault(change.what, []).append(change)
    for change in changes:
        together = [] if change.place else alike[change.what]
        if len(together) <= 3:
            yield str(change)
        elif change is together[0]:
            names = ", ".join(each.artefact for each in together)
            yield f"{names}: each {change.what}. Look closer: {_of_all([each.look for each in together])}"


def _of_all(looks: Sequence[str]) -> str:
    """One command for all: they differ in what they name, of which each but `find` takes several."""
    if looks[0].startswith("python -m harness find"):
        return looks[0]
    words = zip(*(look.split() for look in looks), strict=True)
    return " ".join(" ".join(dict.fromkeys(place)) for place in words)


def _artefact(artefact: artefacts.Artefact, layout: Layout, root: Path) -> list[Change]:
    name = artefact.name
    rerun = f"snakemake {artefact.target} --config scale={layout.scale}"
    find = f"python -m harness find {name} --scale {layout.scale}"
    accepted, ours = (artefact_file(b, name, ".cells.csv") for b in (layout.published, layout.results))
    if not ours.is_file() and not accepted.is_file() and any(layout.published.glob("*/*/*.cells.csv")):
        return []  # this scale was asked of others and not yet of it
    if not ours.is_file():
        return [Change(name, "", "has no cells at this scale", rerun)]
    if not accepted.is_file():
        return [
            Change(
                name,
                "",
                "was never accepted",
                f"python -m harness accept {name} --scale {layout.scale} --reason …",
            )
        ]
    try:
        records = require_fresh(artefact, layout, root)
    except HarnessError as error:
        return [Change(name, "", str(error).split(": make it again")[0].removeprefix(f"{name} "), rerun)]
    changes = _broken(name, layout)
    if changes:
        return changes
    clocks = {(c.row, c.column) for c in artefact.cells if c.select.get("clock")}
    free = clocks | _free(artefact, layout, records)
    before, after = ({(c["row"], c["column"]): c for c in cellfile.cells(path)} for path in (accepted, ours))
    for place in before.keys() | after.keys():
        where = " / ".join(place)
        if place not in after:
            changes.append(Change(name, where, "is gone", rerun))
        elif place not in before:
            changes.append(Change(name, where, "is new and was never accepted", find))
        else:
            whats = _cell(before[place], after[place], free=place in free, clock=place in clocks)
            changes += [Change(name, where, "; ".join(whats), find)] if whats else []
    changes += _claims(artefact, layout, find)
    return sorted(changes or _otherwise(artefact, layout, find), key=str)


def _otherwise(artefact: artefacts.Artefact, layout: Layout, find: str) -> list[Change]:
    """Equal numbers and verdicts that came about in another way."""
    noted = cellfile.provenance(artefact_file(layout.published, artefact.name, ".provenance.json"))
    for key, now, what in (
        ("cells", judged.of_cells(artefact), "was accepted with other cells or printed numbers"),
        ("rule", judged.RULE, "was accepted by an earlier rule of verdicts"),
    ):
        if noted.get(key) != now:
            return [Change(artefact.name, "", what, find)]
    return []


def _broken(name: str, layout: Layout) -> list[Change]:
    """Files of either side that are cut short, with the command that brings each back."""
    remake = f"python -m harness make {name} --scale {layout.scale}"
    changes = []
    for base, suffix, read in (
        (layout.published, ".cells.csv", cellfile.cells),
        (layout.published, ".claims.csv", cellfile.claims),
        (layout.published, ".provenance.json", cellfile.provenance),
        (layout.results, ".cells.csv", cellfile.cells),
        (layout.results, ".claims.csv", cellfile.claims),
    ):
        path = artefact_file(base, name, suffix)
        file = path.relative_to(layout.root).as_posix()
        try:
            if path.is_file():
                read(path)
        except HarnessError:
            look = remake if base == layout.results else f"git checkout -- {file}"
            changes.append(Change(name, "", f"{file} is cut short or was damaged", look))
    return changes


def _free(
    artefact: artefacts.Artefact, layout: Layout, records: dict[str, dict[str, Any]]
) -> set[tuple[str, str]]:
    """Cells whose value another run may change: all, where another processor trained.

    Training amplifies the last digit, in which processors differ: a single run has no value to be held to.
    """
    accepted = cellfile.provenance(artefact_file(layout.published, artefact.name, ".provenance.json"))["runs"]
    then, now = ({run["machine"]["processor"] for run in runs} for runs in (accepted, records.values()))
    return set() if then <= now and now <= then else {(c.row, c.column) for c in artefact.cells}


def _cell(
    before: dict[str, Any], after: dict[str, Any], free: bool = False, clock: bool = False
) -> list[str]:
    """What changed. Where the value is `free`, only what is exact or has an interval is held to it.

    A measured time (`clock`) must be a number still: its interval is that of one run on one machine's day.
    """
    found = []
    free = free and before["n"] > 0 and before["spread_kind"] != "exact"
    if before["reported"] != after["reported"]:
        found.append(f"the paper's number was {before['reported']!r} and is {after['reported']!r}")
    if before["verdict"] != after["verdict"]:
        found.append(f"verdict was {before['verdict']!r} and is {after['verdict']!r} ({after['reason']})")
    if before["text"] != after["text"] and not free:
        found.append(f"was {before['text'][:60]!r} and is {after['text'][:60]!r}")  # a drawn map is long
    for key, what in (("n", "runs or repeats"), ("architectures", "architectures")):
        if before[key] != after[key]:
            found.append(f"was made of {before[key]} {what} and is made of {after[key]}")
    old, new = before["runs"].split(), after["runs"].split()
    for what, runs in (
        ("is no longer made of", [run for run in old if run not in new]),
        ("is newly made of", [run for run in new if run not in old]),
    ):
        if runs:
            found.append(f"{what} {runs[0]}" + (f" and {len(runs) - 1} more" if runs[1:] else ""))
    timed = clock and math.isfinite(before["value"]) and math.isfinite(after["value"])
    drift = "" if timed or (free and before["spread_kind"] == "none") else _drift(before, after)
    if not (drift or free or clock):
        drift = _scatter(before, after)
    return found + ([drift] if drift else [])


def _scatter(before: dict[str, Any], after: dict[str, Any]) -> str:
    """The same number with another spread or interval is computed otherwise than it was."""
    if not _equal(before["value"], after["value"]):
        return ""  # a number that moved inside its interval, and its spread with it
    for what, key in (("spread", "spread"), ("lower end", "lo"), ("upper end", "hi")):
        if not _equal(before[key], after[key], RELATIVE * abs(before["value"])):
            return f"{what} was {before[key]:.10g} and is {after[key]:.10g}"
    return ""


def _equal(old: float, new: float, least: float = 0.0) -> bool:
    return math.isclose(old, new, rel_tol=RELATIVE, abs_tol=least) or (math.isnan(old) and math.isnan(new))


def _drift(before: dict[str, Any], after: dict[str, Any]) -> str:
    """A number with an interval may move inside the wider of the two; any other must stay."""
    old, new = before["value"], after["value"]
    if _equal(old, new):
        return ""
    if math.isfinite(old) and math.isfinite(new):
        widths = [(c["hi"] - c["lo"]) / 2 for c in (before, after) if not math.isnan(c["hi"] - c["lo"])]
        if before["spread_kind"] == "exact":
            widths = []
        if abs(new - old) <= max(widths, default=0.0):
            return ""
    return f"value was {old:.10g} and is {new:.10g}"


def _claims(artefact: artefacts.Artefact, layout: Layout, find: str) -> list[Change]:
    name, changes = artefact.name, []
    before, after = (
        {c["id"]: c for c in cellfile.claims(artefact_file(base, name, ".claims.csv"))}
        for base in (layout.published, layout.results)
    )
    now = judged.of_claims(artefact, layout.scale)
    then = cellfile.provenance(artefact_file(layout.published, name, ".provenance.json")).get("claims", {})
    for claim in before.keys() | after.keys():
        old = before[claim]["verdict"] if claim in before else "absent"
        new = after[claim]["verdict"] if claim in after else "absent"
        if old != new:
            why = f" ({after[claim]['reason']})" if claim in after else ""
            what = f"verdict was {old!r} and is {new!r}{why}"
        elif changed := [k for k in ("text", "where") if before[claim][k] != after[claim][k]]:
            what = f"said {before[claim][changed[0]]!r} and says {after[claim][changed[0]]!r}"
        elif then.get(claim) != now.get(claim):
            what = "is tested otherwise than when its verdict was accepted"
        else:
            continue
        changes.append(Change(name, f"claim {claim}", what, find))
    return changes
