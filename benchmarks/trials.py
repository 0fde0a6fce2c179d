"""What may notice a mutant: a test, or an artefact made of kept records; each in a fork of one process."""

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 300  # a mutant that takes longer is noticed
LONG = 1.0  # tests that take more seconds, by simulation most often, are left out: quick ones must notice


@dataclass(frozen=True)
class Trial:
    """A test, or an artefact made of kept records."""

    name: str
    run: Callable[[Any], bool]  # with the trial's test after it, if any: whether it fails
    seconds: float
    called: frozenset[tuple[str, int]]  # module and first line of the functions that it calls
    item: Any = None


def forked(work: Callable[[], Any], seconds: int = SECONDS) -> Any:
    """What `work` returns in a process of its own; a sentence where it does not return."""
    folder = Path(tempfile.mkdtemp(prefix="mutation-"))
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        try:
            answer = work()
        except BaseException as error:  # a mutant may raise anything anywhere
            answer = f"{type(error).__name__}: {error}"[:200]
        (folder / "answer").write_text(json.dumps(answer))
        os._exit(0)
    os.waitpid(child, 0)
    answer = folder / "answer"
    said = json.loads(answer.read_text()) if answer.exists() else f"no answer within {seconds} s"
    shutil.rmtree(folder)
    return said


def calls(work: Callable[[], Any], modules: Sequence[str]) -> tuple[Any, float, list[tuple[str, int]]]:
    """What it returns, its processor seconds, and the functions of these modules that it calls."""
    files = {str(ROOT / "harness" / f"{module}.py"): module for module in modules}
    called = set()

    def note(frame: Any, *_: Any) -> None:
        if frame.f_code.co_filename in files:
            called.add((files[frame.f_code.co_filename], frame.f_code.co_firstlineno))

    begun = time.process_time()
    sys.settrace(note)
    try:
        answer = work()
    finally:
        sys.settrace(None)
    return answer, time.process_time() - begun, sorted(called)


def of_tests(items: Sequence[pytest.Item], modules: Sequence[str]) -> list[Trial]:
    """Each test that passes without a mutant."""

    def work() -> list[Any]:
        after = [*items[1:], None]
        return [calls(lambda i=i, n=n: fails(i, n), modules) for i, n in zip(items, after, strict=True)]

    found = forked(work, 10 * SECONDS)
    if isinstance(found, str):
        sys.exit(f"the tests do not run without a mutant: {found}")
    made: dict[Path, tuple[float, set]] = {}  # what tests of a file share is made with the first of them
    for item, (_, seconds, called) in zip(items, found, strict=True):
        most, known = made.get(item.path, (0.0, set()))
        if shares(item):
            made[item.path] = max(most, seconds), known | {tuple(c) for c in called}
    trials = []
    for item, (failed, seconds, called) in zip(items, found, strict=True):
        longer, more = made[item.path] if shares(item) else (seconds, set())
        if seconds > LONG and not shares(item):
            continue
        if failed:
            print(f"left out, as it fails without a mutant: {item.nodeid}")
            continue
        functions = frozenset({tuple(c) for c in called} | more)
        trials.append(Trial(item.nodeid, lambda n, i=item: fails(i, n), longer, functions, item))
    return trials


def shares(item: pytest.Item) -> bool:
    fixtures = getattr(item, "_fixtureinfo", None)
    definitions = fixtures.name2fixturedefs.values() if fixtures else ()
    return any(each[-1].scope == "module" for each in definitions)


def fails(item: pytest.Item, after: pytest.Item | None) -> bool:
    return any(report.failed for report in runtestprotocol(item, log=False, nextitem=after))


def of_kept(folder: Path, modules: Sequence[str]) -> list[Trial]:
    """Each accepted artefact whose records are all kept, as `check --published` looks at it; and the pages.

    Its cells, claims and texts must follow from these records, which are laid out in `folder`.
    """
    from harness.accepted import artefact_check, reproduced
    from harness.base.layout import SCALES, Layout
    from harness.runs import archives
    from harness.spec import artefacts

    red: dict[str, Callable[[], Any]] = {"the pages in words": lambda: reproduced.outdated(ROOT)}
    for scale in SCALES:
        layout, apart = Layout(scale, ROOT), Layout(scale, ROOT, folder / scale)
        for path in archives.every_archive(layout):
            archives.lay_out_apart(path, apart)
        for artefact in artefacts.artefacts(ROOT):
            runs = {run.id for run in artefact.runs(scale, ROOT)}
            if runs and runs == archives.records(runs, apart).keys():
                asked = artefact, layout, apart, ROOT, False, artefact_check.Checked()
                red[f"{artefact.name} at scale {scale}"] = lambda a=asked: artefact_check.of_artefact(*a)
    found = forked(lambda: [calls(lambda w=work: bool(w()), modules) for work in red.values()], 10 * SECONDS)
    if isinstance(found, str):
        sys.exit(f"nothing is made of kept records: {found}")
    trials = []
    for (name, work), (failed, seconds, called) in zip(red.items(), found, strict=True):
        if failed:
            print(f"left out, as check finds it changed without a mutant: {name}")
            continue
        if seconds <= 10 * LONG:
            trials.append(Trial(name, lambda _, w=work: bool(w()), seconds, frozenset(map(tuple, called))))
    return trials
