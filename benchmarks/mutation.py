"""Which changed arithmetic between a run's record and its verdict the tests notice.

    python benchmarks/mutation.py                        every mutant of every module
    python benchmarks/mutation.py stats expect           of these two
    python benchmarks/mutation.py --sample 20 --seed 1   of each module so many, drawn with this seed
    python benchmarks/mutation.py --records --sample 10  also: what golden tests and kept records tell

A mutant (`mutants.py`) is put into the functions of a loaded module, in a fork of one process that has
collected the tests; no file changes. Of the tests those run that call the function, the closest ones first,
until one fails. Red where a mutant survives that `mutation_survivors.md` does not list, with the reason why
nothing can notice it; --listed tries those of the list again.

mutmut and cosmic-ray write mutants into the files: a record's code id would then be of other code, and
nothing would be made of kept records. Neither leaves a seed out or turns a mean into a maximum.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["NAS_WARM"] = "off"
ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

import pytest  # noqa: E402
from _pytest.runner import runtestprotocol  # noqa: E402
from mutants import Mutant, mutants, put_in  # noqa: E402

MODULES = ["metrics/ranking", "metrics/resampled", "metrics/consistency", "seeds", "tables", "rows", "joined"]
MODULES += ["pairs", "reductions", "cells", "stats", "expect", "several", "claims", "judged", "rejudge"]
MODULES += ["cellfile", "outcomes", "layout", "render", "make", "verdicts"]
# Those that start processes of their own would not see a mutant.
TESTS = """golden metrics report test_stats.py test_expect.py test_claims.py test_cells.py test_tables.py
    test_rows.py test_each.py test_joined.py test_pairs.py test_paired_claims.py test_boundaries.py
    test_render.py test_slips.py test_cellfile.py test_outcomes.py test_rejudge.py test_published.py
    test_artefacts.py test_record.py"""
SURVIVORS = Path(__file__).with_name("mutation_survivors.md")
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


def calls(work: Callable[[], Any]) -> tuple[Any, float, list[tuple[str, int]]]:
    """What it returns, its seconds, and the functions of MODULES that it calls."""
    files = {str(ROOT / "harness" / f"{module}.py"): module for module in MODULES}
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


def of_tests(items: Sequence[pytest.Item]) -> list[Trial]:
    """Each test that passes without a mutant."""

    def work() -> list[Any]:
        after = [*items[1:], None]
        return [calls(lambda i=i, n=n: fails(i, n)) for i, n in zip(items, after, strict=True)]

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


def of_kept(root: Path) -> list[Trial]:
    """Each artefact that can be made of kept records, which are laid out below `root` first."""
    from harness import artefacts, kept
    from harness.layout import SCALES, Layout

    def work() -> list[tuple[str, str, float, list]]:
        found = []
        for layout in (Layout(scale, root) for scale in SCALES):
            for path in sorted((layout.published / "records").glob("*.tar.xz")):
                laid = kept.lay_out(path.name.removesuffix(".tar.xz"), layout, root)
                there = {name for name, reason in laid.items() if not reason}
                for artefact in artefacts.artefacts(root):
                    runs = {run.id for run in artefact.runs(layout.scale, root)}
                    if runs and runs <= there:
                        failed, seconds, called = calls(lambda a=artefact, at=layout: changes(a.name, at))
                        assert not failed, f"{artefact.name} is not made as it was accepted"
                        found.append((artefact.name, layout.scale, seconds, called))
        return found

    for name in ("harness", "reproduce", "tables", "figures", "published"):
        (root / name).symlink_to(ROOT / name)
    found = forked(work, 10 * SECONDS)
    if isinstance(found, str):
        sys.exit(f"nothing is made of kept records: {found}")
    return [
        Trial(
            name,
            lambda _, n=name, s=scale: changes(n, Layout(s, root)),
            seconds,
            frozenset(map(tuple, called)),
        )
        for name, scale, seconds, called in found
    ]


def changes(name: str, layout: Any) -> bool:
    """Whether an artefact made of its records is another than the accepted one."""
    from harness import artefacts, check, make

    make.render_all = lambda *_: None  # pages are made of cells alone
    make.make(artefacts.find(name, layout.root), layout, layout.root)
    return any(change.artefact == name for change in check.compare(layout, layout.root))


_NOTICED: dict[
    tuple[str, int], Counter[str]
] = {}  # by function: what noticed its mutants so far is asked first


def noticed(module: str, mutant: Mutant, trials: Sequence[Trial]) -> str:
    """By which trial, or nothing where it survives. A constant concerns all that call anything there."""
    place = module, mutant.function
    mine = [
        t for t in trials if place in t.called or (not mutant.function and module in {m for m, _ in t.called})
    ]
    before = _NOTICED.setdefault(place, Counter())
    mine.sort(key=lambda trial: (-before[trial.name], trial.seconds > 0.1, len(trial.called), trial.seconds))

    def work() -> str:
        put_in(mutant, f"harness.{module.replace('/', '.')}")
        for trial, after in zip(mine, [*mine[1:], None], strict=True):
            if trial.run(after and after.item):
                return trial.name
        return ""

    by = forked(work) if mine else ""
    before[by] += 1
    return by


class Tester:
    """In the place of pytest's own loop over the tests that it collected."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked, self.red = asked, True

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        drawn = {module: sample(module, self.asked) for module in self.asked.modules}
        trials = of_tests(session.items)
        print(f"{len(trials)} tests, {sum(trial.seconds for trial in trials):.0f} s")
        records: list[Trial] = []
        with tempfile.TemporaryDirectory(prefix="mutation-kept-") as folder:
            if self.asked.records:
                records = [t for t in trials if t.name.startswith("tests/golden/")] + of_kept(Path(folder))
            self.red = tried(drawn, trials, records, self.asked.listed)
        return True


