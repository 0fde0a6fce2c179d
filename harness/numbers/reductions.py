"""The ways in which a cell may reduce a table of architectures to a number."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from harness.base.errors import HarnessError
from harness.metrics import ranking, resampled

# Statistics over architectures, and where there is one, the same on many resamples at once.
Statistic = tuple[Callable[..., float], Callable[..., np.ndarray] | None]
# These take the columns that the cell names.
OVER_UNITS: dict[str, Statistic] = {
    "spearman": (ranking.spearman, resampled.spearman),
    "kendall": (ranking.kendall, resampled.kendall),
    "pearson": (ranking.pearson, resampled.pearson),
    "partial_spearman": (ranking.partial_spearman, resampled.partial_spearman),
}
OVER_PAIRS = ("spearman", "kendall", "pearson")  # how far two runs agree
CORRELATIONS = (*OVER_UNITS, "correlation_after_pruning")  # whose numbers lie inside ±1
# What a way to reduce a table needs; all others need `of` and `against`.
NEEDS = {kind: ("of",) for kind in ("lookup", "text", "total", "mean")}
NEEDS |= {"quantile": ("of", "q"), "partial_spearman": ("of", "against", "given")}
NEEDS |= {kind: ("of", "against", "k") for kind in ("top_k", "improvement", "correlation_after_pruning")}


def statistic(select: dict[str, Any], where: str) -> Statistic:
    """What a cell's YAML asks for, and the same on many resamples where that is quick."""
    kind = select["reduce"]
    taken = () if select.get("pairs") else NEEDS.get(kind, ("of", "against"))
    if taken and (more := [key for key in ("against", "given") if key in select and key not in taken]):
        raise HarnessError(
            f"{where}: {kind!r} takes no {more[0]!r}: name it in the lines that need it and not in 'cells'"
        )
    if kind in OVER_UNITS:
        return OVER_UNITS[kind]
    if kind == "quantile":
        return lambda values: float(np.quantile(values, select["q"])), None

    k = select["k"]
    if kind == "top_k":
        return (
            lambda p, t: ranking.top_k(p, t, _of(len(t), k, where)),
            lambda counts, p, t: resampled.top_k(counts, p, t, _of(len(t), k, where)),
        )
    if kind == "improvement":
        normalised = select.get("normalised", True)
        return (
            lambda p, t: ranking.improvement(p, t, _of(len(t), k, where), normalised),
            lambda counts, p, t: resampled.improvement(counts, p, t, _of(len(t), k, where), normalised),
        )
    return lambda p, t: ranking.correlation_after_pruning(p, t, _of(len(t), k, where)), None


def _of(architectures: int, k: float, where: str) -> int:
    """`k` of them, or (below 1) that share, rounded up."""
    if k > architectures:
        raise HarnessError(f"{where}: k: {k} of {architectures} architectures: write a share below 1 instead")
    return int(k) if k >= 1 else math.ceil(k * architectures - 1e-9)
