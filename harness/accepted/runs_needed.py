"""How many runs would make an unclear verdict a clear one, if mean and spread stayed as they are."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from harness.numbers.cells import column_spans, context_of
from harness.numbers.judge import MIN_RUNS, judge, parse
from harness.numbers.stats import Estimate, quantile
from harness.spec.artefacts import Artefact
from harness.spec.expand import each, over, points

MOST = 1000  # more runs than this nobody will do
BY_CHANCE = "by chance"
NOISY = ("sample_sd", "bootstrap", "none")  # another run, or another sample, gives another number

_FLOAT = r"[-+]?[\d.]+(?:e[-+]?\d+)?"
_SHARED = r"(?: on the \d+ seeds of both)?"
# The forms that harness/numbers/judge.py gives to the reason of an unclear claim.
_ORDER = re.compile(
    rf"({_FLOAT}) ± ({_FLOAT}){_SHARED}(?:, asked for ({_FLOAT}) at least)?:"
    " the interval is wider than the effect"
)
_EQUAL = re.compile(rf"difference ({_FLOAT}) ± ({_FLOAT}){_SHARED} against ±({_FLOAT})")
_SCATTER = re.compile(r"(\d+)% of the scatter over runs, where equals have (\d+)% to (\d+)%")

Cells = list[dict[str, Any]]


def for_claim(artefact: Artefact, cells: Cells, claim: dict[str, str]) -> str:
    """`about 12 runs instead of 6`; empty where the claim's cells do not tell."""
    told = [cell for cell in _cells_of(artefact, cells, claim["id"]) if cell["spread_kind"] in NOISY]
    if not told or BY_CHANCE in claim["reason"]:  # how far off that part must be is not told
        return ""
    n, sample = min(cell["n"] for cell in told), max(map(_sample, told))
    if any(cell["spread_kind"] == "none" for cell in told):
        return f"at least {MIN_RUNS} runs instead of {n}"
    parts = [(half, wanted) for half, wanted in _parts(claim["reason"]) if wanted]
    if not parts:
        return ""
    if n == 1:  # its interval is that of the sample of architectures
        units = math.ceil(sample * max(half / wanted for half, wanted in parts) ** 2)
        return f"about {units:,} architectures instead of {sample:,}"
    runs = max(_runs(n, half, wanted) for half, wanted in parts)
    if runs > MOST:
        return f"more than {MOST:,} runs instead of {n}"
    # What the sample of architectures adds to the interval stays as it is when runs are added.
    return (
        f"at least {runs} runs instead of {n}; {sample} architectures are a sample too"
        if sample
        else _about(runs, n)
    )


def _sample(cell: dict[str, Any]) -> int:
    """Architectures that others might stand for; none where the whole space was scored.

    The interval is then that of the runs alone; with a share of the sample in it, it is wider or narrower
    (its degrees of freedom are more).
    """
    n = cell["n"]
    of_runs = 0.0 if n < 2 else cell["spread"] * _width(n)
    whole = math.isclose((cell["hi"] - cell["lo"]) / 2, of_runs, rel_tol=1e-6, abs_tol=1e-12)
    return 0 if whole else cell["architectures"]


def _about(runs: int, n: int) -> str:
    return f"about {runs} runs instead of {n}"


def _cells_of(artefact: Artefact, cells: Cells, claim: str) -> Iterator[dict[str, Any]]:
    by_place = {(cell["row"], cell["column"]): cell for cell in cells}
    tests = [t for c in artefact.data.get("claims", []) if c["id"] == claim for t in c["tests"]]
    for several in map(each, tests):
        sides = [side for one in several for side in (one.get("left"), one.get("right"))]
        for row, column in [point for side in [*sides, *over(several)] for point in points(side)]:
            if (str(row), str(column)) in by_place:
                yield by_place[str(row), str(column)]


def _parts(reason: str) -> Iterator[tuple[float, float]]:
    """Half of each interval that is too wide, and how wide it might be."""
    for gap, half, margin in _ORDER.findall(reason):
        yield float(half), abs(float(gap) - float(margin or 0))
    for gap, half, margin in _EQUAL.findall(reason):
        yield float(half), abs(abs(float(gap)) - float(margin))
    for share, low, high in _SCATTER.findall(reason):
        yield (float(high) - float(low)) / 2, abs(float(share) - 50)


def for_number(artefact: Artefact, cell: dict[str, Any]) -> str:
    """The same for a number beside the paper's, whose own noise more runs of ours leave as it is."""
    n = cell["n"]
    if n < 2:
        return f"at least {MIN_RUNS} runs instead of {n}"
    if cell["spread_kind"] != "sample_sd" or cell["architectures"]:
        return ""
    place = (cell["row"], cell["column"])
    line = next((c for c in artefact.cells if (c.row, c.column) == place), None)
    if line is None:  # accepted, and since then renamed in the YAML: `check` tells of it
        return ""
    context, reported = context_of(artefact, line, column_spans(artefact)), parse(cell["reported"])

    def enough(m: int) -> bool:
        se = cell["spread"] / math.sqrt(m)
        ours = Estimate(cell["value"], m, cell["spread"], "sample_sd", se, m - 1)
        return judge(ours, reported, context).word != "unclear"

    needed = _first(n, enough)
    if needed > MOST:
        return (
            f"no number of runs: the noise of the printed number is too large (it has {context.n} behind it)"
        )
    return _about(needed, n)


def _runs(n: int, half: float, wanted: float) -> int:
    """From how many runs on half of the interval is below what is wanted."""

    def enough(m: int) -> bool:
        return half * _width(m) / _width(n) < wanted

    return _first(n, enough)


def _width(n: int) -> float:
    return quantile(n - 1) / math.sqrt(n)


def _first(n: int, enough: Callable[[int], bool]) -> int:
    """The smallest number above n that is enough, MOST + 1 where none is; more never hurts."""
    low, high = n, MOST + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
