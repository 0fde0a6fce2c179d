"""Which records of older code count today: both codes run in small, and all that changed has to run.

A record stands for its code as long as the code id is the same. Where a refactoring moved no number, `vouch`
shows so as far as it can be shown: it makes the same short runs from two commits, compares what they leave
byte by byte, and refuses where something that changed (`harness.vouch.changes`) was run by none of them. That
small runs are equal is no proof for large ones; that each changed statement took part in them makes it
likely.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import SCALES, Layout
from harness.base.threads import THREADS
from harness.code import ledger
from harness.code.syntax import path_of, syntax, tree
from harness.published import manifest, publish
from harness.runs.record import now
from harness.vouch import trial
from harness.vouch.changes import changes
from harness.vouch.units import State

FREE = {"code", "commit", "machine", "started", "ended", "seconds", "digest"}  # differ between equal runs


@dataclass(frozen=True)
class Side:
    """A commit, what it contains in a folder of its own, and the experiments in it."""

    commit: str
    root: Path
    modules: dict[str, dict[str, Any]]


def vouch(
    old: str, new: str = "HEAD", root: Path = ROOT, paper: str | None = None
) -> Iterator[tuple[str, str, str]]:
    """Of each module whose code id differs: name, `vouched` (and noted in the ledger) or `refused`, why."""
    with tempfile.TemporaryDirectory(prefix="vouch-") as temporary:
        before, after = (_side(word, Path(temporary), root) for word in (old, new))
        for module in sorted(before.modules.keys() & after.modules.keys()):
            codes = [side.modules[module]["code"] for side in (before, after)]
            if paper not in (None, module.split(".")[1]) or ledger.counts(module, *codes, root):
                continue
            refused, told = _compare(module, before, after)
            if not refused:
                stamp = (before.commit, after.commit, now(), *ledger.versions())
                ledger.append([ledger.Entry(module, *codes, *stamp, told)], root)
                for layout in (Layout(scale, root) for scale in SCALES):
                    if manifest.path(layout).is_file():
                        publish.publish(layout, {}, [ledger.path_of(root)])
            yield module, "refused" if refused else "vouched", refused or told


def _side(word: str, temporary: Path, root: Path) -> Side:
    def git(*words: str) -> bytes:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True)
        if done.returncode:
            raise HarnessError(f"git knows no commit {word!r}: {done.stderr.decode().strip()[-200:]}")
        return done.stdout

    commit = git("rev-parse", "--short=12", "--verify", f"{word}^{{commit}}").decode().strip()
    folder = Path(tempfile.mkdtemp(dir=temporary)).resolve()
    git("archive", f"--output={folder}.tar", commit)
    shutil.unpack_archive(f"{folder}.tar", folder)
    return Side(commit, folder, _ask(folder))


def _ask(folder: Path, **what: Any) -> dict[str, Any]:
    """What `harness.vouch.trial` finds in this checkout with its own code, in a process of its own."""
    answer = folder / "answer.json"
    env = os.environ | dict.fromkeys(THREADS, "1") | {"PYTHONPATH": str(folder), "NAS_WARM": "off"}
    script = Path(trial.__file__).read_text(encoding="utf-8")
    command = [sys.executable, "-B", "-c", script, str(answer), json.dumps(what)]
    done = subprocess.run(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        raise HarnessError(f"code that is compared cannot be started: {done.stdout.strip()[-500:]}")
    return json.loads(answer.read_text(encoding="utf-8"))


def _compare(module: str, before: Side, after: Side) -> tuple[str, str]:
    """Why the module is refused, or '', and what was compared."""
    names = {*before.modules[module]["closure"], *after.modules[module]["closure"]}
    trees = [{n: syntax(tree(p)) for n in names if (p := path_of(n, side.root))} for side in (before, after)]
    if trees[0] == trees[1]:
        return "", "same syntax"
    states = [State(side.root, names) for side in (before, after)]
    found = changes(module, *states)
    if found.refused:
        return "; ".join(dict.fromkeys(found.refused)), ""
    if not found.old and not found.new:
        return "", "the same in all that it can come to"
    there = [side.modules[module]["runs"] for side in (before, after)]
    runs = [run for run, config in there[1].items() if there[0].get(run) == config]
    touched = [n for n in names if trees[0].get(n) != trees[1].get(n)]
    made, missing = [], []
    for side, units in ((before, found.old), (after, found.new)):
        files = {file for unit in units for file, _ in unit.needs}
        answer = _ask(side.root, files=sorted(files), runs=runs)
        seen = {(file, number) for file, number in answer["seen"]}
        made.append(answer["runs"])
        missing += [f"{unit.where} of {side.commit}" for unit in units if not unit.needs <= seen]
    refused, told = _equal(*made)
    if missing and not refused:
        refused = f"{len(missing)} changed statements did not run in these: {'; '.join(missing[:5])}"
    large = after.modules[module]["large"]
    told += f"; {len(touched)} files differ, by {len(found.old)} statements before and {len(found.new)} after"
    return refused, told + (f"; no small form of {', '.join(large)}" if large else "")


def _equal(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, str]:
    """What differs first, or '', and what was compared."""
    size, equal, failed = 0, 0, []
    for run, one in before.items():
        other = after[run]
        if "error" in one and "error" in other:
            failed.append(f"{run} ({one['error'][:100]})")
            continue
        if "error" in one or "error" in other:
            return f"{run} fails on one side: {one.get('error') or other['error']}", ""
        a, b = one["record"], other["record"]
        for key in sorted((a.keys() | b.keys()) - FREE):
            if json.dumps(a.get(key)) != json.dumps(b.get(key)):
                return f"{run}: {key}: {_first(a.get(key), b.get(key))}", ""
        size += one["bytes"] + len(json.dumps([a["metrics"], a["truths"]]))
        equal += 1
    if not equal:
        return "none of its runs can be made in small" + "".join(f"; {each}" for each in failed[:1]), ""
    told = f"{equal} runs equal, {size} bytes"
    return "", told + (f"; {len(failed)} could not be made, as {failed[0]}" if failed else "")


def _first(a: Any, b: Any) -> str:
    """The first piece in which two values of a record differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        keys = sorted(a | b)
        return next(f"{k}: {_first(a.get(k), b.get(k))}" for k in keys if a.get(k) != b.get(k))
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next(f"{x!r} and {y!r}" for x, y in zip(a, b, strict=True) if x != y)
    return f"{a!r} and {b!r}"
