"""What of an artefact's YAML decides its numbers and verdicts, as hashes; its words decide nothing."""

import hashlib
import json
from typing import Any

from harness.artefacts import Artefact
from harness.layout import scale_rank
from harness.several import each, over

RULE = 2  # of verdicts; raise it with each change by which an accepted verdict might have been another
WORDS = {"artefact", "where", "title", "caption", "deviations", "figure", "claims", "format"}
LINE_WORDS = {"format", "why"}


def of_cells(artefact: Artefact) -> str:
    """Of the selection of cells and the printed numbers."""
    data = {key: value for key, value in artefact.data.items() if key not in WORDS}
    lines = {key: [_without(line, LINE_WORDS) for line in data[key]] for key in ("rows", "columns")}
    return _hash({**data, **lines, "cells": _without(data.get("cells", {}), LINE_WORDS)})


def of_claims(artefact: Artefact, scale: str) -> dict[str, str]:
    """By claim that this scale tests: of its tests, as they are judged."""
    claims = [claim for claim in artefact.data.get("claims", []) if not waits(claim, scale)]
    by_seed = artefact.data.get("paired_by_seed", False)
    return {claim["id"]: _hash([by_seed, *map(_test, claim["tests"])]) for claim in claims}


def waits(claim: dict[str, Any], scale: str) -> str:
    """Why another scale tests a claim; empty where this one does."""
    if scale_rank(scale) < scale_rank(claim.get("from", "smoke")):
        return f"tested from scale {claim['from']} on"
    return f"tested at scale {claim['at']} only" if claim.get("at", scale) != scale else ""


def _test(test: dict[str, Any]) -> list[Any]:
    """Its parts in their order, and what a trend runs over."""
    several = each(test)
    return [[_plain(one) for one in several], _plain(over(several))]


def _plain(value: Any) -> Any:
    """1 and 1.0 are one margin, 1 and "1" one row."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        point = all(isinstance(each, str | int | float) for each in value)
        return [str(each) if point else _plain(each) for each in value]
    return float(value) if isinstance(value, int | float) else value


def _without(line: dict[str, Any], words: set[str]) -> dict[str, Any]:
    return {key: value for key, value in line.items() if key not in words}


def _hash(data: Any) -> str:
    """Keys in their order as text: YAML's may be numbers."""
    return hashlib.sha256(json.dumps(_text_keys(data), sort_keys=True).encode()).hexdigest()[:16]


def _text_keys(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _text_keys(value) for key, value in data.items()}
    return [_text_keys(each) for each in data] if isinstance(data, list) else data
