"""Divisions of a set as data: indices with a hash, read from a file or drawn by a documented rule."""

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from harness.base import yamlfile
from harness.base.errors import HarnessError
from harness.base.files import find_data, write_atomic

RULES = Path(__file__).with_name("splits.yaml")
PARTS = ("train", "val", "test")
KEYS = {"train": ("train",), "val": ("val", "valid", "xvalid"), "test": ("test", "xtest")}


def _none() -> np.ndarray:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class Split:
    """Disjoint ascending indices; `test` only where a test set itself is divided."""

    name: str
    rule: str
    sha256: str
    train: np.ndarray = field(default_factory=_none)
    val: np.ndarray = field(default_factory=_none)
    test: np.ndarray = field(default_factory=_none)


def split(name: str, n: int, *, seed: int | None = None, labels: np.ndarray | None = None) -> Split:
    """The division of that name of n images; a seed or labels only where its rule draws with them."""
    rules = _rules()
    if name not in rules:
        raise HarnessError(f"{name!r} is not a named split: {yamlfile.nearest(name, rules)}")
    rule = rules[name]
    if rule.get("n", n) != n:
        raise HarnessError(
            f"the split {name} divides {rule['n']} images, not {n}: use another split or the whole set"
        )
    if "file" in rule:
        if seed is not None:
            raise HarnessError(f"the split {name} is a file, which has no seed: leave the seed out")
        return _from_named_file(name, rule)
    seed = rule["seed"] if seed is None else seed
    if rule.get("stratified") and labels is None:
        raise HarnessError(f"the split {name} is stratified: pass the labels")
    drawn = draw(name, n, rule["val"], seed, labels=labels if rule.get("stratified") else None)
    if "sha256" in rule and seed == rule["seed"] and drawn.sha256 != rule["sha256"]:
        raise HarnessError(
            f"the split {name} came out as sha256 {drawn.sha256}, not {rule['sha256']} as recorded: "
            "the labels are others or the rule was changed"
        )
    return drawn


def draw(name: str, n: int, val: int | float, seed: int, *, labels: np.ndarray | None = None) -> Split:
    """`val` of n images (a number, or a fraction below 1) by seed; with labels, each class alike."""
    wanted = val if isinstance(val, int) else int(n * val)
    if not 0 <= wanted <= n:
        raise HarnessError(f"the split {name} takes {wanted} of {n} images to validate: take at most {n}")
    order = permutation(n, seed)
    rule = f"argsort of {n} raw PCG64({seed}) draws, the last {wanted} to val"
    if labels is not None:
        if len(labels) != n:
            raise HarnessError(f"the split {name} got {len(labels)} labels for {n} images")
        order = _alike(order, np.asarray(labels))
        rule += ", classes alike (order by rank within the class)"
    train, held = np.sort(order[: n - wanted]), np.sort(order[n - wanted :])
    return Split(name, rule, sha256_of(train, held), train, held)


def permutation(n: int, seed: int) -> np.ndarray:
    """A permutation from PCG64's raw stream, which numpy keeps for ever, unlike Generator.permutation's."""
    return np.argsort(np.random.PCG64(seed).random_raw(n), kind="stable").astype(np.int64)


def sha256_of(*parts: np.ndarray) -> str:
    """Hash of index lists: each its length and its indices, int64 little-endian."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(np.int64(len(part)).astype("<i8").tobytes())
        digest.update(np.ascontiguousarray(part, "<i8"))
    return digest.hexdigest()


def write(path: Path, division: Split) -> None:
    """The division as a JSON file that `read` reads back."""
    parts = {part: getattr(division, part).tolist() for part in PARTS if len(getattr(division, part))}
    content = {"name": division.name, "rule": division.rule, "sha256": division.sha256} | parts
    write_atomic(path, json.dumps(content) + "\n")


def read(path: Path, name: str | None = None) -> Split:
    """A division from a JSON file: ours, or one of NAS-Bench-201's lists as published."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        parts = {part: _indices(data, KEYS[part]) for part in PARTS}
    except FileNotFoundError:
        raise HarnessError(f"{path} does not exist: correct the name") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise HarnessError(f"{path} is not a division (JSON with lists of indices): {error}") from None
    every = np.concatenate(list(parts.values()))
    if not len(every) or every.min() < 0 or len(np.unique(every)) != len(every):
        raise HarnessError(f"{path} does not divide: an index is negative or stands twice, or there is none")
    found = sha256_of(*(p for p in parts.values() if len(p)))
    if data.get("sha256", found) != found:
        raise HarnessError(f"{path} was changed: its indices hash to {found}, it says {data['sha256']}")
    return Split(
        name or data.get("name", path.stem), data.get("rule", f"the file {path.name}"), found, **parts
    )


def names() -> Mapping[str, str]:
    """The named splits and what each is."""
    return {name: rule["about"] for name, rule in _rules().items()}


def _from_named_file(name: str, rule: dict[str, Any]) -> Split:
    path = find_data(rule["file"])
    if path is None:
        raise HarnessError(
            f"the split {name} is a published file, not a draw: put it below a folder of NAS_DATA as "
            f"{rule['file']} ({rule['about']}), or ask for the split halves, which is another division"
        )
    division = read(path, name)
    sizes = {part: len(getattr(division, part)) for part in PARTS}
    every = np.concatenate([division.train, division.val, division.test])
    if sizes != {part: rule.get(part, 0) for part in PARTS} or every.max() >= rule["n"]:
        raise HarnessError(f"{path} divides into {sizes}, which is not the split {name}: replace the file")
    return division


def _indices(data: dict[str, Any], keys: tuple[str, ...]) -> np.ndarray:
    found = next((data[k] for k in keys if k in data), [])
    if len(found) == 2 and found[0] == "int":  # NAS-Bench-201 writes ["int", ["0", "5", …]]
        found = found[1]
    return np.sort(np.array([int(i) for i in found], np.int64))


def _alike(order: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The same draws ordered by relative rank within the class, so that any tail holds the classes alike."""
    rank = np.empty(len(order))
    for label in np.unique(labels):
        members = order[labels[order] == label]
        rank[members] = (np.arange(len(members)) + 0.5) / len(members)
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    return np.lexsort((position, rank))


@functools.cache
def _rules() -> dict[str, dict[str, Any]]:
    return yamlfile.read(RULES)
