"""What a test compares: cells with their weights, from how its YAML is written."""

from typing import Any

import numpy as np

from harness.numbers.claim_test import Named
from harness.numbers.stats import Estimate, exact
from harness.spec.expand import points

Estimates = dict[tuple[str, str], Estimate]


def named(test: dict[str, Any], cells: Estimates) -> list[Named]:
    """Whose sum a test is about, each cell with its weight."""
    if "trend" in test:
        line = [side_of(side, cells) for side in test["over"]]
        return [
            (name, w * own, e)
            for w, side in zip(slope_weights(len(line)), line, strict=True)
            for name, own, e in side
        ]
    return [*side_of(test["left"], cells), *((name, -w, e) for name, w, e in side_of(test["right"], cells))]


def slope_weights(n: int) -> list[float]:
    """What n ordered numbers are weighted with to give the slope of their line."""
    weights = np.arange(n) - (n - 1) / 2
    return (weights / (weights @ weights)).tolist()


def side_of(side: Any, cells: Estimates) -> list[Named]:
    """The cells of a side with their weights: a gap is its first less its second, a mean that of all."""
    there = points(side)
    if not there:
        return [(("", str(side)), 1.0, exact(side))]
    mean = isinstance(side, dict) and "mean" in side
    weights = [1 / len(there)] * len(there) if mean else [1, -1][: len(there)]
    names = map(key_of, there)
    return [(name, weight, cells[name]) for weight, name in zip(weights, names, strict=True)]


def value_of(effect: list[Named]) -> float:
    return sum(w * e.value for _, w, e in effect)


def size_of(effect: list[Named]) -> list[Named]:
    """An effect whichever way it goes."""
    turned = -1 if value_of(effect) < 0 else 1
    return [(name, turned * w, e) for name, w, e in effect]


def key_of(point: list[Any]) -> tuple[str, str]:
    return str(point[0]), str(point[1])
