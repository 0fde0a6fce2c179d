"""How many runs would make an unclear verdict a clear one, if mean and spread stayed as they are."""

import math
from collections.abc import Callable
from typing import Any

from harness.numbers.cells import context_of, printed_by_column
from harness.numbers.judge import judge, parse
from harness.numbers.stats import MIN_RUNS, Estimate
from harness.spec.artefacts import Artefact

OPEN = ("unclear", "not refuted")
MOST = 1000  # more runs than this nobody will do


def _told(about: str, runs: int, n: int, each: str) -> str:
    how_many = f"more than {MOST:,}" if runs > MOST else f"{about} {runs}"
    return f"{how_many} runs instead of {n}{each}"


def for_number(artefact: Artefact, cell: dict[str, Any], each: str = "") -> str:
    """For a number beside the paper's, whose own noise more runs of ours leave as it is."""
    n = cell["n"]
    if n < MIN_RUNS:
        return _told("at least", MIN_RUNS, n, each)
    place = (cell["row"], cell["column"])
    line = next((c for c in artefact.cells if (c.row, c.column) == place), None)
    # A cell that was accepted and since then renamed in the YAML is told by `check`.
    if line is None or cell["spread_kind"] != "sample_sd" or cell["architectures"]:
        return ""
    context, reported = context_of(artefact, line, printed_by_column(artefact)), parse(cell["reported"])

    def enough(m: int) -> bool:
        se = cell["spread"] / math.sqrt(m)
        ours = Estimate(cell["value"], m, cell["spread"], "sample_sd", se, m - 1)
        return judge(ours, reported, context).word not in OPEN

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
