"""What differs between two makings of an artefact: cells and claims, place by place."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from harness.numbers.claim_record import BETWEEN, OF_CLAIM, OF_PARTS

# Another machine's last digits are no change; another number, spread, interval, count or verdict is.
RELATIVE = 1e-6
_NOTHING = 1e-12  # what differences of equal numbers come to
_LONG = 24  # characters; a text without a space that is longer is a drawing's data


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


def of_cells(
    before: Iterable[dict[str, Any]],
    after: Iterable[dict[str, Any]],
    free: frozenset[tuple[str, str]] = frozenset(),
    clocks: frozenset[tuple[str, str]] = frozenset(),
    *,
    exact: bool,
) -> dict[str, str]:
    """By place: what changed. A `free` value may move, a measured time (`clocks`) must be a number still.

    Of the same records (`exact`) no number may move, nor the reason of a verdict.
    """
    old, new = ({(c["row"], c["column"]): c for c in cells} for cells in (before, after))
    found = {}
    for place in [*old, *(place for place in new if place not in old)]:
        if place not in new:
            whats = ["is gone"]
        elif place not in old:
            whats = ["is new and was never accepted"]
        else:
            whats = _cell(old[place], new[place], place in free, place in clocks, exact)
        if whats:
            found[" / ".join(place)] = "; ".join(whats)
    return found


def of_claims(
    before: Iterable[dict[str, str]], after: Iterable[dict[str, str]], *, exact: bool
) -> dict[str, str]:
    """By claim: another verdict, or other words; of the same records (`exact`) other numbers, too."""
    old, new = ({claim["id"]: claim for claim in claims} for claims in (before, after))
    words = ("text", "where", "scale", "reason") if exact else ("text", "where", "scale")
    found = {}
    for claim in [*old, *(claim for claim in new if claim not in old)]:
        was, is_ = (claims[claim]["verdict"] if claim in claims else "absent" for claims in (old, new))
        if was != is_:
            why = f" ({new[claim]['reason']})" if claim in new else ""
            found[claim] = f"verdict was {was!r} and is {is_!r}{why}"
        elif changed := [k for k in words if old[claim].get(k, "") != new[claim].get(k, "")]:
            said, says = (claims[claim].get(changed[0], "") for claims in (old, new))
            found[claim] = f"said {said!r} and says {says!r}"
        elif exact and "setting" in old[claim] and (what := next(_parts(old[claim], new[claim]), "")):
            found[claim] = what  # accepted since a sentence is one claim
    return found


def _parts(before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    """Which field of its parts differs, a number by more than its last digits."""
    for key, kind in {**OF_CLAIM, **OF_PARTS}.items():
        old, new = (line[key].split(BETWEEN) for line in (before, after))
        close = kind is float and before[key] and after[key] and len(old) == len(new)
        same = (
            all(_equal(*map(float, pair), _NOTHING) for pair in zip(old, new, strict=True))
            if close
            else old == new
        )
        if not same:
            yield f"its {key} was {before[key]!r} and is {after[key]!r}"


def _cell(before: dict[str, Any], after: dict[str, Any], free: bool, clock: bool, exact: bool) -> list[str]:
    """Where the value is free, only what is exact or has an interval is held to it."""
    found = []
    free = (free or clock) and before["n"] > 0 and before["spread_kind"] != "exact"
    if before["reported"] != after["reported"]:
        found.append(f"the paper's number was {before['reported']!r} and is {after['reported']!r}")
    if before["verdict"] != after["verdict"]:
        found.append(f"verdict was {before['verdict']!r} and is {after['verdict']!r} ({after['reason']})")
    if before["text"] != after["text"] and not free:
        found.append(_texts(before["text"], after["text"]))
    for key, what in (("n", "runs or repeats"), ("architectures", "architectures")):
        if before[key] != after[key]:
            found.append(f"was made of {before[key]} {what} and is made of {after[key]}")
    if before.get("scale", "") != after.get("scale", ""):
        found.append(f"was of scale {before.get('scale')!r} and is of {after.get('scale')!r}")
    old, new = before["runs"].split(), after["runs"].split()
    for what, runs in (
        ("is no longer made of", [run for run in old if run not in new]),
        ("is newly made of", [run for run in new if run not in old]),
    ):
        if runs:
            found.append(f"{what} {runs[0]}" + (f" and {len(runs) - 1} more" if runs[1:] else ""))
    timed = clock and math.isfinite(before["value"]) and math.isfinite(after["value"])
    drift = "" if timed or (free and before["spread_kind"] == "none") else _drift(before, after, exact)
    if not (drift or free):
        drift = _scatter(before, after)
    for key, what in (("spread_kind", "kind of spread"), ("reason", "reason")):
        if exact and not found and not drift and before[key] != after[key]:
            found.append(f"the {what} was {before[key]!r} and is {after[key]!r}")
    return found + ([drift] if drift else [])


def _texts(old: str, new: str) -> str:
    """A setting in its words; of what a drawing shows only that it changed."""
    if any(len(text) > _LONG and " " not in text for text in (old, new)):
        return "what its drawing shows has changed"
    return f"was {old!r} and is {new!r}"


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


def _drift(before: dict[str, Any], after: dict[str, Any], exact: bool) -> str:
    """A number with an interval may move inside the wider of the two; any other must stay."""
    old, new = before["value"], after["value"]
    if _equal(old, new):
        return ""
    widths = [half for c in (before, after) if not math.isnan(half := (c["hi"] - c["lo"]) / 2)]
    if exact or before["spread_kind"] == "exact":
        widths = []
    if abs(new - old) <= max(widths, default=0.0):  # never where one of them is no number
        return ""
    return f"value was {old:.10g} and is {new:.10g}"
