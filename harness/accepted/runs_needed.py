"""How many runs would make an unclear verdict a clear one, if mean and spread stayed as they are."""

import math
from collections.abc import Callable
from typing import Any

from harness.numbers.cells import column_spans, context_of
from harness.numbers.claim_record import Claim, Part
from harness.numbers.judge import MIN_RUNS, judge, parse
from harness.numbers.stats import Estimate, quantile
from harness.spec.artefacts import Artefact

MOST = 1000  # more runs than this nobody will do


def for_claim(claim: Claim, each: str = "") -> str:
    """`about 12 runs instead of 6 (10 min each)`; empty where it is not unclear or nothing in it varies.

    One part that fails refutes the claim: where one leans that way, the first to fail decides, else the last
    to hold.
    """
    parts = [part for part in claim.parts if part.runs and part.above]
    if claim.verdict != "unclear" or not parts:
        return ""
    if any(math.isinf(part.half) for part in parts):
        return _told("at least", MIN_RUNS, min(part.runs for part in parts), each)
    against = [part for part in parts if part.above < 0]
    part = min(against, key=_needed) if against else max(parts, key=_needed)
    if part.runs == 1:  # its interval is that of the sample of architectures
        return f"about {_needed(part):,} architectures instead of {part.architectures:,}"
    told = _told("at least" if part.architectures else "about", _needed(part), part.runs, each)
    # What the sample of architectures adds to the interval stays as it is when runs are added.
    sample = part.architectures and _needed(part) <= MOST
    return f"{told}; {part.architectures} architectures are a sample too" if sample else told


def _needed(part: Part) -> int:
    """Runs, or of a single one architectures, at which it holds or is refuted: n · (half / |value − asked|)².

    As long as runs are few, Student's t makes the interval of more of them narrower than that.
    """
    together, wanted = part.parts if part.above < 0 else 1, abs(part.above) / part.half
    if part.runs == 1:
        return math.ceil(part.architectures * (_width(math.inf, together) / _width(math.inf) / wanted) ** 2)
    return _first(part.runs, lambda m: _width(m, together) / _width(part.runs) < wanted)


def _width(n: float, together: int = 1) -> float:
    """Of an interval of n runs, beside others; of a sample of architectures but for its size."""
    return quantile(n - 1, together) / (math.sqrt(n) if math.isfinite(n) else 1)


def _told(about: str, runs: int, n: int, each: str) -> str:
    how_many = f"more than {MOST:,}" if runs > MOST else f"{about} {runs}"
    return f"{how_many} runs instead of {n}{each}"


def for_number(artefact: Artefact, cell: dict[str, Any], each: str = "") -> str:
    """The same for a number beside the paper's, whose own noise more runs of ours leave as it is."""
    n = cell["n"]
    if n < 2:
        return _told("at least", MIN_RUNS, n, each)
    place = (cell["row"], cell["column"])
    line = next((c for c in artefact.cells if (c.row, c.column) == place), None)
    # A cell that was accepted and since then renamed in the YAML is told by `check`.
    if line is None or cell["spread_kind"] != "sample_sd" or cell["architectures"]:
        return ""
    context, reported = context_of(artefact, line, column_spans(artefact)), parse(cell["reported"])

    def enough(m: int) -> bool:
        se = cell["spread"] / math.sqrt(m)
        ours = Estimate(cell["value"], m, cell["spread"], "sample_sd", se, m - 1)
        return judge(ours, reported, context).word != "unclear"

    needed = _first(n, enough)
    if needed <= MOST:
        return _told("about", needed, n, each)
    return f"no number of runs: the noise of the printed number is too large (it has {context.n} behind it)"


def _first(n: int, enough: Callable[[int], bool]) -> int:
    """The smallest number above n that is enough, MOST + 1 where none is; more never hurts."""
    low, high = n, MOST + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