def sample(module: str, asked: argparse.Namespace) -> list[Mutant]:
    every = mutants((ROOT / "harness" / f"{module}.py").read_text(encoding="utf-8"))
    names = {f"{module} {mutant.name}" for mutant in every}
    if stale := sorted(name for name in listed() - names if name.startswith(f"{module} ")):
        sys.exit(f"{SURVIVORS.name} lists what is no mutant today: {stale[0]}")
    chance = random.Random(f"{asked.seed} {module}")
    return chance.sample(every, min(asked.sample or len(every), len(every)))


def listed() -> set[str]:
    """The mutants that nothing can notice: `module function: before → after`."""
    lines = SURVIVORS.read_text(encoding="utf-8").splitlines()
    return {line[4:-2] for line in lines if line.startswith("* ``")}


def tried(
    drawn: dict[str, list[Mutant]], trials: list[Trial], records: list[Trial], again: bool = False
) -> bool:
    """Prints what survives and the rates; whether that is another than what is listed."""
    known, sums, red = listed(), [0, 0, 0, 0], False
    print(f"{'':20} mutants  noticed  by records  listed  seconds")
    for module, every in drawn.items():
        begun, counts = time.perf_counter(), [len(every), 0, 0, 0]
        for mutant in every:
            name = f"{module} {mutant.name}"
            if name in known and not again:
                counts[3] += 1
                continue
            told = bool(records and noticed(module, mutant, records))
            by_any = told or bool(noticed(module, mutant, trials))
            counts[1] += by_any
            counts[2] += told
            counts[3] += not by_any and name in known
            if by_any == (name in known):
                red = True
                what = "listed, but noticed" if by_any else f"survives in line {mutant.line}"
                print(f"{what}: {name}", flush=True)
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
        print(f"{module:20}{row(counts)}{time.perf_counter() - begun:9.0f}", flush=True)
    print(f"{'all':20}{row(sums)}")
    n = sums[0] - sums[3]
    print(f"noticed: {sums[1]} of {n} ({sums[1] / n:.1%}), but for {sums[3]} listed, which change nothing")
    if records:
        print(f"by golden tests and kept records alone: {sums[2]} of {n} ({sums[2] / n:.1%})")
    return red


def row(counts: list[int]) -> str:
    return "".join(f"{n:{width}}" for n, width in zip(counts, (8, 9, 12, 8), strict=True))


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument(
        "modules", nargs="*", metavar="module", default=MODULES, help="stats, metrics/ranking, …"
    )
    words.add_argument("--sample", type=int, help="of each module so many")
    words.add_argument("--seed", type=int, default=0, help="which ones are drawn")
    words.add_argument("--listed", action="store_true", help="those that are listed as survivors, too")
    words.add_argument("--records", action="store_true", help="golden tests and kept records alone, too")
    tester = Tester(words.parse_args())
    scratch = tempfile.mkdtemp(prefix="mutation-")
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = f"{scratch}/hypothesis"
    flags = ["-s", "-p", "no:cacheprovider", "--hypothesis-seed=0", f"--basetemp={scratch}/tests"]
    pytest.main([*flags, *(str(ROOT / "tests" / name) for name in TESTS.split())], plugins=[tester])
    shutil.rmtree(scratch)
    return int(tester.red)


if __name__ == "__main__":
    sys.exit(main())
