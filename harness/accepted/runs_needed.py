"""How many runs would make an unclear verdict a clear one, if mean and spread stayed as they are."""

import math
from typing import Any

from harness.numbers.cells import context_of, printed_by_column
from harness.numbers.claim_needs import MOST, first
from harness.numbers.judge import judge, parse
from harness.numbers.stats import MIN_RUNS, Estimate
from harness.numbers.verdict_words import OPEN
from harness.spec.artefacts import Artefact


def for_number(artefact: Artefact, cell: dict[str, Any], each: str = "") -> str:
    """For a number beside the paper's, whose own noise more runs of ours leave as it is."""
    n = cell["n"]
    if n < MIN_RUNS:
        return f"at least {MIN_RUNS} runs instead of {n}{each}"
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

    if needed := first(n, MOST, enough):
        return f"about {needed} runs instead of {n}{each}"
    return f"no number of runs: the noise of the printed number is too large (it has {context.n} behind it)"
